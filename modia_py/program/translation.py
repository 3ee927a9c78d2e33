"""What translating a model has found: shared by all models of one fingerprint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..arrays.transform import Transformation, transform
from ..lowering.index1_functions import Index1Functions, index1_functions
from ..lowering.model_structure import ModelStructure
from ..lowering.planned import with_plans
from ..lowering.sparsity import sparsity
from .program import Program, make_program
from .signals import Signals

FEWEST_UNKNOWNS = 1000
"""From this size on, patterns come from the terms of the equations."""
MOST_PROGRAMS = 16
"""Programs kept for one model, one for each choice of input functions."""


@dataclass(frozen=True, eq=False)
class Translation:
    structure: ModelStructure
    result: Transformation
    functions: Index1Functions
    seconds: dict[str, float]
    programs: dict[Any, Program] = field(default_factory=dict, repr=False)
    kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def program(self, signals: Signals) -> Program:
        """The functions for a kind of inputs, kept with all that was compiled for it."""
        if signals.key not in self.programs:
            if len(self.programs) >= MOST_PROGRAMS:
                del self.programs[next(iter(self.programs))]
            self.programs[signals.key] = make_program(
                self.structure, self.result, self.functions, signals, self.patterns()
            )
        return self.programs[signals.key]

    def patterns(self) -> Any:
        """Patterns of a large model, from its terms; small ones are found by following the program."""
        plans = self.functions.plans
        if plans is None and self.functions.size < FEWEST_UNKNOWNS:
            return None
        if "patterns" not in self.kept:
            if plans is not None:
                self.kept["patterns"] = plans.patterns()
            else:
                self.kept["patterns"] = sparsity(self.structure, self.result, self.functions)
        return self.kept["patterns"]

    def note_run(self, linear_solver: str, compile_seconds: float) -> None:
        """Remember what a report wants to say of the runs so far."""
        self.kept["linear_solver"] = linear_solver
        self.kept["compile_seconds"] = self.kept.get("compile_seconds", 0.0) + compile_seconds

    def plain(self) -> Translation:
        """The same without tearing: every state is in x, as the impulse equations need it."""
        if not len(self.result.form.local_equations):
            return self
        if "plain" not in self.kept:
            structure = self.structure
            result = transform(
                structure.structure,
                structure.integers,
                structure.integer_rows,
                keep=structure.has_start,
                tearing=False,
            )
            functions = with_plans(structure, index1_functions(structure, result))
            self.kept["plain"] = Translation(structure, result, functions, {})
        return self.kept["plain"]
