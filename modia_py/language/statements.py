"""What `equations` of a component returns, one statement after the other; and what is wrong with its text.

An error of Python in it (a forgotten `self.`, a list index) becomes a `ModelError` that names the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import ModelError, ModiaError
from ..expressions.expression import Expr
from ..expressions.printing import clip_text
from ..source import Source, source_of
from .actions import Assign, Reinit, Terminate
from .class_checks import name_error_text
from .components import Component
from .connections import Connection, made
from .python_errors import in_words_of_the_language, python_hint


def statements_of(component: Component, method: str) -> list[Any]:
    """The statements that `equations` or `initial_equations` of a component returns."""
    where = f"{type(component).__name__}.{method}"
    waiting: list[Connection] = []
    token = made.set(waiting)
    try:
        returned = getattr(component, method)()
        if returned is None:
            raise ModelError(
                f"{where} returned nothing ({_defined(component, method)}). End it with `return [...]`, a "
                f"list of equations."
            )
        statements = list(_flatten(returned))
    except ModiaError:
        raise
    except Exception as error:
        raise ModelError(_error_text(error, component, where)) from error
    finally:
        made.reset(token)
    known = {id(statement) for statement in statements}
    lost = [connection for connection in waiting if id(connection) not in known]
    if lost:
        raise ModelError(
            f"{lost[0]} ({lost[0].source}) is not in the list that {where} returns, and has no effect: put "
            f"it there."
        )
    return statements


def _flatten(statements: Any) -> Iterator[Any]:
    """Nested lists, tuples and generators of statements, one after the other."""
    stack = [iter([statements])]
    while stack:
        for statement in stack[-1]:
            is_array = isinstance(statement, np.ndarray) and statement.dtype == object
            if is_array or isinstance(statement, (list, tuple)) or hasattr(statement, "__next__"):
                stack.append(iter(statement.ravel() if is_array else statement))
                break
            yield statement
        else:
            stack.pop()


def _error_text(error: Exception, component: Component, where: str) -> str:
    line = source_of(error)
    if isinstance(error, NameError):
        return f"{where} ({line}): {name_error_text(error, component)}"
    reason = str(error).strip().split("\n")[0] or type(error).__name__
    hint = python_hint(error, reason, _names(error))
    if isinstance(error, RecursionError):
        reason = "it calls itself without end"
    reason = in_words_of_the_language(reason)
    kind = type(error).__name__
    said = kind if reason == kind else f"{kind}: {reason.rstrip('.')}"
    return f"{where} fails ({line}): {said}.{hint}"


def _defined(component: Component, method: str) -> Source:
    code = getattr(type(component), method).__code__
    return Source(code.co_filename, code.co_firstlineno)


def _names(error: Exception) -> tuple[str, ...]:
    """The names that the function uses in which an error came about."""
    frame = error.__traceback__
    names: tuple[str, ...] = ()
    while frame is not None:
        code = frame.tb_frame.f_code
        names += (*code.co_names, *code.co_varnames, *code.co_freevars)
        frame = frame.tb_next
    return names


def not_an_equation(statement: Any, place: int, where: str) -> str:
    """Why something in the list of statements is none."""
    item = f"Item {place} of {where}"
    if isinstance(statement, (bool, np.bool_)):
        return (
            f"{item} is the plain Python value {bool(statement)}, not an equation: neither side of that "
            f"== is a variable. Use self.x for variables of the model, and connect(a, b) for connectors."
        )
    if isinstance(statement, Expr) and statement.dtype == "bool":
        return (
            f"{item} is the condition `{clip_text(statement)}`, not an equation, which is written with ==. "
            f"What depends on a condition is chosen by where(condition, a, b), or done by a `when`."
        )
    if isinstance(statement, Expr):
        return f"{item} is the expression `{clip_text(statement)}`, not an equation: write ... == 0."
    if isinstance(statement, (Assign, Reinit, Terminate)):
        return (
            f"{item} is {statement} ({statement.source}), an action: it belongs into a `when`, "
            f"when(condition, {statement}), which says at which instants it is taken."
        )
    if statement is None:
        return f"{item} is None: a method in the list has no `return`, perhaps."
    if isinstance(statement, Component) or hasattr(statement, "_component"):
        return f"{item} is the component {statement!r}: components are declared, equations are listed here."
    if isinstance(statement, np.ndarray) and statement.dtype == bool:
        return (
            f"{item} is an array of {statement.tolist()}, not an equation: neither side of that == is a "
            f"variable. Use self.x for variables of the model."
        )
    return f"{item} is {statement!r}, neither an equation (lhs == rhs) nor a connection."
