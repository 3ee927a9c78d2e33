"""Integrate a problem over an interval: from stop to stop, each of which has a time, a reason and an
action."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from .arguments import RunArguments, check_arguments
from .forks import use_jax
from .integration import Integration, OnChunk
from .interrupts import Interrupts
from .loop.compiled import CompiledProblem, compile_problem
from .loop.workspaces import Workspace
from .method.formula import NDF, RADAU
from .method_choice import AUTO, MethodChoice
from .problem import Problem
from .solution import Solution
from .status import Status
from .stops import OnCrossing, Refusal, Restart, Stop, stop_at_crossing


def solve(
    problem: Problem,
    t0: float,
    t1: float,
    x0: Any,
    xdot0: Any = None,
    p: Any = None,
    *,
    rtol: float = 1e-6,
    atol: Any = 1e-9,
    times: Any = None,
    max_steps: int = 1_000_000,
    initial_step: float | None = None,
    max_step: float = np.inf,
    max_order: int = 5,
    formula: str = "ndf",
    linear_solver: str = "auto",
    loop: str = "auto",
    corrector: str = "whole",
    progress: bool | float = False,
    on_chunk: OnChunk | None = None,
    on_crossing: OnCrossing | None = None,
    stops: Sequence[Stop] = (),
    rows: Any = None,
) -> Solution:
    """Integrate 0 = F(t, x, xdot, p) from t0 to t1.

    Parameters
    ----------
    problem : Problem
        The residual F, and which of its rows contain derivatives.
    t0, t1 : float
        The interval.
    x0 : array
        x at t0. It has to satisfy the constraints: see `consistent_start`.
    xdot0 : array, optional
        xdot at t0; computed from the equations if it is not given.
    p : pytree of arrays, optional
        Parameters.
    rtol : float
        Relative tolerance of the result.
    atol : float or array
        Absolute tolerance: one number, or one for each element of x.
    times : array, optional
        Where output is wanted, increasing; at every step if not given.
    max_steps : int
        Attempts at a step, rejected ones included.
    initial_step : float, optional
        The first step; chosen if not given.
    max_step : float
        The longest step.
    max_order : int
        The highest order, from 1 to 5; that of "radau" is always 5.
    formula : {"ndf", "bdf", "radau", "auto"}
        Numerical differentiation formulas (L. F. Shampine, M. W. Reichelt), or the classical backward
        differentiation formulas, both in steps of variable size and order; or Radau IIA of order 5
        (E. Hairer, G. Wanner), whose steps depend on nothing before them. "auto" begins with "ndf", and
        goes on with "radau" where events are frequent, orders stay low or the run is long, and a trial
        shows that it gets farther for the same work; `Solution.method` says so.
    linear_solver : str
        "auto" decides from size, pattern and symmetry; `Solution.linear_solver` says what and why. Or one
        of `solvers.linear.choice.SOLVERS` by name: "dense", "klu", ...
    loop : {"auto", "native", "jax"}
        What makes the steps: native code between the equations, on a CPU, or JAX alone. "auto" takes
        native code where it is there; `Solution.loop` says what has run.
    corrector : {"whole", "stages"}
        How the equations of a step are solved: by Newton's method for all unknowns, or by the stages of
        `problem.inlined`, where it has any; `Solution.not_inlined` says why not.
    progress : bool or float
        True: a bar at once; a number: after so many seconds.
    on_chunk : callable, optional
        Is given each chunk (t, x, xdot) as it comes, which is then not kept: memory stays bounded.
    on_crossing : callable, optional
        Is given each crossing with x and xdot there, and returns new ones (xdot None: computed) to go on
        with. If it returns None, and if there is none, the run ends at the crossing.
    stops : sequence of Stop
        Times, not decreasing, at which the run stops; their actions say how to go on. Output at such a time
        is given twice, with the values before and after.
    rows : OutputRows, optional
        What takes the rows of output, in place of memory for all of them.

    Returns
    -------
    Solution
        Whatever happens during the run is told by its status, an interrupt, too.

    Raises
    ------
    ValueError
        For wrong arguments.
    KeyboardInterrupt
        For an interrupt before the run, while the problem is made ready.

    Examples
    --------
    A pendulum of index 1: two differential equations, and one constraint.

    >>> import jax.numpy as jnp
    >>> from modia_py.solvers import Problem, solve
    >>> def residual(t, x, xdot, p):
    ...     return jnp.stack([xdot[0] - x[1], xdot[1] + x[2], x[2] - jnp.sin(x[0])])
    >>> found = solve(Problem(residual, size=3, differential_rows=2), 0.0, 1.0, [0.1, 0.0, 0.0998334])
    >>> found.status.name, round(float(found.x[-1, 0]), 4)
    ('SUCCESS', 0.0541)
    """
    use_jax()
    arguments = check_arguments(
        problem, t0, t1, x0, xdot0, p, rtol, atol, times, max_steps, initial_step, max_step, max_order
    )
    _check_stops(stops, arguments)
    if formula == RADAU.name and max_order != RADAU.max_order:
        raise ValueError(f"max_order = {max_order}: formula 'radau' always has order {RADAU.max_order}.")
    is_auto = formula == AUTO
    with Interrupts() as interrupts, ExitStack() as stack:

        def make_ready(formula: str) -> tuple[CompiledProblem, Workspace]:
            made_by = "auto" if loop == "native" and formula == RADAU.name and is_auto else loop
            compiled = _compile(problem, arguments, linear_solver, formula, made_by, corrector)
            return compiled, stack.enter_context(compiled.workspaces.one())

        first = make_ready(NDF.name if is_auto else formula)
        run = Integration(*first, arguments, progress, on_chunk, interrupts, rows)
        if is_auto:
            run.choice = MethodChoice(arguments.t0, make_ready)
        try:
            status = _from_stop_to_stop(run, stops, on_crossing)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            interrupts.taken()
        return run.solution(status)


def _compile(
    problem: Problem, arguments: RunArguments, linear_solver: str, formula: str, loop: str, corrector: str
) -> CompiledProblem:
    def example() -> tuple[Any, Any, Any, Any]:
        slope = np.zeros(problem.size) if arguments.xdot0 is None else arguments.xdot0
        return arguments.t0, arguments.x0, slope, 1e-3 * (arguments.t1 - arguments.t0)

    return compile_problem(problem, arguments.p, linear_solver, formula, loop, example, corrector)


def _from_stop_to_stop(run: Integration, stops: Sequence[Stop], on_crossing: OnCrossing | None) -> Status:
    arguments = run.arguments
    t, number = arguments.t0, 0
    restart = Restart(arguments.x0, arguments.xdot0, step_factor=1.0)
    while True:
        at_end = number == len(stops)
        status = run.go(t, arguments.t1 if at_end else stops[number].time, restart)
        if status == Status.CROSSING:
            if on_crossing is None:
                run.record_crossing()
                return status
            stop = stop_at_crossing(run.problem, run.record_crossing(), on_crossing)
        elif status != Status.SUCCESS or at_end:
            return run.end() if status == Status.SUCCESS else status
        else:
            stop, number = stops[number], number + 1
        following = stop.action(run.t_last, run.x_last, run.xdot_last, run.p)
        if isinstance(following, Refusal):
            run.refusal = following.message
            return following.status
        # A crossing at the end is the end.
        if following is None or (status == Status.CROSSING and run.t_last >= arguments.t1):
            return status
        t = run.t_last if following.t is None else following.t
        if status != Status.CROSSING:
            run.again(t)
        restart = following


def _check_stops(stops: Sequence[Stop], arguments: RunArguments) -> None:
    times = [arguments.t0, *(stop.time for stop in stops), arguments.t1]
    if any(later < earlier for earlier, later in itertools.pairwise(times)):
        raise ValueError(
            f"Stops must be in order, and between t0 = {arguments.t0:g} and t1 = {arguments.t1:g}."
        )
