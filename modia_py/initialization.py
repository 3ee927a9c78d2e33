"""The start of a run: x and xdot from the equations, `init` values, initial equations and guesses.

`init` of an element of x fixes it; other `init` values are equations of the initial problem. What is still
free stays near its guess. Values that contradict each other or the equations are named.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import breadth_first_order, maximum_bipartite_matching

from .contradictions import CONTRADICTS, resolve_contradictions
from .errors import SimulationError
from .solvers import consistent_xdot
from .solvers.compile_options import quick_jit
from .solvers.nearest import SATISFIED, NearestSystem
from .start_errors import guesses_text, not_finite
from .start_problem import StartPoint, StartProblem


def consistent_start(start: StartProblem) -> StartPoint:
    """x and xdot for `init` values that hold from the start on."""
    if len(start.init) == int(start.is_direct.sum()) and not start.init.flat.initial_equations:
        simple = _from_given_x(start)
        if simple is not None:
            return simple
    rows = start.init.chosen(~start.is_direct)
    system = start.system(rows)
    arguments = start.system_arguments(rows)
    found = system.solve(start.z_guess, arguments, cost=start.cost, fixed=start.fixed)
    if not found.finite or len(found.unsatisfied):
        again = system.solve(start.nudged(), arguments, cost=start.cost, fixed=start.fixed)
        found = again if again.finite and not len(again.unsatisfied) else found
    if not found.finite:
        raise not_finite(start, found.z)
    if len(found.unsatisfied) or not start.agrees:
        found = resolve_contradictions(start, found, rows)
        system = start.system(start.init)
    return StartPoint(found.z[: start.n], found.z[start.n :], tuple(_missing(start, system)))


def _from_given_x(start: StartProblem) -> StartPoint | None:
    """Where all of x that matters is given, or free, and satisfies the constraints: only xdot is left."""
    program = start.program
    x = start.z_guess[: start.n]
    if (direct := start.in_x[start.is_direct]).size != np.unique(direct).size:
        return None  # given twice: is it the same?
    if "residual" not in program.kept:
        program.kept["residual"] = quick_jit(program.problem.residual, start.n)
    residual = np.asarray(program.kept["residual"](start.t, x, np.zeros(start.n), start.arguments))
    if program.functions.differential_rows < start.n:
        off = np.abs(residual[program.functions.differential_rows :])
        if not np.all(off <= SATISFIED * SATISFIED):
            return None
    guess = start.z_guess[start.n :]
    found = consistent_xdot(program.problem, start.t, x, start.arguments, guess)
    if found.status.failed:
        return None  # the general way says more
    return StartPoint(x, found.xdot, tuple(guesses_text(start, np.flatnonzero(~start.fixed[: start.n]))))


def _missing(start: StartProblem, system: NearestSystem) -> list[str]:
    """Elements of x that neither `init` values nor equations determine.

    Those are in the part of the system with more unknowns than rows (Dulmage and Mendelsohn): which of them
    a matching leaves over is chance. It may be a derivative, whose row then determines the state.
    """
    row, column, (m, n) = system.pattern
    free = ~start.fixed
    kept = free[column]
    row, column = row[kept], column[kept]
    entries = sparse.csr_array((np.ones(len(row)), (row, column)), shape=(m, n))
    row_of = maximum_bipartite_matching(entries, perm_type="row")
    left, matched, root = np.flatnonzero((row_of < 0) & free), np.flatnonzero(row_of >= 0), m + n
    tail = np.concatenate([np.full(len(left), root), m + column, row_of[matched]])
    head = np.concatenate([m + left, row, m + matched])
    paths = sparse.csr_array((np.ones(len(tail)), (tail, head)), shape=(root + 1, root + 1))
    reached = np.sort(breadth_first_order(paths, root, return_predecessors=False)) - m
    return guesses_text(start, reached[(reached >= 0) & (reached < start.n)])


def fully_assigned_start(start: StartProblem) -> StartPoint:
    """A model without unknowns for the integrator: `init` values can only agree with what is assigned."""
    nothing = np.zeros(0)
    w = np.asarray(start.program.values(start.t, nothing, nothing, start.arguments))
    init = start.init
    off = np.abs(init.sign * w[init.place] - init.value)
    wrong = np.flatnonzero(~(off <= CONTRADICTS * np.maximum(1.0, np.abs(init.value))))
    if len(wrong):
        k = int(wrong[0])
        raise SimulationError(
            f"The `init` value {init.label(k)} = {init.value[k]:g} cannot hold at the start: the equations "
            f"make it {float(init.sign[k] * w[init.place[k]]):g}."
        )
    return StartPoint(nothing, nothing)
