"""Points of a run with a factorization, and the functions that derivatives at points are made of.

Compiled pieces take all data as arguments, so that other points compile nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModiaError
from ..program.program import Arguments, Program
from ..solvers.compile_options import quick_jit
from ..solvers.linear.contract import SingularMatrix
from ..solvers.loop.compiled import CompiledProblem
from ..solvers.matrix.jacobian import C_ZERO
from ..solvers.sensitivity.leaves import Leaves, take_apart
from ..solvers.sensitivity.lifted import Jets
from ..solvers.sensitivity.moves import Equations, Point, Values, after_impulse, impulse_error, slope

CONTRACTED = 1e-9
"""What may be left of an error in an impulse."""


class NoDerivative(ModiaError):
    """There is no derivative, and why."""


class Held(NamedTuple):
    """A point with the factors of its matrix for c = 0, and the data of the run there."""

    tables: Any
    factors: Any
    at: Point
    moving: Any
    others: Any


class LinearMaps:
    """Of one program, for derivatives by the parameters and the data of inputs."""

    def __init__(self, program: Program, compiled: CompiledProblem, example: Arguments, values: Values):
        self.program, self.compiled = program, compiled
        self.leaves = self.take_apart(example)
        size = program.problem.size

        def of_row(known: Any, x: Any, xdot: Any, moving: Any) -> Any:
            t, others = known
            return values(t, x, xdot, self.join(moving, others))

        def stop(known: Any, x: Any, moving: Any) -> Any:
            """Behind a stop: the same x, or the one behind an impulse."""
            held, jumps = known
            eq, t = self.equations(held), held.at.t
            if jumps is not None:
                x = after_impulse(eq, held.factors, held.at, t, x, moving)
            return x, slope(eq, held.factors, held.at, t, x, moving), moving, jnp.zeros(0)

        def flow(held: Held) -> Any:
            """The second derivative of x by time."""

            def xdot(t: Any, x: Any) -> Any:
                return slope(self.equations(held), held.factors, held.at, t, x, held.moving)

            t, x, rate = held.at
            return jax.jvp(xdot, (t, x), (jnp.ones_like(t), rate))[1]

        def error(held: Held, x_left: Any) -> Any:
            return impulse_error(self.equations(held), held.factors, held.at, x_left)

        def jit(function: Callable[..., Any]) -> Callable[..., Any]:
            return quick_jit(function, size)

        self.jit = jit
        self.values, self.stop = Jets(of_row, jit), Jets(stop, jit)
        self.flow, self._error = jit(flow), jit(error)

    @staticmethod
    def take_apart(arguments: Arguments) -> Leaves:
        """What can move: parameters, discrete values, and the data of inputs."""
        may_move = jax.tree.map(lambda _: False, arguments)
        inputs = jax.tree.map(lambda _: True, arguments.signals.each)
        may_move = may_move._replace(p=True, signals=may_move.signals._replace(each=inputs))
        return take_apart(arguments, may_move)

    def parts(self, arguments: Arguments) -> tuple[Any, Any]:
        """(moving, others)"""
        leaves = self.take_apart(arguments)
        return tuple(jnp.asarray(leaf, float) for leaf in leaves.moving), leaves.others

    def moving_of(self, arguments: Arguments) -> Any:
        return self.take_apart(arguments).moving

    def join(self, moving: Any, others: Any) -> Arguments:
        return self.leaves.join(moving, others)

    def equations(self, held: Held) -> Equations:
        own = self.leaves._replace(moving=held.moving, others=held.others)
        return Equations(self.compiled.method, held.tables, own)

    def point(self, at: Point) -> Point:
        """As arrays of JAX, of the size of the problem."""
        x, xdot = (jnp.asarray(np.resize(part, self.program.problem.size)) for part in (at.x, at.xdot))
        return Point(jnp.asarray(at.t, float), x, xdot)

    def hold(self, at: Point, arguments: Arguments, keep: list[Any]) -> Held:
        """The matrix at a point, factorized. `keep`: takes what owns the memory of the factors."""
        at = self.point(at)
        solver = self.compiled.method.solver.twin()  # with factors of its own
        keep.append(solver)
        tables = self.compiled.tables._replace(solver=solver.tables)
        values = self.compiled.matrix(tables.gather, *at, arguments, jnp.asarray(C_ZERO))
        try:
            factors = solver.prepare(values)
        except SingularMatrix:
            raise NoDerivative(f"The equations are singular at time {float(at.t):.9g}.") from None
        return Held(tables, factors, at, *self.parts(arguments))

    def check_impulse(self, held: Held, x_left: Any) -> None:
        """Complain where derivatives of an impulse would not be exact."""
        if not self._error(held, jnp.asarray(x_left)) <= CONTRACTED:
            raise NoDerivative(
                f"The impulse at time {float(held.at.t):.9g} changes masses by so much that its derivative "
                f"was not found."
            )
