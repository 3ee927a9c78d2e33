"""The start of a run: x and xdot from the equations, `init` values, initial equations and guesses.

`init` of an element of x fixes it; other `init` values are equations of the initial problem. What is still
free stays near its guess: states do, and algebraic unknowns follow from them. Values that contradict each
other or the equations are named.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import breadth_first_order, maximum_bipartite_matching

from ..errors import SimulationError
from ..solvers import consistent_xdot
from ..solvers.roots.initialize import slope_system
from ..solvers.roots.nearest import NearestRoot, NearestSystem
from ..solvers.roots.nearest_problem import Effort
from .contradictions import CONTRADICTS, resolve_contradictions
from .errors import guesses_text, not_finite, undefined_values
from .problem import NUDGE, StartPoint, StartProblem, StartSystem

EXACT = 1e-12
"""Constraints that hold to this, compared with their terms, hold to rounding."""


def consistent_start(start: StartProblem) -> StartPoint:
    """x and xdot for `init` values that hold from the start on."""
    if start.only_values:
        nothing = start.init.chosen(np.zeros(len(start.init), bool))
        system = start.of_values(nothing)
        x, notes = _found(start, system)
        xdot = _slopes(start, x)
        if xdot is not None:
            return StartPoint(x, xdot, (*_free(start, system, x), *notes))
    system = start.of_values_and_slopes(start.init.chosen(~start.is_direct))
    z, notes = _found(start, system)
    return StartPoint(z[: start.n], z[start.n :], (*_free(start, system, z), *notes))


def _free(start: StartProblem, system: StartSystem, z: np.ndarray) -> list[str]:
    return guesses_text(start, _undetermined(start, system), z)


def _found(start: StartProblem, system: StartSystem) -> tuple[np.ndarray, tuple[str, ...]]:
    """The nearest point at which the equations hold, and notes; or an error that says why there is none."""
    effort = start.effort(system)
    found = _from_states(start, system, effort)
    # Where algebraic unknowns cannot follow, as y in y**2 == x - 1 at x = 0, states have to move with them.
    for z, equal in ((start.z_guess, False), (start.nudged(), False), (start.nudged(), True)):
        if found is None or not found.satisfied:
            again = system.solve(z, start.fixed, equal=equal, effort=effort)
            if again.satisfied and z is not start.z_guess:
                again = _nudged_back(start, system, again, effort)
            found = again if found is None or again.satisfied or not found.finite else found
    assert found is not None
    if not found.finite:
        raise not_finite(start, found, system)
    if not found.satisfied or not start.agrees:
        return resolve_contradictions(start, found, system, effort)
    if system.unknowns == start.n and found.relative.max(initial=0.0) > EXACT:
        # Given with rounding: all of it moves a little, if that is possible.
        return resolve_contradictions(start, found, system, effort)
    return found.z, ()


def _nudged_back(
    start: StartProblem, system: StartSystem, found: NearestRoot, effort: Effort
) -> NearestRoot:
    """What was nudged without need goes back to its guess: a pendulum without `init` starts at rest."""
    guess = start.z_guess[: system.unknowns]
    near = np.abs(found.z - guess) <= 2 * NUDGE
    back = system.solve(np.where(near, guess, found.z), start.fixed, effort=effort, homotopy=False)
    return back if back.satisfied else found


def _from_states(start: StartProblem, system: StartSystem, effort: Effort) -> NearestRoot | None:
    """States on their own constraints, then algebraic unknowns with these states: nearly always enough.

    The constraints that index reduction has differentiated contain no algebraic unknown.
    """
    if system.unknowns > start.n:
        return None
    algebraic = np.flatnonzero(~start.states & ~start.program.layout.integrals)
    of_states = np.arange(system.rows) < system.rows - len(algebraic)
    x = start.z_guess[: start.n]
    if of_states.any():
        found = system.solve(
            x,
            start.fixed | ~np.append(start.states, start.states),
            active=of_states,
            effort=effort,
            homotopy=False,
        )
        if not found.satisfied:
            return None
        x = found.z
    fixed = start.fixed[: start.n] | start.states
    found = system.solve(x, fixed, effort=effort, homotopy=False)
    if found.satisfied or not len(algebraic):
        return found if found.satisfied else None
    x = np.where(fixed, x, start.nudged()[: start.n])
    found = system.solve(x, fixed, effort=effort, homotopy=False)
    return found if found.satisfied else None


def _slopes(start: StartProblem, x: np.ndarray) -> np.ndarray | None:
    """xdot to x; None if there is none, or it is not finite."""
    guess = start.z_guess[start.n :]
    found = consistent_xdot(start.program.problem, start.t, x, start.arguments, guess)
    if not found.status.failed:
        return found.xdot
    return _slopes_of_states(start, x, guess)


def _slopes_of_states(start: StartProblem, x: np.ndarray, guess: np.ndarray) -> np.ndarray | None:
    """xdot where algebraic unknowns have an infinite slope: theirs is in no equation, and is zero then."""
    system = slope_system(start.program.problem, start.t, x, start.arguments)
    rate = system.value(guess)
    algebraic = ~start.states & ~start.program.layout.integrals
    of_algebraic = np.arange(start.n) >= start.n - int(algebraic.sum())
    if np.all(np.isfinite(rate)) or np.any(~np.isfinite(rate[~of_algebraic])):
        return None
    found = NearestSystem(system).solve(
        np.where(algebraic, 0.0, guess),
        cost=np.zeros(start.n),
        fixed=algebraic,
        active=~of_algebraic,
    )
    return found.z if found.satisfied else None


def _undetermined(start: StartProblem, system: StartSystem) -> np.ndarray:
    """States that neither `init` values nor equations determine.

    Those are in the part of the equations with more unknowns than rows (Dulmage and Mendelsohn): what
    alternating paths reach from an unknown without a row.
    """
    row, column, (m, n) = system.nearest.pattern
    free = ~start.fixed[: system.unknowns]
    is_free = free[column]
    row, column = row[is_free], column[is_free]
    entries = sparse.csr_array((np.ones(len(row)), (row, column)), shape=(m, n))
    row_of = maximum_bipartite_matching(entries, perm_type="row")
    unmatched, matched = np.flatnonzero((row_of < 0) & free), np.flatnonzero(row_of >= 0)
    # From the root to unknowns without a row, from an unknown to its rows, from a row to its own unknown.
    root = m + n
    tail = np.concatenate([np.full(len(unmatched), root), m + column, row_of[matched]])
    head = np.concatenate([m + unmatched, row, m + matched])
    graph = sparse.csr_array((np.ones(len(tail)), (tail, head)), shape=(root + 1, root + 1))
    reached = breadth_first_order(graph, root, return_predecessors=False) - m
    found = np.sort(reached[(reached >= 0) & (reached < start.n)])
    return found[start.states[found]]


def fully_assigned_start(start: StartProblem) -> StartPoint:
    """A model without unknowns for the integrator: `init` values can only agree with what is assigned."""
    nothing = np.zeros(0)
    w = np.asarray(start.program.values(start.t, nothing, nothing, start.arguments))
    init = start.init
    if not np.all(np.isfinite(w)):
        raise undefined_values(start.program, start.t, w, start.arguments)
    off = np.abs(init.sign * w[init.place] - init.value)
    wrong = np.flatnonzero(~(off <= CONTRADICTS * np.maximum(1.0, np.abs(init.value))))
    if len(wrong):
        k = int(wrong[0])
        raise SimulationError(
            f"The `init` value {init.label(k)} = {init.value[k]:g} cannot hold at the start: the equations "
            f"make it {float(init.sign[k] * w[init.place[k]]):g}."
        )
    return StartPoint(nothing, nothing)
