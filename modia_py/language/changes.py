"""Overriding values and components by name: `Ladder(**{"r.R": 2.0})`, `Ladder(r={"R": 2.0})`.

`Ladder(**{"r[3].R": 2.0, "c.u[:2]": 0.0})` sets elements, with the names that results have;
`Ladder(**{"c.u.nominal": 1e-3})` the nominal value of a variable, `Arm(**{"j.q": Guess(1.0)})` its guess;
`Drive(motor=OtherMotor())` puts another component in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError, did_you_mean
from ..expressions.expression import Expr
from ..expressions.indexing import Shape
from ..source import user_source
from .component_arrays import ComponentArray
from .components import Component
from .element_names import TrajectoryName, parse, take
from .replacement import replace_component
from .symbols import PartialValue, Symbol, broadcasts

NOMINAL = "nominal"


class Guess:
    """In a constructor: the value is only where to look for the start, and no `init` is left.

    Parameters
    ----------
    value : number, array or expression of parameters
        As the `guess` of a `Var`.

    Raises
    ------
    ModelError
        When it is given for something that is no variable.

    Examples
    --------
    >>> from modia_py import Guess, simulate
    >>> from modia_py.models.examples import Pendulum
    >>> result = simulate(Pendulum(r=Guess([0.8, -0.5])), 1.0)  # length 1: moved there
    >>> result["r"][0].round(1)
    array([ 0.9, -0.5])
    """

    def __init__(self, value: Any):
        self.value = value

    def __repr__(self) -> str:
        return f"Guess({self.value!r})"


@dataclass(frozen=True)
class _Found:
    """A symbol that a path has named, the component arrays around it, and which elements are meant."""

    symbol: Symbol
    around: Shape
    elements: np.ndarray | None  # None: all of them
    is_nominal: bool = False


def apply_changes(component: Component, changes: dict[str, Any]) -> None:
    """Set what `changes` names, here and in the components below. Outer changes come last and win.

    Within one call, components are replaced first, and values of elements win over those of the whole.
    """
    values = [each for each in _dotted(changes) if not replace_component(component, *each)]
    named = [(_find(component, path), path, value) for path, value in values]
    for found, path, value in sorted(named, key=lambda each: each[0].elements is not None):
        if found.is_nominal:
            found.symbol.set_nominal(value, found.around)
        elif isinstance(value, Guess):
            given = _merged(found, found.symbol.guess, value.value, path)
            found.symbol.set_guess(given, found.around)
            found.symbol.free_init(found.around, found.elements)
        else:
            before = found.symbol.current_value()
            found.symbol.change(_merged(found, before, value, path), found.around)


def _dotted(changes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    stack = [(str(name), value) for name, value in reversed(changes.items())]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((f"{path}.{name}", inner) for name, inner in reversed(value.items()))
        else:
            yield path, value


def _merged(found: _Found, before: Any, value: Any, path: str) -> Any:
    """The value of the whole, with that of some elements changed; where there was none, NaN stays."""
    if found.elements is None:
        return value
    where = user_source()
    if isinstance(before, Expr) or isinstance(value, Expr):
        raise ModelError(
            f"'{path}' is a part of {found.symbol} ({where}), which is given as an expression: give the "
            f"whole of it."
        )
    try:
        given = np.asarray(value, float)
    except (TypeError, ValueError):
        raise ModelError(f"The value of '{path}' must be real numbers, not {value!r} ({where}).") from None
    if not broadcasts(given.shape, found.elements.shape):
        raise ModelError(
            f"The value of '{path}' has shape {given.shape} ({where}), expected {found.elements.shape}."
        )
    if not np.isfinite(given).all():
        raise ModelError(f"The value of '{path}' is not finite ({where}).")
    shape = found.around + found.symbol.shape
    whole = np.full(shape, np.nan) if before is None else np.array(np.broadcast_to(before, shape))
    whole.reshape(-1)[found.elements] = given
    return PartialValue(whole) if np.isnan(whole).any() else whole


def _find(component: Component, path: str) -> _Found:
    """What a dotted path means below a component."""
    wanted = parse(path)
    parts = list(zip(wanted.name.split("."), wanted.keys, strict=True)) if wanted is not None else []
    if wanted is None or wanted.order:
        raise ModelError(_unknown(component, path))
    found: Any = component
    around: Shape = () if component._count is None else (component._count,)
    keys: list[Any] = [() for _ in around]  # indices, one entry for each segment as `take` wants it
    arrays = list(range(len(keys)))
    for position, (name, own_keys) in enumerate(parts, start=1):
        if isinstance(found, Symbol) and name == NOMINAL and position == len(parts) and not own_keys:
            return _Found(found, around, None, True)
        children = dict(found._children()) if isinstance(found, Component) else {}
        left = list(own_keys)
        while left and isinstance(left[0], int) and f"{name}[{left[0]}]" in children:
            name += f"[{left.pop(0)}]"  # a member of a Python list
        if name not in children:
            raise ModelError(_unknown(component, path))
        found = children[name]
        if isinstance(found, Component) and found._outer:
            raise ModelError(
                f"'{path}' belongs to the {type(found).__name__} around {type(component).__name__} "
                f"({user_source()}): give it a value there."
            )
        if isinstance(found, ComponentArray):
            arrays.append(len(keys))
            around += found._lead
            found = found._component
        keys.append(tuple(left))
    if not isinstance(found, Symbol):
        example = next(iter(all_names(found)), None)
        hint = f" Name what is meant, such as '{path}.{example}'." if example else ""
        raise ModelError(
            f"'{path}' is a {type(found).__name__} of {type(component).__name__}, not a parameter or "
            f"variable ({user_source()}).{hint}"
        )
    if not any(keys):
        return _Found(found, around, None)
    return _Found(found, around, _elements(found, around, keys, arrays, path))


def _elements(symbol: Symbol, around: Shape, keys: list[Any], arrays: list[int], path: str) -> np.ndarray:
    """The numbers of the elements that indices on the path select."""
    shape = around + symbol.shape
    numbers = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
    name = ".".join("?" * len(keys))
    try:
        elements = np.asarray(take(numbers, TrajectoryName(name, tuple(keys)), tuple(arrays), 0))
        if not elements.size:
            raise IndexError("no element is left")
    except (IndexError, ValueError) as error:
        raise ModelError(
            f"'{path}' selects nothing ({user_source()}): {symbol} has shape {shape} ({error})."
        ) from None
    return elements


def _unknown(component: Component, path: str) -> str:
    return (
        f"{type(component).__name__} has no parameter or variable '{path}' ({user_source()}). "
        f"{did_you_mean(path, all_names(component))}"
    )


def all_names(component: Component) -> Iterator[str]:
    """The dotted names of every symbol below a component, nearest first."""
    level = [("", component)]
    while level:
        below = []
        for prefix, parent in level:
            for name, child in parent._children():
                if isinstance(child, Symbol):
                    yield prefix + name
                else:
                    inner = child._component if isinstance(child, ComponentArray) else child
                    below.append((f"{prefix}{name}.", inner))
        level = below
