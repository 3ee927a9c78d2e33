"""Manufactured solutions: choose a function of time for every variable, then write equations around them.

An equation is a sum of terms, `sum(terms) == sum(terms with the chosen functions put in)`. In a term
`<x>` stands for the variable x, `<x'>` for its derivative: `self.x` and `der(self.x)` on the left, the
chosen function and its derivative in closed form on the right. So any term may be added or left out, and
the solution stays exact.

Groups of variables with their equations (gadgets.py, constraints.py) are regular by themselves, for any
known functions of time in the place of other variables. Those written later may use earlier ones in any
way, also their derivatives: that only raises the index. The way back is open for small terms between
undifferentiated variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .parts import Deviation, Must, Part, largest_deviation, number
from .signals import Signal

TOKEN = re.compile(r"<(\w+)('*)>")


@dataclass(frozen=True)
class Variable:
    """An unknown, its chosen function, and the text of what its declaration says of the start.

    `gain`: how much larger than its tolerance its error may be, because other errors are divided by time.
    """

    name: str
    signal: Signal
    start: str = ""
    gain: float = 1.0
    declared: bool = True  # False for what a component of the group declares
    derivatives: int = 0  # how many of its derivatives are compared


@dataclass(frozen=True)
class Term:
    """Text with `<x>`; `exact` only where the right-hand side is not the same text."""

    text: str
    exact: str | None = None

    def left(self) -> str:
        return TOKEN.sub(lambda found: _derivative_text(found[1], len(found[2])), self.text)

    def right(self) -> str:
        text = self.text if self.exact is None else self.exact
        return TOKEN.sub(lambda found: f"{local_name(found[1])}_{len(found[2])}", text)

    def uses(self) -> set[str]:
        return {found[1] for found in TOKEN.finditer(self.text)}

    def exact_orders(self) -> set[tuple[str, int]]:
        text = self.text if self.exact is None else self.exact
        return {(found[1], len(found[2])) for found in TOKEN.finditer(text)}


def _derivative_text(name: str, order: int) -> str:
    return "der(" * order + f"self.{name.replace('__', '.')}" + ")" * order


def local_name(name: str) -> str:
    return f"{name}_"


@dataclass(frozen=True)
class Equation:
    """The first `fixed` terms make it regular; the others may be left out. `balanced`: no right-hand side
    is needed, since the chosen functions satisfy it as it stands (connections, aliases)."""

    terms: tuple[Term, ...]
    fixed: int = 1
    balanced: bool = False

    def text(self) -> str:
        left = " + ".join(term.left() for term in self.terms)
        right = "0" if self.balanced else " + ".join(term.right() for term in self.terms)
        return f"{left} == {right}"

    def uses(self) -> set[str]:
        return set().union(*(term.uses() for term in self.terms))

    def fixed_uses(self) -> set[str]:
        return set().union(*(term.uses() for term in self.terms[: self.fixed]))

    def without(self, names: set[str]) -> Equation:
        optional = (term for term in self.terms[self.fixed :] if not term.uses() & names)
        return replace(self, terms=(*self.terms[: self.fixed], *optional))


@dataclass(frozen=True)
class Group:
    """Variables and as many equations."""

    title: str
    variables: tuple[Variable, ...]
    equations: tuple[Equation, ...]
    parameters: tuple[tuple[str, str], ...] = ()  # name, text of the declaration
    initial: tuple[Equation, ...] = ()
    classes: str = ""  # components of its own
    members: tuple[tuple[str, str], ...] = ()  # name and text of components
    statements: tuple[str, ...] = ()  # connections and other whole equations
    inputs: tuple[tuple[str, Signal], ...] = ()

    def names(self) -> set[str]:
        return {variable.name for variable in self.variables}


@dataclass(frozen=True)
class Manufactured:
    """A model with known solution."""

    groups: tuple[Group, ...]
    stop_time: float = 1.0
    kind: str = "manufactured"
    must: Must = "right"

    def variables(self) -> Iterator[Variable]:
        for group in self.groups:
            yield from group.variables

    def source(self, name: str) -> str:
        signals = {variable.name: variable.signal for variable in self.variables()}
        classes = [group.classes.replace("@", name) for group in self.groups if group.classes]
        lines = [f"class {name}(Model):"]
        for group in self.groups:
            lines.append(f"    # {group.title}")
            lines += [f"    {parameter} = {text}" for parameter, text in group.parameters]
            lines += [f"    {member} = {text}".replace("@", name) for member, text in group.members]
            lines += [f"    {input_} = Input({_shape(signal)})" for input_, signal in group.inputs]
            for v in group.variables:
                arguments = ", ".join(filter(None, [_shape(v.signal), v.start]))
                lines += [f"    {v.name} = Var({arguments})"] if v.declared else []
        equations = [equation for group in self.groups for equation in group.equations]
        statements = [text for group in self.groups for text in group.statements]
        lines += _method("equations", equations, statements, signals)
        initial = [equation for group in self.groups for equation in group.initial]
        if initial:
            lines += _method("initial_equations", initial, [], signals)
        return "\n\n".join([*classes, "\n".join(lines) + "\n"])

    def inputs(self) -> Mapping[str, Callable[[Any], Any]]:
        return {name: _input_function(signal) for group in self.groups for name, signal in group.inputs}

    def deviations(self, times: np.ndarray, values: Callable[[str], np.ndarray]) -> Iterator[Deviation]:
        for v in self.variables():
            name = v.name.replace("__", ".")
            yield largest_deviation(name, times, values(name), v.signal.at(times), v.gain)
            for order in range(1, v.derivatives + 1):
                text = "der(" * order + name + ")" * order
                right = v.signal.at(times, order)
                yield largest_deviation(text, times, values(text), right, v.gain * 30.0**order)

    def reductions(self) -> Iterator[Part]:
        groups = self.groups
        for i, group in enumerate(groups):
            names = group.names()
            others = groups[:i] + groups[i + 1 :]
            if others and not any(names & _needed(other) for other in others):
                yield replace(self, groups=tuple(_without(other, names) for other in others))
        for i, group in enumerate(groups):
            for j, equation in enumerate(group.equations):
                for k in range(equation.fixed, len(equation.terms)):
                    fewer = replace(equation, terms=equation.terms[:k] + equation.terms[k + 1 :])
                    yield replace(self, groups=_replaced(groups, i, _with_equation(group, j, fewer)))


def _shape(signal: Signal) -> str:
    return "" if signal.shape == () else repr(signal.shape[0] if len(signal.shape) == 1 else signal.shape)


def _needed(group: Group) -> set[str]:
    return set().union(*(equation.fixed_uses() for equation in (*group.equations, *group.initial)))


def _without(group: Group, names: set[str]) -> Group:
    return replace(
        group,
        equations=tuple(equation.without(names) for equation in group.equations),
        initial=tuple(equation.without(names) for equation in group.initial),
    )


def _with_equation(group: Group, j: int, equation: Equation) -> Group:
    return replace(group, equations=(*group.equations[:j], equation, *group.equations[j + 1 :]))


def _replaced(groups: tuple[Group, ...], i: int, group: Group) -> tuple[Group, ...]:
    return (*groups[:i], group, *groups[i + 1 :])


def _method(
    name: str, equations: list[Equation], statements: list[str], signals: Mapping[str, Signal]
) -> list[str]:
    exact = set().union(
        *(term.exact_orders() for equation in equations if not equation.balanced for term in equation.terms)
    )
    lines = ["", f"    def {name}(self):"]
    lines += [f"        {local_name(v)}_{order} = {signals[v].text(order)}" for v, order in sorted(exact)]
    texts = [*(equation.text() for equation in equations), *statements]
    return [*lines, "        return [", *(f"            {text}," for text in texts), "        ]"]


def _input_function(signal: Signal) -> Callable[[Any], Any]:
    def value(t: Any) -> Any:
        wave = signal.amplitude * np.sin(signal.frequency * t + signal.phase)
        return signal.offset + wave + signal.height * np.exp(-signal.rate * t)

    return value


def start_value(signal: Signal) -> str:
    return number(signal.at(0.0))
