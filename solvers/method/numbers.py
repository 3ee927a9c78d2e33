"""The numbers of a state and those of a run, each in one vector, read by name.

XLA handles every single number of a loop with an operation of its own, and every call from Python pays for
every array; in two vectors, numbers cost nothing. The names are the same in JAX, in native code, and on the
host: `AT.h` is the place of h in the vector of a state, `Numbers(*vector.tolist()).h` its value.

To add a number to the state, add its name here; one that is counted at every attempt is a field of
`controller.Work` and nothing else.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from .coefficients import MAX_ORDER
from .controller import Control, StepLimits, Work

NEW_MATRIX = (
    "matrix_c", "age", "rate", "usable", "finite_matrix", "iterating",
    "rounding_matters", "rounding_largest", "rounding_c", "rounding_rest",
)  # fmt: skip
"""What a new matrix sets, beside each other, because it is set together: its c, age, rate of convergence;
whether it is good for anything, finite, and the corrector may use it; how near rounding is to the tolerance
(`rounding.Rounding`)."""

ATTEMPT = (
    "t_new", "c", "needed",
    "iteration", "size", "size_of_d", "finite", "converged",
    "inevitable", "foreseen", "limited", "limited_element_now",
    "accepted", "restart", "unsolved",
)  # fmt: skip
"""About the attempt that native code is working on; nothing else looks at them. `unsolved` says that the
stages of inline integration could not make it, with new matrices."""

WHOLE_MATRIX = ("whole_c",)
"""c of the whole matrix, where native code makes steps by stages: matrix_c is that of their small ones."""

LAST_STEP = ("last_step",)
"""Size of the step that was accepted last."""

LAST_ERROR = ("last_error",)
"""Its error in units of the tolerance, where the method looks at the trend of errors; zero at a start."""

START = ("violation",)
"""By how many tolerances x was off the constraints where the run started."""

HISTOGRAM = tuple(f"steps_of_order_{order}" for order in range(MAX_ORDER + 1))
COUNTS = (*Work._fields, "limited_by_rounding", "limited_element", "corrected_whole", *HISTOGRAM)
"""What is counted on over restarts; `limited_element` is which element of x was limited by rounding
last, `corrected_whole` are attempts of inline integration that were left to the whole corrector."""

NUMBERS = (
    *(name for name in Control._fields if name not in NEW_MATRIX),
    *NEW_MATRIX,
    *ATTEMPT,
    *WHOLE_MATRIX,
    *LAST_STEP,
    *LAST_ERROR,
    *START,
    *COUNTS,
)
"""Names of a state's numbers in the order of the vector."""

LIMITS = (
    *StepLimits._fields,
    "rtol", "strictness", "smallest_rate", "is_large", "keeps_pivots", "first_step_factor",
    *(f"leading_{order}" for order in range(MAX_ORDER + 1)),
    *(f"error_constant_{order}" for order in range(MAX_ORDER + 1)),
)  # fmt: skip
"""Names of a run's numbers (`settings`)."""

Numbers: Any = namedtuple("Numbers", NUMBERS)  # type: ignore[misc]
AT: Any = Numbers(*range(len(NUMBERS)))
Limits: Any = namedtuple("Limits", LIMITS)  # type: ignore[misc]
LIMIT_AT: Any = Limits(*range(len(LIMITS)))

INTEGERS = frozenset(
    {"order", "equal_steps", "failures", "attempts", "status", "age", "max_steps", "max_order"}
)
FLAGS = frozenset({"outdated", "pivots_are_new"})
"""What numbers are where they are taken out of the vector; all others are floating-point numbers."""
