"""Jumps of functions of time that equations differentiate: impulses that nobody computes.

Index reduction differentiates equations. Where the equation that was differentiated contains a function of
time that jumps, the derivative contains an impulse, infinitely high and short, of which the equations
between two jumps know nothing. So it is an error, with the names of what jumps and what would have the
impulse.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays.distinct import without
from ..errors import SimulationError
from ..solvers.compile_options import quick_jit
from .breaks import guard_at
from .program import Arguments, Program
from .stretches import Stretch

LEAST = 1e-9
"""A jump, compared with the terms of its equation, below which there is none."""

REMEDY = (
    "Give the jump a width (a ramp: a linear table, np.clip, or np.tanh), or do without the derivative."
)


def check_impulses(
    program: Program, left: Stretch, right: Stretch, x: Any, xdot: Any, arguments: Arguments
) -> None:
    """An error if an equation that was differentiated jumps between two stretches; x is the left limit."""
    integrals = program.functions.integrals
    if not len(integrals.nodes):
        return
    if program.cache.impulses is None:
        program.cache.impulses = quick_jit(_sides(program), program.functions.size)
    both = np.array([left.last, right.first])
    change, slope, terms = map(np.asarray, program.cache.impulses(both, x, xdot, arguments))
    inevitable = 4 * (right.first - left.last + guard_at(left.start, right.end)) * slope
    with np.errstate(invalid="ignore"):
        jumps = np.flatnonzero(change > inevitable + LEAST * terms)
    if len(jumps):
        raise SimulationError(_text(program, int(jumps[0]), right))


def _sides(program: Program) -> Any:
    residual = program.functions.integrals.residual()

    def compare(both: Any, x: Any, xdot: Any, arguments: Arguments) -> Any:
        """The change of rows from side to side, their slope in time, and the size of their terms."""
        w = program.values(both[0], x, xdot, arguments)

        def rows(t: Any, w: Any) -> Any:
            return residual(program.vectors(t, w, arguments))

        def at(t: Any) -> Any:
            return jax.jvp(lambda t: rows(t, w), (t,), (jnp.ones_like(t),))

        (before, slope_before), (after, slope_after) = at(both[0]), at(both[1])
        _, terms = jax.jvp(lambda w: rows(both[0], w), (w,), (w,))
        slope = jnp.maximum(jnp.abs(slope_before), jnp.abs(slope_after))
        return jnp.abs(after - before), slope, jnp.abs(terms)

    return compare


def _text(program: Program, row: int, right: Stretch) -> str:
    nodes, structure = program.functions.integrals.nodes, program.transformed.structure
    sizes = structure.equation_size[nodes]
    node = int(nodes[np.searchsorted(np.cumsum(sizes), row, side="right")])
    above = structure.variables_of(int(structure.equation_derivative[node]))
    infinite = without(above, structure.variables_of(node))
    variables = [structure.variable_name(int(v)) for v in infinite]
    cause = right.cause or "a function of time jumps"
    return (
        f"{cause[0].upper()}{cause[1:]} at time {right.start:.9g}, and the equations contain "
        f"the derivative of\n    {structure.equation_name(node)}\nThere {', '.join(variables[:4]) or 'it'} "
        f"would be infinite: an impulse that is not computed. {REMEDY}"
    )


def check_written_derivatives(cause: str, time: float, order: int, differentiated: int, where: str) -> None:
    """An error if the user has written a derivative of a function whose derivative of an order jumps."""
    if order < differentiated:
        word = "jumps" if order == 0 else f"has a derivative of order {order} that jumps"
        which = f" of order {differentiated}" if differentiated > 1 else ""
        raise SimulationError(
            f"{cause[0].upper()}{cause[1:]} {word} at time {time:.9g}, and {where} contains its "
            f"derivative{which}: an impulse that is not computed. {REMEDY}"
        )
