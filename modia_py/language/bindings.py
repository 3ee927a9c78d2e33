"""Parameters and start values that are given as expressions of parameters."""

from __future__ import annotations

from ..errors import ModelError
from ..expressions.expression import Expr, leaves_of
from ..expressions.indexing import Shape
from .flat_model import Binding, FlatSymbol


def make_bindings(
    symbols: tuple[FlatSymbol, ...], attribute: str, by_symbol: dict[int, FlatSymbol]
) -> tuple[Binding, ...]:
    """The bindings of one attribute (`value`, `init`, `guess`), lowest level first.

    A binding's level is one more than that of the bindings it is computed from, so all of one level
    can be evaluated at once.
    """
    values = {id(flat.symbol): getattr(flat.symbol, attribute) for flat in symbols}
    bound = {key: value for key, value in values.items() if isinstance(value, Expr)}
    levels: dict[int, int] = {}
    for start in bound:
        stack = [start]
        while stack:
            needs = [id(node.symbol) for node in leaves_of(bound[stack[-1]]) if id(node.symbol) in bound]
            missing = [key for key in needs if key not in levels]
            if not missing:
                levels[stack.pop()] = 1 + max((levels[key] for key in needs), default=0)
            elif missing[0] in stack:
                raise ModelError(f"Parameter {by_symbol[missing[0]].name} is computed from itself.")
            else:
                stack.append(missing[0])
    bindings = [
        Binding(flat, value, _scope_lead(flat, value, by_symbol), levels[id(flat.symbol)])
        for flat in symbols
        if (value := bound.get(id(flat.symbol))) is not None
    ]
    return tuple(sorted(bindings, key=lambda binding: binding.level))


def _scope_lead(target: FlatSymbol, value: Expr, by_symbol: dict[int, FlatSymbol]) -> Shape:
    """The arrays around the component in which an expression was written."""
    lead: Shape = ()
    for node in leaves_of(value):
        flat = by_symbol.get(id(node.symbol))
        if flat is None:
            raise ModelError(
                f"{target.name} is given as `{value}`, but {node.symbol} belongs to another model."
            )
        around = flat.lead[: len(flat.lead) - len(node.lead)]
        if target.lead[: len(around)] != around:
            raise ModelError(
                f"{target.name} is given as `{value}`, in which {flat.name} has other component arrays "
                f"around it."
            )
        lead = max(lead, around, key=len)
    return lead
