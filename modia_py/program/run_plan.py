"""Looking at all functions of time before a run: where they break, and so where the run has to stop."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays.distinct import without
from ..errors import ModelError
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import FlatEquation, FlatModel
from ..lowering.differentiated_jumps import jump_notes, unwatched_notes
from .breaks import Search, Watch
from .bursts import bursts
from .lost_impulses import check_written_derivatives
from .oscillations import MOST_STEPS, longest_step_for_sources, smooth_expressions, step_for
from .program import Arguments, Program
from .remembered import digest_of, remembered
from .signals import Data, Signal, Signals
from .stretches import NamedBreak, Plan, plan_run, whole
from .time_expressions import TimeExpressions, part_text

MOST_PLANS = 8
"""Plans of runs that are remembered for a program."""


def make_plan(program: Program, signals: Signals, arguments: Arguments, start: float, stop: float) -> Plan:
    """The stretches of a run between the breaks of its inputs and of functions of time in its equations.

    Known from a run before if the times are the same, the inputs, and the parameters that functions of time
    in the equations have.
    """
    cache = program.cache
    if cache.abrupt_expressions is None:
        cache.abrupt_expressions = TimeExpressions(program.structure.flat)
    p = np.asarray(arguments.p)
    rows, numbers = cache.abrupt_expressions.rows(p)

    def find() -> Plan:
        return _found_plan(program, signals, arguments, start, stop, rows, numbers)

    if not program.is_repeatable:
        return find()
    known = [(signal.breaks, signal.hints, signal.order, signal.longest_step) for signal in signals.each]
    smooth = smooth_expressions(program)[0].rows(p)
    key = digest_of(start, stop, arguments.signals, rows, numbers, smooth, known)
    return remembered(cache.run_plans, key, MOST_PLANS, find)


def _found_plan(
    program: Program,
    signals: Signals,
    arguments: Arguments,
    start: float,
    stop: float,
    rows: Any,
    numbers: list[np.ndarray],
) -> Plan:
    cache, expressions = program.cache, program.cache.abrupt_expressions
    assert expressions is not None
    if cache.written_derivatives is None:
        cache.written_derivatives = _written_derivatives(program.structure.flat)
    searched = [signal for signal in signals.each if signal.is_unknown]
    highest = program.functions.integrals.order
    breaks = [one for signal in signals.each for one in _known_breaks(signal, highest)]
    busy: list[tuple[float, float]] = []
    longest_step = min(signals.longest_step, longest_step_for_sources(program, arguments, start, stop))
    notes: tuple[str, ...] = ()
    if searched or expressions.groups:
        names = _Components(searched, expressions, numbers)
        if names.sizes not in cache.watches:
            functions = _functions(program.signals, expressions)
            cache.watches[names.sizes] = Watch(functions, names.total, highest + 2)
        watch = cache.watches[names.sizes]
        hints = np.concatenate([np.zeros(0), *(s.hints for s in searched if s.hints is not None)])
        found = _searched(watch, start, stop, (arguments.signals, rows), hints, searched)
        _check_finite(found, names)
        breaks = [*_found_breaks(found, names), *breaks]
        busy = bursts(found.times, found.values, [one.before for one in breaks]) if found.complete else []
        smooth = without(np.arange(names.total), [one.component for one in found.breaks])
        values = found.values[:, smooth] if found.complete else np.zeros((len(found.times), 0))
        shortest = (stop - start) / MOST_STEPS
        longest_step = min(longest_step, max(step_for(values, _slopes(found.times, values)), shortest))
        if not found.complete:
            longest_step = min(longest_step, (stop - start) / len(found.times))
            notes = (
                f"inputs or functions of time change abruptly too often for each time to be found: steps "
                f"are no longer than {longest_step:.3g}. If that is not enough, give a table, or "
                f"(function, breaks)",
            )
    for signal in signals.each:
        order, equation = cache.written_derivatives.get(signal.entry.name, (0, None))
        _check_written(breaks, f"the input {signal.entry.name}", order, equation)
    if breaks or busy:
        plan = plan_run(start, stop, breaks, highest, longest_step, busy)
    else:
        plan = whole(start, stop, longest_step)
    if cache.jump_notes is None:
        cache.jump_notes = jump_notes(program.structure, program.transformed) + unwatched_notes(
            program.structure
        )
    return replace(plan, notes=notes + plan.notes + cache.jump_notes)


def _slopes(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.gradient(values, times, axis=0) if len(times) > 1 and values.size else np.zeros_like(values)


def _functions(signals: Signals, expressions: TimeExpressions) -> Any:
    """Unknown inputs, then the functions of time in equations, as one vector."""

    def values(t: Any, data: tuple[Data, Any]) -> Any:
        given, rows = data
        parts = [
            jnp.broadcast_to(signal.function(t, own), signal.entry.shape).reshape(-1)
            for signal, own in zip(signals.each, given.each, strict=True)
            if signal.is_unknown
        ]
        return jnp.concatenate([jnp.zeros(0), *parts, expressions.values(t, signals, given, rows)])

    return values


class _Components:
    """Which input or part of an equation a component of all functions belongs to."""

    def __init__(self, searched: list[Signal], expressions: TimeExpressions, numbers: list[np.ndarray]):
        self.searched, self.expressions, self.numbers = searched, expressions, numbers
        self.inputs = sum(signal.entry.size for signal in searched)
        groups = zip(expressions.groups, numbers, strict=True)
        of_groups = [math.prod(g.template.root.shape) * len(n) for g, n in groups]
        self.sizes = (self.inputs, *of_groups)
        self.total = sum(self.sizes)

    def signal(self, component: int) -> Signal | None:
        for signal in self.searched:
            if component < signal.entry.size:
                return signal
            component -= signal.entry.size
        return None

    def part(self, component: int) -> tuple[str, FlatEquation, int]:
        """The text of a part, its equation, and how often it is differentiated there."""
        group, number = self.expressions.group_of(component - self.inputs, self.numbers)
        equation, part, _ = group.owner(number)
        return part_text(equation, part), equation, group.differentiated


def _searched(
    watch: Watch, start: float, stop: float, data: Any, hints: np.ndarray, searched: list[Signal]
) -> Search:
    try:
        return watch.search(start, stop, data, hints)
    except jax.errors.JaxRuntimeError as error:
        names = ", ".join(signal.entry.name for signal in searched)
        reason = str(error).strip().splitlines()[-1]
        raise ModelError(
            f"A function of time could not be evaluated between {start:g} and {stop:g} (inputs {names}): "
            f"{reason}"
        ) from error


def _check_finite(found: Search, names: _Components) -> None:
    bad = np.argwhere(~np.isfinite(found.values[:, : names.inputs]))
    if len(bad):
        row, component = bad[0]
        signal = names.signal(int(component))
        assert signal is not None
        raise ModelError(
            f"The function given for the input {signal.entry.name} is {found.values[row, component]} at "
            f"time {found.times[row]:.9g}. Choose by np.where what holds there, with arguments that are "
            f"valid on both sides, or simulate where it is finite."
        )


def _known_breaks(signal: Signal, highest: int) -> list[NamedBreak]:
    """Breaks of a table, or those that were given with a function: at least a new start is made there."""
    order = np.broadcast_to(highest + 1 if signal.is_unknown else signal.order, signal.breaks.shape)
    cause = f"the input {signal.entry.name}"
    return [
        NamedBreak(float(np.nextafter(t, -np.inf)), t, own, cause)
        for t, own in zip(signal.breaks.tolist(), order.tolist(), strict=True)
    ]


def _found_breaks(found: Search, names: _Components) -> list[NamedBreak]:
    breaks = []
    texts: dict[int, tuple[str, FlatEquation | None, int]] = {}
    for one in found.breaks:
        if one.component not in texts:
            signal = names.signal(one.component)
            texts[one.component] = (
                names.part(one.component) if signal is None else (f"the input {signal.entry.name}", None, 0)
            )
        cause, equation, differentiated = texts[one.component]
        if equation is not None and differentiated:
            where = f"`{equation}` ({equation.equation.source})"
            check_written_derivatives(cause, one.after, one.order, differentiated, where)
        else:
            breaks.append(NamedBreak(one.before, one.after, one.order, cause, is_note=True))
    return breaks


def _check_written(breaks: list[NamedBreak], cause: str, order: int, equation: FlatEquation | None) -> None:
    for one in breaks:
        if order and equation is not None and one.cause == cause:
            where = f"`{equation}` ({equation.equation.source})"
            check_written_derivatives(cause, one.after, one.order, order, where)


def _written_derivatives(flat: FlatModel) -> dict[str, tuple[int, FlatEquation]]:
    """The highest derivative of each input that a user has written, and where."""
    found: dict[str, tuple[int, FlatEquation]] = {}
    if not flat.inputs:
        return found
    for entry in flat.equations:
        for leaf in entry.equation.leaves:
            if leaf.kind is SymbolKind.INPUT and leaf.order > 0:
                name = entry.owner.full_name(leaf)
                if leaf.order > found.get(name, (0, entry))[0]:
                    found[name] = leaf.order, entry
    return found
