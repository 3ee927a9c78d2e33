"""A certificate for every run: the equations as written hold at the output, within tolerances, or it fails.

At each time of output, with all variables and derivatives as the result gives them, a row r of the written
equations passes if a change of its variables within their tolerances would satisfy it:

    |r(v)| <= |r(v + delta) - r(v)|   for some  |delta_j| <= tolerance of v_j.

A few random delta are tried; where none suffices, many more, and such in which what is assigned follows
what it is assigned from, so that what is left is a violation. (The
tolerances are rtol |v| + atol, and those of derivatives rtol |vdot|; where derivatives are interpolated
between steps of size h, more by the tolerance of v over h; and everywhere by what would add up to a
millionth of the tolerance of v in the whole run: rounding, where v is at rest.) NaN and infinity violate
their equations.

Large models are looked at at some of the times, so that the certificate stays a small part of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..collector import collector_paused
from ..errors import SimulationError
from ..expressions.lanes import lanes
from ..lowering.written_equations import WrittenEquations
from ..program.program import Arguments, Program
from ..program.vanished_pivots import vanished_pivots
from ..results.statistics import LARGEST_VIOLATION, Certificate
from ..solvers.compile_options import quick_jit
from ..solvers.solution import Statistics
from .native_certificate import native_certificate
from .outputs import MOST_BYTES_AT_ONCE, Outputs, Span, filled
from .second_opinion import disagreement

DIRECTIONS = 3
SMALLEST_PART = 0.2
"""Of its tolerance, by which a variable is changed."""
MORE = 20
"""How many times as many directions are tried where the first ones do not suffice."""
REST = 1e-6
"""Of the tolerance of a variable: what a slope that is all rounding may add up to in the whole run."""
FINEST = 1e-12
"""Smallest relative tolerance asked for here: equations are rounded."""
FEW_ELEMENTS = 1e7
"""Numbers that are always looked at: a matter of some ten milliseconds."""
SHARE = 0.02
"""Of the numbers that the integrator has worked on, that are looked at in any case."""
FEWEST_TIMES = 5


@dataclass(frozen=True, eq=False)
class OutputTolerances:
    """Of the result: rtol, and atol for each element of the flat variables."""

    rtol: float
    atol: np.ndarray


def certify(
    program: Program, outputs: Outputs, work: Statistics, tolerances: OutputTolerances
) -> Certificate:
    """Look at the equations as written, at all times of output or at some."""
    checker = _checker(program)
    rows = sum(len(span.t) for span in outputs.spans)
    if not rows:
        return Certificate(0.0, "", 0.0, 0.0, 0, 0)
    chosen = _chosen_times(checker.written, program, rows, work)
    keep = outputs.fits and len(chosen) == rows
    spans = [_with_rest(span, outputs.spans) for span in _some_rows(outputs.spans, chosen) if len(span.t)]
    found = [checker.check(span, tolerances, keep) for span in spans]
    checker.ask_numpy(outputs.spans)
    if keep:  # nobody has to compute them again
        outputs.everything = np.concatenate([part.values for part in found])
    violation, row, residual, t = (
        np.concatenate([getattr(part, name) for part in found])
        for name in ("violation", "row", "residual", "t")
    )
    bad = np.flatnonzero(~(violation <= LARGEST_VIOLATION))
    worst = int(bad[0]) if len(bad) else int(np.argmax(violation))
    return Certificate(
        float(violation[worst]),
        checker.written.equation_text(int(row[worst])),
        float(t[worst]),
        float(residual[worst]),
        len(t),
        rows,
        len(bad),
    )


def _with_rest(span: Span, spans: list[Span]) -> Span:
    """Rows of a run whose slopes may be off by what is nothing in the whole of it."""
    times = np.concatenate([each.t[[0, -1]] for each in spans if len(each.t)])
    length = float(np.ptp(times))
    return replace(span, slack=np.maximum(span.slack, REST / length)) if length > 0.0 else span


def violation_text(certificate: Certificate, outputs: Outputs) -> str:
    """What is violated, when, by how much; and what to try."""
    when = f"at time {certificate.time:.6g}"
    if certificate.violated_times > 1:
        when += f" and at {certificate.violated_times - 1} later times of output"
    if not np.isfinite(certificate.violation):
        names = _not_finite(outputs)
        cause = _vanished_pivot(outputs, certificate.time) or (
            "Is a root or logarithm of a negative number taken, or something divided by zero? End the "
            "simulation before, or state what holds there."
        )
        return (
            f"{' and '.join(names) or 'An equation'} becomes infinite or not a number {when}:\n"
            f"    {certificate.equation}\n{cause}"
        )
    return (
        f"An equation of the model does not hold {when}:\n    {certificate.equation}\nIt is off by "
        f"{abs(certificate.residual):.3g}, {certificate.violation:.2g} times as much as the tolerances of "
        f"its variables allow. The values are wrong. A smaller `rtol` may help; if it does not, the "
        f"equations may have several solutions here, or none."
    )


def _vanished_pivot(outputs: Outputs, t: float) -> str:
    """What is divided by zero in a relaxed loop at a time of output; empty if nothing is."""
    program = outputs.program
    for span in outputs.spans:
        for k in np.flatnonzero(span.t == t).tolist():
            own = program.with_discretes(span.arguments, span.discretes[k])
            if found := vanished_pivots(program, own, float(span.seen[k]), span.x[k], span.xdot[k]):
                return f"There {found[0]}."
    return ""


def _not_finite(outputs: Outputs) -> list[str]:
    """The first variables that are not finite, each at most once."""
    names = []
    if outputs.fits:
        for name, symbol in outputs.symbols.items():
            values = outputs.read(name, 0)
            if values is not None and not np.isfinite(values).all() and symbol.size:
                names.append(name)
    return names[:3]


@dataclass(frozen=True, eq=False)
class _Violations:
    """The worst row at each time; and all values of the index-1 form, if they were asked for."""

    t: np.ndarray
    violation: np.ndarray
    row: np.ndarray
    residual: np.ndarray
    values: np.ndarray


class _Checker:
    """Compiled once for a program."""

    def __init__(self, program: Program):
        self.program, size = program, program.functions.size
        self.written = WrittenEquations(
            program.structure.flat, program.functions.value_map, program.functions.plans is not None
        )
        self.width = program.functions.value_map.zero + 1
        self.numbers = (DIRECTIONS + 1) * (2 * self.written.size + self.written.rows) + self.width
        # Where those of one time are very many, each direction is looked at by itself.
        self.one_by_one = program.problem.one_by_one or 8 * self.numbers > MOST_BYTES_AT_ONCE
        self.is_confirmed = program.functions.plans is None
        self.native = None
        if program.events is None:
            self.native = native_certificate(program, self.written, self._first_directions)
        axes = (0, 0, 0, 0, 0, None, None, None, None)

        def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
            return quick_jit(lanes(function, axes, program.problem.one_by_one), size)

        self._worst = compiled(self._worst_row)
        self._worst_and_values = compiled(partial(self._worst_row, keep=True))
        self._all_rows = compiled(self._residuals)
        self._following = compiled(partial(self._residuals, following=True))

    def _residuals(
        self,
        t: Any,
        x: Any,
        xdot: Any,
        slack: Any,
        d: Any,
        arguments: Arguments,
        rtol: Any,
        atol: Any,
        directions: Any,
        following: bool = False,
    ) -> tuple[Any, Any, Any]:
        """At one time: all residuals, their largest changes along the directions, and all values.

        Following, only the unknowns of the index-1 form are changed, and what is assigned from them
        follows: a small current that is the difference of two large ones is known to their tolerance.
        """
        program, written = self.program, self.written
        arguments = program.with_discretes(arguments, d)
        w = program.values(t, x, xdot, arguments)
        v, vdot = written.values(w)
        u = program.signals.values(t, arguments.signals, written.input_order)
        tolerance = rtol * jnp.abs(v) + atol
        of_slopes = rtol * jnp.abs(vdot) + slack * tolerance

        def residual(number: Any) -> Any:
            direction = _direction(number, 2 * written.size)
            by_v, by_vdot = direction[: written.size], direction[written.size :]
            if following:
                places = written.places
                change = jnp.zeros_like(w).at[places].set(by_v * tolerance)
                moved_x, moved_xdot = x + change[: len(x)], xdot + change[len(x) : 2 * len(x)]
                moved = written.values(program.values(t, moved_x, moved_xdot, arguments))
            else:
                moved = v + by_v * tolerance, vdot + by_vdot * of_slopes
            return written.residual(t, *moved, arguments.p, u)

        found = lanes(residual, (0,), self.one_by_one)(directions)  # the first of them is zero
        changes = jnp.abs(found[1:] - found[0])
        # What is not finite after a change says nothing.
        return found[0], jnp.max(jnp.where(jnp.isfinite(changes), changes, 0.0), axis=0), w

    def _worst_row(self, *given: Any, keep: bool = False) -> tuple[Any, ...]:
        residual, allowed, w = self._residuals(*given)
        violation = _violation(residual, allowed)
        worst = jnp.argmax(violation)
        return violation[worst], worst, residual[worst], w if keep else jnp.zeros(0)

    def ask_numpy(self, spans: list[Span]) -> None:
        """Once for a program that native code evaluates: whether numpy finds the same residuals."""
        if self.is_confirmed:
            return
        last = next(span for span in reversed(spans) if len(span.t))
        own = self.program.with_discretes(last.arguments, last.discretes[-1])
        at = last.seen[-1], last.x[-1], last.xdot[-1], own
        vectors, residual = quick_jit(self._at_one_time, self.program.functions.size)(*at)
        row = disagreement(self.written, vectors, np.asarray(residual))
        if row is not None:
            raise SimulationError(
                f"Native code and numpy do not agree on an equation at time {float(at[0]):.6g}:\n    "
                f"{self.written.equation_text(row)}\nThis is an error of modia_py. Please report it."
            )
        self.is_confirmed = True

    def _at_one_time(self, t: Any, x: Any, xdot: Any, arguments: Arguments) -> tuple[dict[str, Any], Any]:
        """What the equations as written are given, and their residuals."""
        program, written = self.program, self.written
        v, vdot = written.values(program.values(t, x, xdot, arguments))
        u = program.signals.values(t, arguments.signals, written.input_order)
        vectors = {"time": t, "v": v, "vdot": vdot, "p": arguments.p, "u": written.inputs_of(u)}
        return vectors, written.residual(t, v, vdot, arguments.p, u)

    def _first_directions(self) -> np.ndarray:
        """By numpy: XLA would compile a dozen small programs for them."""
        numbers = np.arange(DIRECTIONS + 1, dtype=np.uint32)
        with np.errstate(over="ignore"):  # whole numbers are meant to overflow
            return np.stack([_direction(number, 2 * self.written.size, np) for number in numbers])

    def check(self, span: Span, tolerances: OutputTolerances, keep: bool = False) -> _Violations:
        """The worst row at each time of a span."""
        if self.native is not None:
            atol = tolerances.atol[self.written.element]
            violation, row, residual, values = self.native(span, max(tolerances.rtol, FINEST), atol, keep)
        else:
            compiled = self._worst_and_values if keep else self._worst
            violation, row, residual, values = self._evaluate(compiled, span, tolerances, 0)
        suspicious = np.flatnonzero((violation > LARGEST_VIOLATION) & np.isfinite(violation))
        if len(suspicious):
            again = self._look_again(_some_rows([span], suspicious)[0], tolerances)
            violation[suspicious], row[suspicious], residual[suspicious] = again
        return _Violations(span.t, violation, row, residual, values)

    def _look_again(self, span: Span, tolerances: OutputTolerances) -> tuple[np.ndarray, ...]:
        """With more directions, of both kinds, until all is well."""
        residual, allowed, _ = self._evaluate(self._all_rows, span, tolerances, 0)
        for seed in range(1, MORE):
            if np.all(_violation(residual, allowed) <= LARGEST_VIOLATION):
                break
            for compiled in (self._all_rows, self._following):
                allowed = np.maximum(allowed, self._evaluate(compiled, span, tolerances, seed)[1])
        violation = np.asarray(_violation(residual, allowed))
        worst = np.argmax(violation, axis=1)
        times = np.arange(len(worst))
        return violation[times, worst], worst, residual[times, worst]

    def _evaluate(
        self, compiled: Callable[..., Any], span: Span, tolerances: OutputTolerances, seed: int
    ) -> list[np.ndarray]:
        """The results of a compiled function at all times of a span."""
        written = self.written
        given = np.float64(max(tolerances.rtol, FINEST)), tolerances.atol[written.element]
        directions = np.append(0, 1 + seed * DIRECTIONS + np.arange(DIRECTIONS)).astype(np.uint32)
        # As many rows as a power of two: runs with other numbers of times compile nothing new.
        rows = min(int(MOST_BYTES_AT_ONCE // (8 * self.numbers)), 1 << max(0, len(span.t) - 1).bit_length())
        parts = []
        for start in range(0, len(span.t), max(1, rows)):
            chosen = slice(start, start + max(1, rows))
            count = len(span.t[chosen])
            of_rows = (span.seen, span.x, span.xdot, span.slack, span.discretes)
            vectors = (filled(part[chosen], max(1, rows)) for part in of_rows)
            out = compiled(*vectors, span.arguments, *given, directions)
            parts.append([np.array(np.asarray(part)[:count]) for part in out])
        return [np.concatenate(part) for part in zip(*parts, strict=True)]


def _violation(residual: Any, allowed: Any) -> Any:
    """In units of what is allowed. An equation that holds exactly, holds."""
    size = jnp.abs(residual)
    violation = jnp.where(size == 0, 0.0, size / jnp.maximum(allowed, 1e-300))
    return jnp.where(jnp.isfinite(size), violation, jnp.inf)


def _direction(number: Any, size: int, library: Any = jnp) -> Any:
    """Zero for number 0; else changes by different parts of the tolerance, up and down, without a pattern.

    Made where they are needed: for 10^6 variables they would be the largest arrays of all.
    """
    word = library.uint32
    mixed = library.arange(size, dtype=word) * word(2654435761) + number * word(2246822519)
    for shift in (16, 13, 16):
        mixed = (mixed ^ (mixed >> shift)) * word(3266489917)
    part = SMALLEST_PART + (1 - SMALLEST_PART) * (mixed >> 8) / 2.0**24
    return library.where(number == 0, 0.0, library.where(mixed & 1, part, -part))


def _checker(program: Program) -> _Checker:
    if program.cache.checker is None:
        with collector_paused():
            program.cache.checker = _Checker(program)
    return program.cache.checker


def _chosen_times(written: WrittenEquations, program: Program, rows: int, work: Statistics) -> np.ndarray:
    """Which rows of output are looked at: all, or evenly spread ones, by what the integrator has done."""
    per_time = (DIRECTIONS + 2) * (2 * written.size + written.rows)
    done = program.functions.size * (4 * work.residuals + 8 * work.steps + 16 * work.jacobians)
    most = int(max(FEWEST_TIMES, max(FEW_ELEMENTS, SHARE * done) // max(1, per_time)))
    if most >= rows:
        return np.arange(rows)
    return np.unique(np.linspace(0, rows - 1, most).round().astype(int))


def _some_rows(spans: list[Span], chosen: np.ndarray) -> list[Span]:
    """The chosen rows, counted over all spans. Where they are all rows, nothing is copied."""
    if len(chosen) == sum(len(span.t) for span in spans):
        return spans
    parts, first = [], 0
    for span in spans:
        own = chosen[(chosen >= first) & (chosen < first + len(span.t))] - first
        parts.append(span.rows(own))
        first += len(span.t)
    return parts
