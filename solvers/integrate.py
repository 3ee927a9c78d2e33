"""The same integrator as one pure JAX function: for `jit`, `vmap`, `jax.export`, and any device.

`make_trajectory` prepares a problem once and returns f(times, x0, xdot0, p) -> Trajectory. With the dense
solver nothing leaves JAX.

Lanes of a `vmap` may need different numbers of steps, and each is to give what it gives alone. In a batch
XLA adds up in another order, and the last digit of an error estimate decides on a step: from there on the
runs differ. So on a CPU lanes run one after the other, by the code of a single run, to the last bit the
same, and none waits for the slowest. On accelerators they run together and agree to the tolerance.

There are no derivatives yet: those of a run are those of its recorded steps, and JAX would differentiate
through the choice of steps instead. To ask for them is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .compiled import pattern_of
from .forks import use_jax
from .formula import FORMULAS
from .jacobian import gather_tables
from .linear_dense import DenseSolver
from .loop import run_chunk
from .problem import Problem
from .renewal import Method, Tables
from .start import INCONSISTENT, NO_WORK, begin, look
from .state import Counters, make_settings
from .status import Status


class Trajectory(NamedTuple):
    """x and xdot at the wanted times (rows beyond a failure are zero), `Status` as a number, and the
    work. There are no rows if the start does not satisfy the constraints, or the residual is not finite
    there."""

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
        t, nothing = times[0], jnp.zeros(())
        residual, h, values = look(
            problem, pattern.directions, tables.gather, settings, t, x0, xdot0, p, nothing, nothing + 1.0
        )
        factors = solver.factor(tables.solver, values, None)
        state, off = begin(
            problem, solver, tables.solver, settings, t, x0, xdot0, p, h, factors, residual, NO_WORK
        )
        # The same as `solve` says of a start. A matrix that is singular is left to the first step.
        status = jnp.where(off > INCONSISTENT, Status.INCONSISTENT, Status.RUNNING)
        status = jnp.where(jnp.all(jnp.isfinite(residual)), status, Status.NON_FINITE).astype(jnp.int32)
        state = state._replace(status=status)
        # Room for one row more than wanted, so that the loop ends with the interval and not with the room.
        wanted = jnp.where(status == Status.RUNNING, jnp.append(times, jnp.inf), jnp.inf)
        attempts = jnp.asarray(max_steps, jnp.int32)
        state, buffer = run_chunk(method, tables, settings, p, state, wanted, attempts)
        return Trajectory(buffer.x[:-1], buffer.xdot[:-1], state.status, buffer.rows, state.counters)

    return _without_derivatives(_lanes_by_platform(trajectory))


def _without_derivatives(trajectory: Callable[..., Trajectory]) -> Callable[..., Trajectory]:
    """The same function; jax.jvp, jax.grad and the like are told that there is nothing for them."""
    same = jax.custom_jvp(trajectory)

    @same.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        raise NotImplementedError(
            "A trajectory of `make_trajectory` cannot be differentiated yet (jax.jvp, jax.grad, "
            "jax.jacobian): through the choice of its steps the derivative would be wrong or NaN. Compare "
            "two runs with a small change at a tight tolerance, or integrate the equations of the "
            "derivatives along with the others."
        )

    return same


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
