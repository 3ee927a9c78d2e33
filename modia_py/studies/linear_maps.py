"""Linear maps at single points of a run: slopes and impulses, with a factorization for each point.

They are made of compiled pieces that take all data as arguments, so that other points compile nothing; and
JAX transposes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
from ..solvers.sensitivity.moves import (
    Equations,
    Point,
    Values,
    consistent_xdot,
    tangent_of_impulse,
    tangent_of_values,
)


class NoDerivative(ModiaError):
    """There is no derivative, and why."""


class LinearMaps:
    """Of one program, for derivatives by the parameters and the data of inputs."""

    def __init__(self, program: Program, compiled: CompiledProblem, example: Arguments, values: Values):
        self.program, self.compiled = program, compiled
        self.leaves = self.take_apart(example)
        size = program.problem.size

        def equations(tables: Any, moving: Any, others: Any) -> Equations:
            return Equations(compiled.method, tables, self.leaves._replace(moving=moving, others=others))

        def slope(
            tables: Any, moving: Any, others: Any, factors: Any, at: Point, dx: Any, dp: Any, dt: Any
        ) -> Any:
            return consistent_xdot(equations(tables, moving, others), factors, at, dx, dp, dt)

        def impulse(
            tables: Any, moving: Any, others: Any, factors: Any, at: Point, x_left: Any, dx: Any, dp: Any,
            dt: Any,
        ) -> Any:  # fmt: skip
            return tangent_of_impulse(equations(tables, moving, others), factors, at, x_left, dx, dp, dt)

        def of_values(
            tables: Any, moving: Any, others: Any, at: Point, dx: Any, dxdot: Any, dp: Any
        ) -> Any:
            return tangent_of_values(equations(tables, moving, others), values, at, dx, dxdot, dp)

        self.slope, self.impulse = quick_jit(slope, size), quick_jit(impulse, size)
        self.values = quick_jit(of_values, size)

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

    def point(self, at: Point) -> Point:
        """As arrays of JAX, of the size of the problem."""
        x, xdot = (jnp.asarray(np.resize(part, self.program.problem.size)) for part in (at.x, at.xdot))
        return Point(jnp.asarray(at.t, float), x, xdot)

    def at(self, at: Point, arguments: Arguments) -> Place:
        """The maps at a point."""
        solver = self.compiled.method.solver.twin()  # with factors of its own
        tables = self.compiled.tables._replace(solver=solver.tables)
        values = self.compiled.matrix(tables.gather, *at, arguments, jnp.asarray(C_ZERO))
        try:
            factors = solver.prepare(values)
        except SingularMatrix:
            raise NoDerivative(f"The equations are singular at time {float(at.t):.9g}.") from None
        return Place(self, at, tables, *self.parts(arguments), factors, solver)


@dataclass(frozen=True, eq=False)
class Place:
    """A point with its factorization. `solver` is kept for the memory that its factors live in."""

    maps: LinearMaps
    point: Point
    tables: Any
    moving: Any
    others: Any
    factors: Any
    solver: Any

    def slope(self, dx: Any, dp: Any, dt: Any) -> Any:
        """The tangent of xdot."""
        data = self.tables, self.moving, self.others, self.factors, self.point
        return self.maps.slope(*data, dx, dp, dt)

    def impulse(self, x_left: Any, dx: Any, dp: Any, dt: Any) -> Any:
        """The tangent of x, found from x_left by the impulse equations."""
        data = self.tables, self.moving, self.others, self.factors, self.point
        return self.maps.impulse(*data, jnp.asarray(x_left), dx, dp, dt)
