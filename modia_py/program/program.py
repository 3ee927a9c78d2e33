"""A translated model as functions for the integrator, for one kind of inputs.

Everything that may change from run to run is an argument: `Arguments` holds the parameters and the data of
the inputs. What was compiled is in the cache of the program and used again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays.index1 import Slot
from ..arrays.structure import Integers
from ..arrays.transform import Transformation
from ..expressions.expression import Expr
from ..expressions.lanes import calls_lapack, calls_python, lanes
from ..language.flat_model import FlatModel
from ..lowering.event_functions import EventFunctions
from ..lowering.index1_functions import Index1Functions
from ..lowering.model_structure import ModelStructure
from ..plan.discretized import Discretized
from ..solvers import Problem
from ..solvers.compile_options import quick_jit
from .crossings import Crossings
from .events import ModelEvents, make_events
from .inlined_steps import inlined_steps
from .planned_residual import planned_residual
from .program_cache import ProgramCache
from .signals import Signals, held_time


class Arguments(NamedTuple):
    """The data of a run."""

    p: Any
    """[parameters | discrete values | those before an event]"""
    signals: Any
    events: Any = None
    """`events.EventData`, where there are events."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where things stand in x, xdot and w, element by element."""

    slot_of: Integers  # of each element of x
    element_of: Integers
    kind: Integers
    x_of_place: Integers  # the element of x that holds a place of w; -1 if none does
    xdot_of_place: Integers

    @property
    def integrals(self) -> np.ndarray:
        """Integrals of unknowns: x itself has no meaning there."""
        return np.isin(self.kind, (Slot.LAMBDA, Slot.MU))


def make_layout(transformed: Transformation, functions: Index1Functions) -> Layout:
    form, values = transformed.form, functions.value_map
    sizes = form.slot_size()
    slot_of = np.repeat(np.arange(len(sizes)), sizes)
    element_of = np.arange(len(slot_of)) - functions.slot_offset[slot_of]
    n, place = form.size, np.arange(values.zero + 1)
    x_of_place = np.where(place < n, place, -1)
    xdot_of_place = np.where((place >= n) & (place < 2 * n), place - n, -1)
    return Layout(slot_of, element_of, form.kind[slot_of], x_of_place, xdot_of_place)


@dataclass(frozen=True, eq=False)
class Program:
    """`problem` for the integrator, with `Arguments` as its parameters, and the values of all variables."""

    structure: ModelStructure
    transformed: Transformation
    functions: Index1Functions
    layout: Layout
    signals: Signals
    problem: Problem
    patterns: tuple[Any, Any] | None  # of the residual and of w: see `sparsity`
    crossings: Crossings | None = None
    events: ModelEvents | None = None
    is_repeatable: bool = True
    """Whether equal data give equal results: not where Python is called while the equations run."""
    cache: ProgramCache = field(default_factory=ProgramCache, repr=False)

    def inputs(self, t: Any, arguments: Arguments) -> Any:
        return self.signals.values(t, arguments.signals, self.functions.input_order)

    def values(self, t: Any, x: Any, xdot: Any, arguments: Arguments) -> Any:
        """All variables: see `value_map`."""
        x, xdot = x[: self.functions.size], xdot[: self.functions.size]
        return self.functions.values(t, x, xdot, arguments.p, self.inputs(t, arguments))

    def with_discretes(self, arguments: Arguments, d: Any) -> Arguments:
        """The data of a run with other discrete values, if there are any."""
        if self.events is None:
            return arguments
        return arguments._replace(p=self.events.with_discretes(arguments.p, d))

    def vectors(self, t: Any, w: Any, arguments: Arguments) -> dict[str, Any]:
        """What equations are evaluated from: see `node_equations`."""
        return {"time": t, "w": w, "p": arguments.p, "u": self.inputs(t, arguments)}

    def output_values(self, t: Any, x: Any, xdot: Any, d: Any, arguments: Arguments) -> Any:
        """All variables at many times, in one evaluation; with a row of discrete values for each time."""
        if self.cache.output_values is None:

            def values(t: Any, x: Any, xdot: Any, d: Any, arguments: Arguments) -> Any:
                return self.values(t, x, xdot, self.with_discretes(arguments, d))

            at_all_times = lanes(values, (0, 0, 0, 0, None), self.problem.one_by_one)
            self.cache.output_values = quick_jit(at_all_times, self.functions.size)
        return self.cache.output_values(t, x, xdot, d, arguments)

    def output_inputs(self, t: Any, arguments: Arguments) -> Any:
        """All inputs at many times."""
        return jax.vmap(self.inputs, (0, None))(jnp.asarray(t), arguments)


def make_program(
    structure: ModelStructure,
    transformed: Transformation,
    functions: Index1Functions,
    signals: Signals,
    patterns: tuple[Any, Any] | None = None,
    crossings: Crossings | None = None,
    event_functions: EventFunctions | None = None,
    discretized: Callable[[], Discretized | str] | None = None,
) -> Program:
    layout = make_layout(transformed, functions)
    events = None
    if event_functions is not None:
        events = make_events(event_functions, functions, signals, layout.kind)

    def residual(t: Any, x: Any, xdot: Any, arguments: Arguments) -> Any:
        if not functions.size:
            return xdot  # nothing moves but the time
        t = held_time(t, arguments.signals)
        u = signals.values(t, arguments.signals, functions.input_order)
        return functions.residual(t, x, xdot, arguments.p, u)

    def crossing_values(t: Any, x: Any, xdot: Any, arguments: Arguments) -> Any:
        assert crossings is not None
        t = held_time(t, arguments.signals)
        u = signals.values(t, arguments.signals, functions.input_order)
        w = functions.values(t, x, xdot, arguments.p, u)
        return crossings.values({"time": t, "w": w, "p": arguments.p, "u": u})

    problem = Problem(
        residual,
        max(1, functions.size),  # a model that is all assignments has no problem; see `run.evaluate_only`
        functions.differential_rows if functions.size else 1,
        integrals=_given(layout.integrals),
        multipliers=_given(layout.kind == Slot.MU),
        algebraic=_given(layout.kind == Slot.ALGEBRAIC),
        pattern=None if patterns is None or not functions.size else _both(patterns[0], functions.size),
        crossings=None if crossings is None else crossing_values,
        directions=None if crossings is None else crossings.directions,
        one_by_one=calls_lapack(_sides(structure.flat)),
        events=None if events is None else events.contract,
        planned=planned_residual(functions, signals, None if events is None else events.planned_crossings),
        inlined=None if discretized is None else lambda: inlined_steps(discretized(), functions, signals),
    )
    is_repeatable = not (signals.call_python or calls_python(_sides(structure.flat)))
    return Program(
        structure, transformed, functions, layout, signals, problem, patterns, crossings, events,
        is_repeatable,
    )  # fmt: skip


def _sides(flat: FlatModel) -> list[Expr]:
    equations = [flat_equation.equation for flat_equation in flat.equations]
    return [side for equation in equations for side in (equation.lhs, equation.rhs)]


def _given(flags: np.ndarray) -> np.ndarray | None:
    return flags if flags.size and flags.any() else None


def _both(pattern: Any, n: int) -> tuple[Any, Any]:
    """Entries of the iteration matrix: what depends on x or on xdot."""
    entries = (pattern[:, :n] + pattern[:, n:]).tocoo()
    return entries.row, entries.col
