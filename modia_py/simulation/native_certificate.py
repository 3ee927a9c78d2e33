"""The certificate of models that are plans: `worst_rows` with what it needs of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..expressions.lanes import lanes
from ..lowering.written_equations import WrittenEquations
from ..plan.planned_function import PlannedFunction, own_numbers
from ..program.program import Program
from ..solvers.compile_options import quick_jit
from .outputs import Span


class NativeCertificate:
    """The worst row at each time of a span; `directions` are what is tried, the first is zero."""

    def __init__(self, program: Program, written: WrittenEquations, directions: np.ndarray):
        plans = program.functions.plans
        assert plans is not None
        assert isinstance(plans.values, PlannedFunction)
        assert isinstance(written.plan, PlannedFunction)
        self.plans = plans.values, written.plan
        self.program, self.written, self.directions = program, written, own_numbers(directions)
        self.places = [
            np.ascontiguousarray(part, kind)
            for pair in written.found
            for part, kind in zip(pair, (np.int64, float), strict=True)
        ]
        self.width = plans.values.rows
        self._inputs: Callable[..., Any] | None = None

    def __call__(
        self, span: Span, rtol: float, atol: np.ndarray, keep: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Violation, row and residual; and all values of the index-1 form if they are wanted."""
        from .worst_rows import worst_rows

        count = len(span.t)
        values = np.empty((count if keep else 0, self.width))
        violation, row, residual = np.zeros(count), np.zeros(count, np.int64), np.zeros(count)
        t, x, xdot, slack, p, atol = (
            own_numbers(part) for part in (span.seen, span.x, span.xdot, span.slack, span.arguments.p, atol)
        )
        worst_rows(
            *self.plans[0].encoded, *self.plans[1].encoded, t[:, None], x, xdot, p,
            *self._inputs_at(t, span), slack, *self.places, rtol, atol, self.directions, values, violation,
            row, residual,
        )  # fmt: skip
        return violation, row, residual, values

    def _inputs_at(self, t: np.ndarray, span: Span) -> tuple[np.ndarray, np.ndarray]:
        """Inputs, as both plans want them."""
        program, written = self.program, self.written
        if not program.signals.each:
            return np.zeros((len(t), 0)), np.zeros((len(t), 0))

        def at(t: Any, arguments: Any) -> tuple[Any, Any]:
            u = program.signals.values(t, arguments.signals, written.input_order)
            return program.inputs(t, arguments), written.inputs_of(u)

        if self._inputs is None:
            self._inputs = quick_jit(
                lanes(at, (0, None), program.problem.one_by_one), program.functions.size
            )
        # As many rows as a power of two: runs with other numbers of times compile nothing new.
        filled = np.append(t, np.full((1 << max(0, len(t) - 1).bit_length()) - len(t), t[-1]))
        u, u_of_written = (np.asarray(part)[: len(t)] for part in self._inputs(filled, span.arguments))
        return own_numbers(u), own_numbers(u_of_written)


def native_certificate(
    program: Program, written: WrittenEquations, directions: Callable[[], np.ndarray]
) -> NativeCertificate | None:
    """None where XLA evaluates some of the equations."""
    plans = program.functions.plans
    if plans is None or not isinstance(plans.values, PlannedFunction):
        return None
    return (
        NativeCertificate(program, written, directions())
        if isinstance(written.plan, PlannedFunction)
        else None
    )
