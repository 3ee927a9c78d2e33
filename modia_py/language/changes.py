"""Overriding parameters and start values by name: `Ladder(**{"r.R": 2.0})`, `Ladder(r={"R": 2.0})`.

`Ladder(**{"c.u.nominal": 1e-3})` sets the nominal value of a variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import ModelError, did_you_mean
from ..expressions.indexing import Shape
from ..source import user_source
from .component_arrays import ComponentArray
from .components import Component
from .symbols import Symbol

NOMINAL = "nominal"


def apply_changes(component: Component, changes: dict[str, Any]) -> None:
    """Set what `changes` names, here and in the components below. Outer changes come last and win."""
    lead = () if component._count is None else (component._count,)
    for path, value in _dotted(changes):
        symbol, around, is_nominal = _find(component, path, lead)
        if is_nominal:
            symbol.set_nominal(value, around)
        else:
            symbol.change(value, around)


def _dotted(changes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    stack = [(str(name), value) for name, value in reversed(changes.items())]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((f"{path}.{name}", inner) for name, inner in reversed(value.items()))
        else:
            yield path, value


def _find(component: Component, path: str, lead: Shape) -> tuple[Symbol, Shape, bool]:
    """The symbol of a dotted path, the lengths of the component arrays around it, and whether its nominal
    value is meant."""
    found: Any = component
    names = path.split(".")
    for position, name in enumerate(names, start=1):
        if isinstance(found, Symbol) and name == NOMINAL and position == len(names):
            return found, lead, True
        children = dict(found._children()) if isinstance(found, Component) else {}
        if name not in children:
            raise ModelError(
                f"{type(component).__name__} has no parameter or variable '{path}' ({user_source()}). "
                f"{did_you_mean(path, all_names(component))}"
            )
        found = children[name]
        if isinstance(found, ComponentArray):
            lead += found._lead
            found = found._component
    if not isinstance(found, Symbol):
        example = next(iter(all_names(found)), None)
        hint = f" Name what is meant, such as '{path}.{example}'." if example else ""
        raise ModelError(
            f"'{path}' is a {type(found).__name__} of {type(component).__name__}, not a parameter or "
            f"variable ({user_source()}).{hint}"
        )
    return found, lead, False


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
