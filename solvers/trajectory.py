"""The same integrator as one pure JAX function: for `jit`, `vmap`, `jvp`, `jax.export`, and any device.

`make_trajectory` prepares a problem once and returns f(times, x0, xdot0, p) -> Trajectory. With the dense
solver nothing leaves JAX.

Lanes of a `vmap` may need different numbers of steps, and each is to give what it gives alone (`lanes`): on
a CPU they run one after the other, by the code of a single run, to the last bit the same, and none waits
for the slowest. On accelerators they run together and agree to the tolerance.

Forward derivatives (`jax.jvp`, `jax.linearize`, `jax.jacfwd`) are those of the recorded steps (`replay`).
They are NaN where a run has failed, or where its steps, made again, lead somewhere else. To go backward is
an error.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .forks import use_jax
from .forward_only import forward_only
from .lanes import one_by_one_on_cpu
from .linear.dense import DenseSolver
from .loop.loop import run_chunk
from .loop.record import record_steps
from .loop.start import Origin, start
from .matrix.jacobian import gather_tables, pattern_of
from .method.context import Context, Method, Tables
from .method.controller import Work
from .method.formula import FORMULAS, formula_of
from .method.numbers import AT
from .method.replay import Record, replay
from .method.settings import make_settings
from .method.state import NO_WORK, State, histogram
from .problem import Problem
from .status import Status

ELSEWHERE = 1000.0
"""Steps made again agree with the run to its tolerance. So many tolerances away is somewhere else."""
BACKWARD = (
    "A trajectory is differentiated forward only: use `jax.jvp`, `jax.linearize` or `jax.jacfwd` in place "
    "of `jax.grad`, `jax.vjp` and `jax.jacrev`. How many steps there are is not known when it is compiled, "
    "and to go back through them all would have to be kept."
)

_COUNTED = (*Work._fields, "order_histogram", "limited_by_rounding")
Counters: Any = namedtuple("Counters", _COUNTED)  # type: ignore[misc]
"""Work of a trajectory, under the names of `Statistics`."""


class Trajectory(NamedTuple):
    """What the function that `make_trajectory` returns gives: JAX arrays.

    There are no rows if the start does not satisfy the constraints, or the residual is not finite there.

    Attributes
    ----------
    x, xdot : array
        At the wanted times, shape (nt, size); rows beyond a failure are zero.
    status : array
        A `Status` as a number.
    rows : array
        How many rows were computed.
    counters : Counters
        The work, under the names of `Statistics`.
    """

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
    """Make a pure JAX function that integrates a problem, for `jit`, `vmap`, `jvp` and `jax.export`.

    The linear solver is dense: it is for small problems. Forward derivatives (`jax.jvp`, `jax.linearize`,
    `jax.jacfwd`) are those of the recorded steps, with respect to x0, xdot0 and p.

    Parameters
    ----------
    problem : Problem
        The residual F, and which of its rows contain derivatives. Crossings are not looked for.
    p : pytree of arrays
        An example of the parameters: the function takes others of the same structure, shapes and types.
    rtol : float
        Relative tolerance of the result.
    atol : float or array
        Absolute tolerance: one number, or one for each element of x.
    max_steps : int
        Attempts at a step, rejected ones included.
    formula : {"ndf", "bdf"}
        Numerical differentiation formulas (L. F. Shampine, M. W. Reichelt), or the classical backward
        differentiation formulas; both of order 1 to 5.

    Returns
    -------
    callable
        `f(times, x0, xdot0, p) -> Trajectory`, from times[0] to times[-1]. A failure is a status: nothing
        is raised.

    Raises
    ------
    ValueError
        If there is no such formula.

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> from modia_py.solvers import Problem, make_trajectory
    >>> decay = Problem(lambda t, x, xdot, p: xdot + p * x, size=1, differential_rows=1)
    >>> run = jax.jit(make_trajectory(decay, 1.0))
    >>> found = run(jnp.array([0.0, 0.5, 1.0]), jnp.ones(1), -jnp.ones(1), 1.0)
    >>> found.x[:, 0].round(4).tolist()
    [1.0, 0.6065, 0.3679]
    """
    use_jax()
    pattern = pattern_of(problem, p)
    solver = DenseSolver(pattern)
    method = Method(problem, solver, pattern.directions, formula_of(formula, FORMULAS))
    tables = Tables(gather_tables(pattern), solver.tables, problem.slope_places)
    settings = make_settings(
        problem, method.formula, solver.keeps_pivots, t_end=0.0, rtol=rtol, atol=atol, max_steps=max_steps,
        max_order=5,
    )  # fmt: skip

    def started(times: jax.Array, x0: jax.Array, xdot0: jax.Array, p: Any) -> tuple[Context, State]:
        context = Context(method, tables, settings.until(times[-1]), p)
        here = jnp.stack([1.0, times[0], 0.0, 1.0])
        return context, start(context, Origin(here, x0, xdot0, NO_WORK))

    @one_by_one_on_cpu
    def run(times: jax.Array, x0: jax.Array, xdot0: jax.Array, p: Any) -> Trajectory:
        context, state = started(times, x0, xdot0, p)
        # Room for one row more than wanted, so that the loop ends with the interval and not with the room.
        good = state.number("status") == Status.RUNNING
        wanted = jnp.where(good, jnp.append(times, jnp.inf), jnp.inf)
        state, buffer, _ = run_chunk(context, state, wanted, jnp.asarray(max_steps, jnp.int32))
        return Trajectory(
            buffer.x[:-1], buffer.xdot[:-1], state.number("status"), buffer.rows, _counters(state.numbers)
        )

    @one_by_one_on_cpu
    def recorded(times: jax.Array, x0: jax.Array, xdot0: jax.Array, p: Any) -> Record:
        return record_steps(*started(times, x0, xdot0, p), max_steps)

    @jax.custom_jvp
    def trajectory(times: jax.Array, x0: jax.Array, xdot0: jax.Array, p: Any) -> Trajectory:
        return run(times, x0, xdot0, p)

    @trajectory.defjvp
    def of_recorded_steps(primals: Any, tangents: Any) -> tuple[Trajectory, Trajectory]:
        times = primals[0]
        found, record = trajectory(*primals), recorded(*primals)

        def made_again(x0: jax.Array, xdot0: jax.Array, p: Any) -> tuple[jax.Array, jax.Array]:
            context = Context(method, tables, settings.until(times[-1]), p)
            return replay(context, record, times[0], times, x0, xdot0)

        (x, _), slopes = jax.jvp(made_again, primals[1:], tangents[1:])
        # A run that has failed has no derivative to be believed.
        good = (found.status == Status.SUCCESS) & ~is_elsewhere(found.x, x)
        dx, dxdot = (forward_only(jnp.where(good, d, jnp.nan), BACKWARD) for d in slopes)
        nothing = jax.tree.map(lambda count: np.zeros(count.shape, jax.dtypes.float0), found)
        return found, nothing._replace(x=dx, xdot=dxdot)

    def is_elsewhere(run: jax.Array, again: jax.Array) -> jax.Array:
        tolerance = rtol * jnp.max(jnp.abs(run), axis=0) + jnp.asarray(atol)
        tested = ~problem.flags("integrals")
        return ~jnp.all((jnp.abs(again - run) <= ELSEWHERE * tolerance) | ~tested)

    def checked(times: Any, x0: Any, xdot0: Any, p: Any) -> Trajectory:
        vectors = (jnp.asarray(value, float) for value in (times, x0, xdot0))
        return trajectory(*vectors, p)

    return checked


def _counters(numbers: jax.Array) -> Counters:
    def count(name: str) -> jax.Array:
        return numbers[getattr(AT, name)].astype(jnp.int32)

    work = (count(name) for name in Work._fields)
    return Counters(  # type: ignore[call-arg]
        *work, histogram(numbers).astype(jnp.int32), count("limited_by_rounding")
    )
