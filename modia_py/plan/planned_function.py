"""A function of vectors as a plan that JAX can call, differentiate and map.

    f = planned(function, sizes)        function is evaluated once, on nodes (`graph_array.trace`)
    f(t, x, xdot, p, u)                 vectors of these sizes

On a CPU native code reads the plan. Derivatives are forward, of any order: the tangent of a plan is a
linear system in data (`derivatives.linearize`), and as more nodes a plan again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from ..solvers.shared_programs import as_data
from ..solvers.xla.register import Handlers, why_not
from .derivatives import Linearization, dependencies, linearize, tangents
from .graph import Graph, Piece
from .graph_array import trace
from .in_jax import evaluate_in_jax
from .plan import Plan, make_plan

Active = tuple[bool, ...]


def is_native() -> bool:
    """Whether native code reads plans here."""
    return not why_not(_handlers)


def _handlers() -> Handlers:
    from .handlers import HANDLERS

    return HANDLERS


def makes_steps() -> bool:
    """Whether native code makes whole steps with plans here."""
    return is_native() and not why_not(_step_handlers)


def _step_handlers() -> Handlers:
    from .step_handler import HANDLERS

    return HANDLERS


def own_numbers(array: Any) -> np.ndarray:
    """An array as native functions take it: of floating-point numbers, in one piece, and not read-only."""
    return np.require(array, float, ("C", "W"))


class PlannedFunction:
    """The nodes `roots` of a graph as a function of vectors, whose sizes add up to the graph's inputs."""

    pieces: tuple[Piece, ...] = ()

    def __init__(self, graph: Graph, roots: np.ndarray, sizes: Sequence[int]):
        self.graph, self.roots, self.sizes = graph, np.asarray(roots, np.int64), tuple(sizes)
        self._linear: dict[Active, tuple[Linearization, Plan]] = {}
        self._tangents: dict[Active, PlannedFunction] = {}
        self._call = self._differentiable()

    @cached_property
    def plan(self) -> Plan:
        return make_plan(self.graph, self.roots)

    @cached_property
    def encoded(self) -> tuple[np.ndarray, np.ndarray]:
        """The plan as native code reads it: words, and constants."""
        from . import native

        return as_data(native.encode(self.plan)), as_data(np.asarray(self.plan.constants, float))

    def encoded_linearization(self, active: Active) -> tuple[np.ndarray, np.ndarray]:
        """The same of the derivative by some of the vectors."""
        from . import native

        linear, plan = self.linearization(active)
        return as_data(native.encode(plan, linear)), as_data(np.asarray(plan.constants, float))

    @property
    def rows(self) -> int:
        return len(self.roots)

    def __call__(self, *vectors: Any) -> Any:
        return self._call(*(jnp.asarray(vector, float) for vector in vectors))

    def in_jax(self, *vectors: Any) -> Any:
        """The same evaluated by JAX, which can go backward through it."""
        return evaluate_in_jax(self.plan, [jnp.asarray(vector, float) for vector in vectors])

    def pattern(self, active: Active) -> Any:
        """Where the derivative by some of the vectors may be nonzero: a sparse matrix of ones."""
        return dependencies(self.linearization(active)[0])

    def linearization(self, active: Active) -> tuple[Linearization, Plan]:
        """The derivative by some of the vectors, and the plan of its coefficients."""
        if active not in self._linear:
            flags = np.repeat(active, self.sizes)
            linear = linearize(self.graph, self.roots, flags)
            self._linear[active] = linear, make_plan(self.graph, linear.coefficient)
        return self._linear[active]

    def tangent_function(self, active: Active) -> PlannedFunction:
        """The tangent as a function of the vectors, and then of the tangents of the active ones."""
        if active not in self._tangents:
            graph, first = self.graph, sum(self.sizes)
            places = np.flatnonzero(np.repeat(active, self.sizes))
            other = graph.copy()
            seeds = {other.input(int(place)): other.input(first + k) for k, place in enumerate(places)}
            roots = tangents(other, self.roots, seeds)
            other.inputs = first + len(places)
            sizes = (*self.sizes, *(size for size, moves in zip(self.sizes, active, strict=True) if moves))
            self._tangents[active] = PlannedFunction(other, roots, sizes)
        return self._tangents[active]

    def _differentiable(self) -> Callable[..., Any]:
        @jax.custom_jvp
        def call(*vectors: Any) -> Any:
            return self._evaluate(vectors)

        def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
            zero = jax.custom_derivatives.SymbolicZero
            active = tuple(not isinstance(tangent, zero) for tangent in tangents)
            moving = [tangent for tangent in tangents if not isinstance(tangent, zero)]
            value = call(*primals)
            if not any(active):
                return value, jnp.zeros_like(value)
            return value, self._push(active)(*primals, *moving)

        call.defjvp(rule, symbolic_zeros=True)
        return call

    def _push(self, active: Active) -> Callable[..., Any]:
        """The tangent; its own derivative is that of `tangent_function`."""

        @jax.custom_jvp
        def push(*vectors: Any) -> Any:
            count = len(self.sizes)
            return self._evaluate_tangent(active, vectors[:count], vectors[count:])

        def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
            zero = jax.custom_derivatives.SymbolicZero
            again = tuple(not isinstance(tangent, zero) for tangent in tangents)
            moving = [tangent for tangent in tangents if not isinstance(tangent, zero)]
            value = push(*primals)
            if not any(again):
                return value, jnp.zeros_like(value)
            return value, self.tangent_function(active)._push(again)(*primals, *moving)

        push.defjvp(rule, symbolic_zeros=True)
        return push

    def _evaluate(self, vectors: Sequence[Any]) -> Any:
        if not is_native():
            return evaluate_in_jax(self.plan, vectors)
        from . import handlers

        return _foreign(handlers.EVALUATE, self.rows)(*self.encoded, *vectors)

    def _evaluate_tangent(self, active: Active, vectors: Sequence[Any], moving: Sequence[Any]) -> Any:
        if not is_native():
            return evaluate_in_jax(self.tangent_function(active).plan, [*vectors, *moving])
        from . import handlers

        count = np.zeros(len(self.sizes))
        encoded = self.encoded_linearization(active)
        return _foreign(handlers.PUSH, self.rows)(*encoded, count, *vectors, *moving)


