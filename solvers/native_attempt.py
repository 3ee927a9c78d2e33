"""One attempt at a step with native code for all but the equations: what `attempt` does, in fewer passes.

XLA evaluates residuals and matrices; everything between them is a few calls of `native_kernels`, which work
in place. Numbers travel in one vector (`native_layout`). This is for runs on a CPU; `attempt` is the same
method for any device.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .decisions import LARGE, UNKNOWN_RATE, Limits, Position, Work
from .jacobian import fd_rows
from .linear import Factors
from .native_layout import LIMITS, NUMBERS, at
from .newton import smallest_rate
from .projection import onto_constraints
from .renewal import Method, Tables, new_matrix
from .rounding import Rounding
from .state import Counters, Matrix, Settings, State
from .step import Prediction
from .table import begin_again, once


@cache
def is_available() -> bool:
    """Whether there are native functions, and XLA takes them."""
    if jax.default_backend() != "cpu":
        return False
    try:
        from . import foreign
        from .native_handlers import HANDLERS
    except (ImportError, RuntimeError):  # no numba for this Python, or no place for what it compiles
        return False
    return foreign.register(HANDLERS)


class Run(NamedTuple):
    """What does not change during a chunk."""

    method: Method
    tables: Tables
    settings: Settings
    limits: jax.Array
    p: Any


class Now(NamedTuple):
    """The state of a run, with the prediction for the next attempt."""

    numbers: jax.Array
    table: jax.Array
    xdot: jax.Array
    x: jax.Array
    """Where the residual is to be evaluated,"""
    slope: jax.Array
    """with this derivative."""
    weights: jax.Array
    d: jax.Array
    factors: Factors
    rounding: Rounding
    sides: jax.Array
    crossed: jax.Array

    def number(self, name: str) -> jax.Array:
        return self.numbers[at(name)]


def limits_of(method: Method, settings: Settings) -> jax.Array:
    """The vector of numbers of a run."""
    of_run = {
        **{name: getattr(settings, name) for name in (*Limits._fields, "rtol", "strictness")},
        "smallest_rate": smallest_rate(method.problem.size),
        "is_large": method.problem.size >= LARGE,
        "keeps_pivots": method.solver.keeps_pivots,
        **{f"leading_{k}": value for k, value in enumerate(method.formula.leading)},
        **{f"error_constant_{k}": value for k, value in enumerate(method.formula.error_constants)},
    }
    return jnp.stack([jnp.asarray(of_run[name], float) for name in LIMITS])


def from_state(run: Run, state: State) -> Now:
    known = {
        **{name: getattr(state, name) for name in Position._fields if name not in Matrix._fields},
        **{name: getattr(state.matrix, name) for name in Position._fields if name in Matrix._fields},
        **{name: getattr(state.counters, name) for name in Work._fields},
        "matrix_c": state.matrix.c,
        "limited_by_rounding": state.counters.limited_by_rounding,
        "limited_element": state.counters.limited_element,
        **{f"steps_of_order_{k}": count for k, count in enumerate(state.counters.order_histogram)},
    }
    numbers = jnp.stack([jnp.asarray(known.get(name, 0.0), float) for name in NUMBERS])
    n = run.method.problem.size
    vector = jnp.zeros(n)
    now = Now(
        numbers, state.differences, state.xdot, vector, vector, vector, vector, state.matrix.factors,
        state.matrix.rounding, state.sides, state.crossed,
    )  # fmt: skip
    return _begin(run, now)


def to_state(now: Now) -> State:
    def numbers(kind: Any, without: tuple[str, ...] = ()) -> dict[str, jax.Array]:
        names = [name for name in kind._fields if name in NUMBERS and name not in without]
        return {name: now.number(name).astype(_KINDS.get(name, jnp.int32)) for name in names}

    histogram = jnp.stack([now.number(name) for name in NUMBERS if name.startswith("steps_of_order")])
    matrix = Matrix(
        factors=now.factors, c=now.number("matrix_c"), rounding=now.rounding, **numbers(Matrix, ("c",))
    )
    counters = Counters(**numbers(Counters), order_histogram=histogram.astype(jnp.int32))
    return State(
        differences=now.table, xdot=now.xdot, matrix=matrix, counters=counters, sides=now.sides,
        crossed=now.crossed, **numbers(State),
    )  # fmt: skip


def with_crossings(now: Now, state: State) -> Now:
    """What was found by looking for crossings."""
    numbers = now.numbers
    for name in ("reached", "status"):
        told = getattr(state, name).astype(float)[None]
        numbers = jax.lax.dynamic_update_slice(numbers, told, (at(name),))
    return now._replace(numbers=numbers, sides=state.sides, crossed=state.crossed)


_KINDS = {
    **dict.fromkeys(("t", "h", "reached", "rate"), float),
    **dict.fromkeys(("outdated", "pivots_are_new"), bool),
}
"""Of numbers that are not counted."""


def attempt_natively(run: Run, now: Now) -> Now:
    """One attempt at a step."""
    now = _renew_matrix(run, now)
    now = _weigh(run, now)
    now = _correct(run, now)
    now = _finish(run, now)
    return _begin_again(run, now)


def _call(name: str, *given: jax.Array, changed: tuple[jax.Array, ...]) -> Any:
    """A native function that reads some arrays and works on others in place."""
    shapes = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in changed]
    aliases = {len(given) + k: k for k in range(len(changed))}
    return jax.ffi.ffi_call(name, shapes, input_output_aliases=aliases)(*given, *changed)


def _begin(run: Run, now: Now) -> Now:
    vector = jax.ShapeDtypeStruct(now.x.shape, now.x.dtype)
    shapes = [vector, vector, vector, jax.ShapeDtypeStruct(now.numbers.shape, now.numbers.dtype)]
    call = jax.ffi.ffi_call("modia_py_begin", shapes)
    x, slope, weights, numbers = call(
        now.table, run.settings.atol, run.settings.tightness, now.numbers, run.limits
    )
    return now._replace(x=x, slope=slope, weights=weights, numbers=numbers)


def _renew_matrix(run: Run, now: Now) -> Now:
    def renew(
        what: tuple[Factors, Rounding, jax.Array],
    ) -> tuple[Factors, Rounding, jax.Array]:
        factors, rounding, numbers = what
        new = new_matrix(
            run.method, run.tables, run.settings, run.p, now.number("t_new"), Prediction(now.x, now.slope),
            now.number("c"), factors, rounding, numbers[at("matrix_c")], now.number("attempts"),
        )  # fmt: skip
        usable, finite = new.usable.astype(float), new.finite.astype(float)
        # matrix_c, age, rate, usable, finite_matrix, iterating: they are beside each other.
        told = jnp.stack([now.number("c"), 0.0, UNKNOWN_RATE, usable, finite, usable])
        numbers = jax.lax.dynamic_update_slice(numbers, told, (at("matrix_c"),))
        return new.factors, new.rounding, numbers

    what = now.factors, now.rounding, now.numbers
    factors, rounding, numbers = once(now.number("needed") != 0, renew, what)
    return now._replace(factors=factors, rounding=rounding, numbers=numbers)


def _weigh(run: Run, now: Now) -> Now:
    def weigh(what: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        levels, asked = (now.rounding.of_constraints, now.rounding.of_slopes), run.settings
        return tuple(
            _call(
                "modia_py_weigh", now.table, asked.atol, asked.tightness, *levels, run.limits, changed=what
            )
        )

    weights, numbers = once(now.rounding.matters, weigh, (now.weights, now.numbers))
    return now._replace(weights=weights, numbers=numbers)


def _correct(run: Run, now: Now) -> Now:
    method, is_fd = run.method, fd_rows(run.method.problem)
    levels = now.rounding.of_constraints, now.rounding.of_slopes
    of_slopes = run.tables.slope_places, run.settings.slope_atol, *levels

    def iterate(what: Any) -> Any:
        _, x, slope, numbers = what
        c = numbers[at("c")]
        residual = method.problem.residual(numbers[at("t_new")], x, slope, run.p)
        delta = method.solver.solve(
            run.tables.solver, now.factors, jnp.where(is_fd, -c * residual, -residual)
        )
        weights = now.weights, run.settings.tightness
        return tuple(_call("modia_py_iterate", delta, run.limits, *weights, *of_slopes, changed=what))

    def unfinished(what: Any) -> jax.Array:
        return what[-1][at("iterating")] != 0

    what = now.d, now.x, now.slope, now.numbers
    d, x, slope, numbers = jax.lax.while_loop(unfinished, iterate, what)
    return now._replace(d=d, x=x, slope=slope, numbers=numbers)


def _finish(run: Run, now: Now) -> Now:
    changed = now.table, now.weights, now.x, now.slope, now.xdot, now.numbers
    table, weights, x, slope, xdot, numbers = _call(
        "modia_py_finish", now.d, run.limits, run.settings.atol, run.settings.tightness, changed=changed
    )
    return now._replace(table=table, weights=weights, x=x, slope=slope, xdot=xdot, numbers=numbers)


def _begin_again(run: Run, now: Now) -> Now:
    """After too many failures x is projected onto the constraints, and the past forgotten."""

    def begin(now: Now) -> Now:
        def project(x: jax.Array) -> jax.Array:
            return onto_constraints(
                run.method, run.tables, run.p, now.number("t"), x, now.xdot, now.number("matrix_c"),
                now.factors, now.weights,
            )  # fmt: skip

        yes = jnp.ones((), bool)
        return _begin(
            run, now._replace(table=begin_again(now.table, now.number("h"), now.xdot, yes, project))
        )

    return once(now.number("restart") != 0, begin, now)
