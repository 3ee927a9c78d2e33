"""`start="impulse"`: `init` values are left limits, and the impulse equations decide what jumps.

The form without tearing is used, because both sides of a constraint that engages have to be in x: two
wheels with one speed are one state afterwards, but each has a speed and an inertia before. Left limits
that are not given follow from those that are, as far as the constraints allow.
"""

from __future__ import annotations

import numpy as np

from ..errors import SimulationError
from ..program.program import Program
from ..program.row_names import row_name
from ..solvers import consistent_xdot, impulse_start
from .contradictions import CONTRADICTS
from .problem import StartPoint, StartProblem

JUMPED = 1e-9
ROUNDING = 1e-14
LISTED = 12


def impulsive_start(start: StartProblem, program: Program) -> StartPoint:
    """x and xdot of `program` after the impulses; `start` is the initial problem of the plain form."""
    left = _left_limit(start)
    found = impulse_start(start.program.problem, start.t, left, start.arguments)
    if not found.success:
        rows = "\n".join(f"    {row_name(start.program, int(row))}" for row in found.unsatisfied[:8])
        raise SimulationError(
            f"The impulse equations have no solution at time {start.t:g} for these `init` values. The "
            f"equations that hold least:\n{rows}"
        )
    x, xdot = in_other_form(start.program, program, start, found.x, found.xdot)
    return StartPoint(x, xdot, tuple(_jumps(start, found.x, found.xdot)))


def _left_limit(start: StartProblem) -> np.ndarray:
    """x with the `init` values, and the rest as the constraints want it, where they can hold."""
    system = start.of_values_and_slopes(start.init)
    m, first = system.rows, system.first
    # Constraints and what follows from them give way; `init` values do not.
    soft = np.arange(m) < first
    soft[: start.program.functions.differential_rows] = False
    fixed = np.zeros(2 * start.n, bool)
    fixed[: start.n] = start.program.layout.integrals
    active = np.ones(m, bool)
    active[start.n : first] = False
    active[: start.program.functions.differential_rows] = False
    found = system.solve(start.z_guess, fixed, soft=soft, active=active)
    violated = first + np.flatnonzero(found.relative[first:] > CONTRADICTS)
    if len(violated):
        listed = "\n".join(f"    {system.row_text(int(row))}" for row in violated[:8])
        raise SimulationError(f"These values cannot hold together just before the start:\n{listed}")
    return found.z[: start.n]


def in_other_form(
    plain: Program, program: Program, start: StartProblem, x: np.ndarray, xdot: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """x of one form from the values of all variables in another."""
    if program is plain:
        return x, xdot
    w = np.asarray(plain.values(start.t, x, xdot, start.arguments))
    here, there = plain.functions.value_map, program.functions.value_map
    found = np.zeros(program.functions.size)
    for order in range(min(len(here.place), len(there.place))):
        known = (here.place[order] >= 0) & (there.place[order] >= 0)
        target = program.layout.x_of_place[there.place[order][known]]
        value = (here.sign[order] * w[here.place[order]] * there.sign[order])[known]
        found[target[target >= 0]] = value[target >= 0]
    slope = consistent_xdot(program.problem, start.t, found, start.arguments)
    if not slope.success:
        raise SimulationError(f"After the impulse no derivatives were found. {slope.message}")
    return found, slope.xdot


def _jumps(start: StartProblem, x: np.ndarray, xdot: np.ndarray) -> list[str]:
    """Which given variables are not what they were just before."""
    init = start.init
    w = np.asarray(start.program.values(start.t, x, xdot, start.arguments))
    right = init.sign * w[init.place]
    right = np.where(np.abs(right) <= ROUNDING * np.abs(init.value), 0.0, right)
    moved = np.flatnonzero(np.abs(right - init.value) > JUMPED * np.maximum(1.0, np.abs(init.value)))
    texts = [f"{init.label(int(k))} from {init.value[k]:.6g} to {right[k]:.6g}" for k in moved[:LISTED]]
    more = f" and {len(moved) - LISTED} more" if len(moved) > LISTED else ""
    return [f"jumped at the start: {', '.join(texts)}{more}"] if texts else ["nothing jumped at the start"]