def _foreign(target: str, rows: int) -> Callable[..., Any]:
    shape = jax.ShapeDtypeStruct((rows,), np.float64)
    return jax.ffi.ffi_call(target, shape, vmap_method="expand_dims")


class MixedFunction:
    """A plan with pieces of JAX between its nodes: each piece is given what plans compute, and its results
    are one more vector of theirs."""

    def __init__(self, graph: Graph, roots: np.ndarray, sizes: Sequence[int]):
        self.sizes, self.pieces = tuple(sizes), tuple(graph.pieces)
        own = (*sizes, sum(piece.size for piece in self.pieces))
        self._main = PlannedFunction(graph, roots, own)
        self._arguments = [PlannedFunction(graph, piece.arguments, own) for piece in self.pieces]

    @property
    def plan(self) -> Plan:
        return self._main.plan

    def __call__(self, *vectors: Any) -> Any:
        return self._evaluate(lambda function: function, vectors)

    def in_jax(self, *vectors: Any) -> Any:
        """The same evaluated by JAX, which can go backward through it."""
        return self._evaluate(lambda function: function.in_jax, vectors)

    def _evaluate(self, how: Callable[[PlannedFunction], Callable[..., Any]], vectors: Any) -> Any:
        found, left = jnp.zeros(0), sum(piece.size for piece in self.pieces)
        for piece, arguments in zip(self.pieces, self._arguments, strict=True):
            given = how(arguments)(*vectors, jnp.concatenate([found, jnp.zeros(left)]))
            found, left = jnp.concatenate([found, piece.function(given)]), left - piece.size
        return how(self._main)(*vectors, found)

    def pattern(self, active: Active) -> sparse.csr_array:
        """Where the derivative by some of the vectors may be nonzero; a piece depends on all its
        arguments."""
        known = sum(size for size, moves in zip(self.sizes, active, strict=True) if moves)
        left = sum(piece.size for piece in self.pieces)
        results = sparse.csr_array((left, known))
        for piece, arguments in zip(self.pieces, self._arguments, strict=True):
            by = arguments.pattern((*active, True))
            given = by[:, :known] + by[:, known:] @ results
            first = piece.first - sum(self.sizes)
            one = sparse.csr_array(np.ones((piece.size, given.shape[0])))
            before, behind = first, left - first - piece.size
            blank = [sparse.csr_array((rows, known)) for rows in (before, behind)]
            results = results + sparse.vstack([blank[0], one @ given, blank[1]])
        by = self._main.pattern((*active, True))
        found = sparse.csr_array(by[:, :known] + by[:, known:] @ results)
        found.data[:] = 1.0
        return found


def planned(function: Callable[..., Any], sizes: Sequence[int]) -> PlannedFunction | MixedFunction:
    """The plan of a function of vectors of these sizes; `CannotPlan` where it is better left to XLA."""
    graph, roots = trace(function, sizes)
    return MixedFunction(graph, roots, sizes) if graph.pieces else PlannedFunction(graph, roots, sizes)
