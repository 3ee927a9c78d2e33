"""From a flat model to JAX functions of flat vectors.

`residual(t, v, vdot, p, u)` holds the value `lhs - rhs` of every equation. The unknowns are one vector
v, the parameters one vector p, always arguments and never constants of the program. Equations of one
template are one vmapped call, so the size of the program does not depend on the number of copies.

Derivatives of second and higher order are brought to first order here: der(x) joins the unknowns, with
the equation d/dt x == der(x) at the end of the residual.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import jax.numpy as jnp
import numpy as np

from ..errors import ModelError, did_you_mean
from ..expressions.expression import Expr, Leaf
from ..expressions.indexing import Positions, Shape, from_array
from ..expressions.printing import der_text
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import FlatEquation, FlatModel, Occurrence
from ..plan.graph_array import GraphArray, concatenate, zeros
from .batches import Batch, Location, Use, make_batches
from .gathering import take
from .parameters import ParameterValues


@dataclass(frozen=True)
class Place:
    """A named part of a flat vector."""

    name: str
    shape: Shape
    offset: int

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class VectorNames:
    """The names behind a flat vector."""

    places: dict[str, Place]
    size: int

    def pack(self, values: Mapping[str, Any], fill: float = 0.0) -> np.ndarray:
        """A flat vector from values by name; what is not named is `fill`."""
        vector = np.full(self.size, fill)
        for name, value in values.items():
            if name not in self.places:
                raise ModelError(f"There is no '{name}'. {did_you_mean(name, self.places)}")
            place = self.places[name]
            try:
                spread = np.broadcast_to(value, place.shape)
            except ValueError:
                raise ModelError(
                    f"The value of {name} has shape {np.shape(value)}, expected {place.shape}."
                ) from None
            vector[place.offset : place.offset + place.size] = spread.ravel()
        return vector

    def unpack(self, vector: Any) -> dict[str, Any]:
        """The values by name, each in its shape."""
        return {
            name: vector[place.offset : place.offset + place.size].reshape(place.shape)
            for name, place in self.places.items()
        }


@dataclass(frozen=True, eq=False)
class FlatResidual:
    """A flat model as JAX functions of flat vectors: the equations as they are written, of any index.

    Attributes
    ----------
    flat : FlatModel
        The model.
    unknowns, inputs : VectorNames
        Names, shapes and offsets in the vectors v and u; `pack` and `unpack` go from names to vectors and
        back.
    residual : callable
        `residual(t, v, vdot, p, u=())`: lhs - rhs of all equations, one after the other.
    initial_residual : callable
        The same for the equations that hold at the start only.
    rows : tuple of slice
        For each equation of `flat.equations`, where its values stand in the residual.
    batches : tuple
        The templates of the equations, in the order of the residual.

    Examples
    --------
    >>> from modia_py import elaborate, flat_residual
    >>> from modia_py.models.examples import Decay
    >>> lowered = flat_residual(elaborate(Decay()))
    >>> v, vdot = lowered.unknowns.pack({"x": 3.0}), lowered.unknowns.pack({"x": -2.0})
    >>> float(lowered.residual(0.0, v, vdot, lowered.parameters({"k": 2.0}))[0])
    4.0
    """

    flat: FlatModel
    unknowns: VectorNames
    inputs: VectorNames
    residual: Callable[..., Any]
    initial_residual: Callable[..., Any]
    rows: tuple[slice, ...]
    batches: tuple[Batch, ...] = field(repr=False)
    _values: ParameterValues = field(repr=False)

    def parameters(self, values: Mapping[str, Any] | None = None) -> Any:
        """Make the parameter vector, with `values` by name in place of the declared ones.

        Parameters
        ----------
        values : mapping of str to number or array, optional
            Other values by dotted name. They may be JAX tracers, so that derivatives go through. Parameters
            computed from others follow them unless they are given themselves.

        Returns
        -------
        array
            The vector p of the residual.
        """
        return self._values.vector(dict(values or {}))

    def initial_values(self, p: Any, word: str = "init") -> dict[str, Any]:
        """Compute the declared start values.

        Parameters
        ----------
        p : array
            The parameter vector.
        word : {"init", "guess"}
            Which of them.

        Returns
        -------
        dict of str to array
            By variable name, each in its full shape; variables without one are left out.
        """
        return self._values.start(p, word)


def flat_residual(flat: FlatModel) -> FlatResidual:
    """Compile the equations of a flat model into one residual function.

    Derivatives of second and higher order are brought to first order: der(x) joins the unknowns.
    `translate` does not need this: it is for those who bring their own integrator or optimizer.

    Parameters
    ----------
    flat : FlatModel
        What `elaborate` returns.

    Returns
    -------
    FlatResidual
        JAX functions of flat vectors, and the names behind these.

    Examples
    --------
    >>> from modia_py import elaborate, flat_residual
    >>> from modia_py.models.examples import Decay
    >>> flat_residual(elaborate(Decay())).unknowns.size
    1
    """
    everywhere = [*flat.equations, *flat.initial_equations]
    unknowns, companions = _unknowns(flat, _highest_orders(everywhere, flat, SymbolKind.VARIABLE))
    inputs, input_offsets = _inputs(flat, _highest_orders(everywhere, flat, SymbolKind.INPUT))
    locate = _locator(flat, companions, input_offsets)
    batches = make_batches(_uses(flat.equations, locate))
    initial_batches = make_batches(_uses(flat.initial_equations, locate))
    chain = _chain(companions, flat)

    def vectors(t: Any, v: Any, vdot: Any, p: Any, u: Any) -> dict[str, Any]:
        given = {"v": v, "vdot": vdot, "p": p, "u": u}
        sizes = {"v": unknowns.size, "vdot": unknowns.size, "p": flat.data_size, "u": inputs.size}
        for name, size in sizes.items():
            if np.shape(given[name]) != (size,):
                raise ModelError(
                    f"{flat.name}: {name} has shape {np.shape(given[name])}, expected ({size},)."
                )
        arrays = {n: v if isinstance(v, GraphArray) else jnp.asarray(v) for n, v in given.items()}
        return {"time": t, **arrays}

    def residual(t: Any, v: Any, vdot: Any, p: Any, u: Any = ()) -> Any:
        """lhs - rhs of all equations."""
        known = vectors(t, v, vdot, p, jnp.zeros(0) if isinstance(u, tuple) else u)
        parts = [batch(known).reshape(-1) for batch in batches]
        if chain is not None:
            parts.append(take(known["vdot"], chain[0]) - take(known["v"], chain[1]))
        return concatenate([zeros(0, v), *parts], like=v)

    def initial_residual(t: Any, v: Any, vdot: Any, p: Any, u: Any = ()) -> Any:
        """lhs - rhs of the equations that hold at the start only."""
        known = vectors(t, v, vdot, p, jnp.zeros(0) if isinstance(u, tuple) else u)
        parts = [batch(known).reshape(-1) for batch in initial_batches]
        return concatenate([zeros(0, v), *parts], like=v)

    rows = _rows(batches, list(flat.equations))
    values = ParameterValues(flat)
    return FlatResidual(flat, unknowns, inputs, residual, initial_residual, rows, tuple(batches), values)


def _highest_orders(equations: list[FlatEquation], flat: FlatModel, kind: SymbolKind) -> dict[str, int]:
    """How often each symbol of a kind is differentiated, by its name."""
    orders: dict[str, int] = {}
    by_equation: dict[int, list[Leaf]] = {}
    for equation in equations:
        leaves = by_equation.get(id(equation.equation))
        if leaves is None:
            leaves = [node for node in equation.equation.leaves if node.kind is kind and node.order > 0]
            by_equation[id(equation.equation)] = leaves
        for node in leaves:
            name = equation.owner.full_name(node)
            orders[name] = max(orders.get(name, 0), node.order)
    return orders


def _unknowns(flat: FlatModel, orders: dict[str, int]) -> tuple[VectorNames, dict[str, list[int]]]:
    """The vector v, and for each variable the offsets of x, der(x), ... in it."""
    places = {v.name: Place(v.name, v.shape, v.offset) for v in flat.variables}
    companions = {v.name: [v.offset] for v in flat.variables}
    size = flat.unknowns
    for variable in flat.variables:
        for order in range(1, orders.get(variable.name, 0)):
            name = der_text(variable.name, order)
            places[name] = Place(name, variable.shape, size)
            companions[variable.name].append(size)
            size += variable.size
    return VectorNames(places, size), companions


def _inputs(flat: FlatModel, orders: dict[str, int]) -> tuple[VectorNames, dict[str, list[int]]]:
    """The vector u: every input, and its derivatives as far as the equations use them."""
    places: dict[str, Place] = {}
    offsets: dict[str, list[int]] = {}
    size = 0
    for entry in flat.inputs:
        offsets[entry.name] = []
        for order in range(orders.get(entry.name, 0) + 1):
            name = der_text(entry.name, order)
            places[name] = Place(name, entry.shape, size)
            offsets[entry.name].append(size)
            size += entry.size
    return VectorNames(places, size), offsets


def _locator(
    flat: FlatModel, companions: dict[str, list[int]], inputs: dict[str, list[int]]
) -> Callable[[Leaf, Occurrence | None, Shape], Location]:
    def locate(leaf: Leaf, owner: Occurrence | None, lead: Shape) -> Location:
        symbol = flat.resolve(leaf, owner)
        strides = symbol.copy_strides(leaf, lead)
        match symbol.kind:
            case SymbolKind.VARIABLE if leaf.order == 0:
                return Location("v", symbol.offset, strides)
            case SymbolKind.VARIABLE:
                return Location("vdot", companions[symbol.name][leaf.order - 1], strides)
            case SymbolKind.PARAMETER | SymbolKind.DISCRETE:
                return Location("p", symbol.offset + flat.shift_in_p(symbol.kind, leaf.order), strides)
            case SymbolKind.INPUT:
                return Location("u", inputs[symbol.name][leaf.order], strides)
            case SymbolKind.TIME:
                raise AssertionError("the time has no place in a vector")
            case _:
                assert_never(symbol.kind)

    return locate


def _uses(equations: tuple[FlatEquation, ...], locate: Callable[..., Location]) -> list[Use]:
    residuals: dict[int, Expr] = {}  # of equations that equal components share
    uses = []
    for flat in equations:
        equation, owner = flat.equation, flat.owner
        if id(equation) not in residuals:
            residuals[id(equation)] = equation.residual()
        find = functools.partial(locate, owner=owner, lead=owner.lead)
        uses.append(Use(residuals[id(equation)], owner.lead, find))
    return uses


def _chain(companions: dict[str, list[int]], flat: FlatModel) -> tuple[Positions, Positions] | None:
    """Positions of vdot and v in the rows d/dt x == der(x)."""
    moving, values = [], []
    for variable in flat.variables:
        offsets = companions[variable.name]
        for lower_order, higher_order in itertools.pairwise(offsets):
            moving.append(lower_order + np.arange(variable.size))
            values.append(higher_order + np.arange(variable.size))
    if not moving:
        return None
    return from_array(np.concatenate(moving)), from_array(np.concatenate(values))


def _rows(batches: list[Batch], equations: list[FlatEquation]) -> tuple[slice, ...]:
    rows: list[slice] = [slice(0, 0)] * len(equations)
    start = 0
    for batch in batches:
        for number in batch.uses:
            rows[number] = slice(start, start + equations[number].size)
            start = rows[number].stop
    return tuple(rows)
