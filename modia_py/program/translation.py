"""What translating a model has found: shared by all models of one fingerprint."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..arrays.singularity_result import MISSING_GROUND
from ..arrays.structure import Integers
from ..arrays.transform import Transformation, transform
from ..lowering.event_functions import EventFunctions, event_functions, has_events
from ..lowering.index1_functions import Index1Functions, index1_functions
from ..lowering.model_structure import ModelStructure
from ..lowering.planned import with_plans, without_native_code
from ..lowering.sparsity import sparsity
from ..plan.discretized import Discretized
from .crossings import Crossings
from .inlined_steps import discretized_equations
from .program import Program, make_program
from .signals import Signals

FEWEST_UNKNOWNS = 1000
"""From this size on, patterns come from the terms of the equations."""
SECOND_PATH = "are there two ways without resistance between the same places, such as two grounds?"
"""Of a flow: nothing says how much takes the one, and how much the other."""
MOST_PROGRAMS = 16
"""Programs kept for one model, one for each choice of input functions."""


@dataclass(eq=False)
class TranslationCache:
    """None, or no entry, where nobody has asked yet."""

    programs: dict[Any, Program] = field(default_factory=dict)
    """One for each choice of input functions, in the order in which they were made."""
    patterns: tuple[Any, Any] | None = None
    """Patterns of a large model: see `sparsity`."""
    without_native_code: dict[Any, Program] = field(default_factory=dict)
    """The same programs for derivatives that go backward."""
    derivatives: dict[Any, Any] = field(default_factory=dict)
    """Derivatives of runs, for some outputs each (`studies.run_derivative`)."""
    plain: Translation | None = None
    """The same without tearing."""
    linear_solver: str | None = None
    """What the last run has chosen, and why."""
    compile_seconds: float | None = None
    """Spent by XLA in all runs so far."""


@dataclass(frozen=True, eq=False)
class Translation:
    """The stages of a model from its structure to its index-1 functions, and the seconds they took."""

    structure: ModelStructure
    transformed: Transformation
    functions: Index1Functions
    seconds: dict[str, float]
    switched: Integers | None = None
    """Flags of equations that may become constraints at an event."""
    crossings: Crossings | None = None
    cache: TranslationCache = field(default_factory=TranslationCache, repr=False)

    def program(self, signals: Signals) -> Program:
        """The functions for a kind of inputs, kept with all that was compiled for it."""
        programs = self.cache.programs
        if signals.key not in programs:
            if len(programs) >= MOST_PROGRAMS:
                del programs[next(iter(programs))]
            programs[signals.key] = make_program(
                self.structure,
                self.transformed,
                self.functions,
                signals,
                self.patterns(),
                self.crossings,
                self.event_functions,
                lambda: self.discretized,
            )
        return programs[signals.key]

    def program_without_native_code(self, signals: Signals) -> Program:
        """The same functions, evaluated by JAX alone: it can differentiate them backward."""
        programs = self.cache.without_native_code
        if signals.key not in programs:
            if len(programs) >= MOST_PROGRAMS:
                del programs[next(iter(programs))]
            programs[signals.key] = make_program(
                self.structure,
                self.transformed,
                without_native_code(self.functions),
                signals,
                self.patterns(),
                self.crossings,
                self.event_functions,
            )
        return programs[signals.key]

    @cached_property
    def discretized(self) -> Discretized | str:
        """The equations of a step sorted into stages, or why they are not."""
        return discretized_equations(self.structure, self.transformed, self.functions)

    @cached_property
    def event_functions(self) -> EventFunctions | None:
        """What happens at events; None if there are none."""
        flat = self.structure.flat
        return event_functions(flat, self.functions.value_map) if has_events(flat) else None

    def patterns(self) -> Any:
        """Patterns of a large model, from its terms; small ones are found by following the program."""
        plans = self.functions.plans
        if plans is None and self.functions.size < FEWEST_UNKNOWNS:
            return None
        if self.cache.patterns is None:
            if plans is not None:
                self.cache.patterns = plans.patterns()
            else:
                self.cache.patterns = sparsity(self.structure, self.transformed, self.functions)
        return self.cache.patterns

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know of equations and variables that were removed."""
        left_over = [
            loop.left_over(self.transformed.structure)
            for loop in self.transformed.loops
            if not loop.is_complete
        ]
        return (*self.transformed.simplified.warnings(self.question), *left_over)

    def question(self, variable: int) -> str:
        """What to ask about a variable that nothing determines."""
        model = self.structure
        is_flow = model.flat.variables[int(model.variable_of[variable])].symbol.is_flow
        return SECOND_PATH if is_flow else MISSING_GROUND

    def note_run(self, linear_solver: str, compile_seconds: float) -> None:
        """Remember what a report wants to say of the runs so far."""
        self.cache.linear_solver = linear_solver
        self.cache.compile_seconds = (self.cache.compile_seconds or 0.0) + compile_seconds

    def plain(self) -> Translation:
        """The same without tearing: every state is in x, as the impulse equations need it."""
        if not len(self.transformed.form.local_equations):
            return self
        if self.cache.plain is None:
            structure = self.structure
            transformed = transform(
                structure.structure,
                structure.integers,
                structure.integer_rows,
                keep=structure.has_start,
                tearing=False,
                switched=self.switched,
            )
            functions = with_plans(structure, index1_functions(structure, transformed))
            self.cache.plain = Translation(structure, transformed, functions, {}, self.switched)
        return self.cache.plain
