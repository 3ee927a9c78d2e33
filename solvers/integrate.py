"""The same integrator as one pure JAX function: for `jit`, `vmap`, `jax.export`, and any device.

`make_trajectory` prepares a problem once and returns f(times, x0, xdot0, p) -> Trajectory. With the dense
solver nothing leaves JAX.

Lanes of a `vmap` may need different numbers of steps, and each is to give what it gives alone. In a batch
XLA adds up in another order, and the last digit of an error estimate decides on a step: from there on the
runs differ. So on a CPU lanes run one after the other, by the code of a single run, to the last bit the
same, and none waits for the slowest. On accelerators they run together and agree to the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .compiled import pattern_of
from .forks import use_jax
from .formula import FORMULAS
from .jacobian import gather_tables, matrix_values
from .linear_dense import DenseSolver
from .loop import run_chunk
from .problem import Problem
from .renewal import Method, Tables
from .state import Counters, error_weights, first_step, make_settings, start_state


class Trajectory(NamedTuple):
    """x and xdot at the wanted times (rows beyond a failure are zero), `Status` as a number, and the
    work."""

    x: jax.Array
    xdot: jax.Array
    status: jax.Array
    rows: jax.Array
    counters: Counters


def make_trajectory(
    problem: Problem,
    p: Any,
    *,
    rtol: float = 1e-6,
    atol: Any = 1e-9,
    max_steps: int = 100_000,
    formula: str = "ndf",
) -> Callable[[Any, Any, Any, Any], Trajectory]:
    """f(times, x0, xdot0, p): from times[0] to times[-1], with parameters of the kind of the given ones."""
    use_jax()
    pattern = pattern_of(problem, p)
    solver = DenseSolver(pattern)
    method = Method(problem, solver, pattern.directions, FORMULAS[formula])
    tables = Tables(gather_tables(pattern), solver.tables, problem.slope_places)

    def trajectory(times: Any, x0: Any, xdot0: Any, p: Any) -> Trajectory:
        times, x0, xdot0 = (jnp.asarray(value, float) for value in (times, x0, xdot0))
        settings = make_settings(problem, times[-1], rtol, atol, jnp.inf, max_steps, 5)
        span = times[-1] - times[0]
        h = first_step(span, xdot0, error_weights(x0, settings), settings.rtol, settings.max_step)
        values = matrix_values(problem, pattern.directions, tables.gather, times[0], x0, xdot0, p, h)
        factors = solver.factor(tables.solver, values, None)
        state = start_state(times[0], x0, xdot0, h, factors, jnp.zeros(0, bool))
        # Room for one row more than wanted, so that the loop ends with the interval and not with the room.
        wanted = jnp.append(times, jnp.inf)
        attempts = jnp.asarray(max_steps, jnp.int32)
        state, buffer = run_chunk(method, tables, settings, p, state, wanted, attempts)
        return Trajectory(buffer.x[:-1], buffer.xdot[:-1], state.status, buffer.rows, state.counters)

    return _lanes_by_platform(trajectory)


def _lanes_by_platform(trajectory: Callable[..., Trajectory]) -> Callable[..., Trajectory]:
    """The same function, but its lanes under `vmap` run one after the other on a CPU."""
    one_by_one = jax.custom_batching.sequential_vmap(trajectory)
    lane = jax.custom_batching.custom_vmap(trajectory)

    @lane.def_vmap
    def lanes(size: int, batched: Any, *arguments: Any) -> tuple[Trajectory, Any]:
        axes = jax.tree.map(lambda is_batched: 0 if is_batched else None, tuple(batched))
        found = jax.lax.platform_dependent(
            *arguments, cpu=jax.vmap(one_by_one, axes), default=jax.vmap(trajectory, axes)
        )
        return found, jax.tree.map(lambda _: True, found)

    return lane
