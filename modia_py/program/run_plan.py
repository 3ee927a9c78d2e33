"""Looking at all functions of time before a run: where they break, and so where the run has to stop."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ModelError
from ..expressions.expression import leaves_of
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import FlatEquation, FlatModel
from ..lowering.differentiated_jumps import jump_notes
from .breaks import Search, Watch
from .bursts import bursts
from .lost_impulses import check_written_derivatives
from .oscillations import MOST_STEPS, longest_step_for_sources, step_for
from .program import Arguments, Program
from .signals import Data, Signal, Signals
from .stops import Plan, Stop, plan_run, whole
from .time_expressions import TimeExpressions, part_text


def make_plan(program: Program, signals: Signals, arguments: Arguments, start: float, stop: float) -> Plan:
    """The stretches of a run between the breaks of its inputs and of functions of time in its equations."""
    kept = program.kept
    if "time expressions" not in kept:
        kept["time expressions"] = TimeExpressions(program.structure.flat)
        kept["written derivatives"] = _written_derivatives(program.structure.flat)
    expressions: TimeExpressions = kept["time expressions"]
    searched = [signal for signal in signals.each if signal.is_unknown]
    highest = program.functions.integrals.order
    stops = [stop for signal in signals.each for stop in _known_stops(signal, highest)]
    busy: list[tuple[float, float]] = []
    longest_step = min(signals.longest_step, longest_step_for_sources(program, arguments, start, stop))
    notes: tuple[str, ...] = ()
    if searched or expressions.groups:
        rows, numbers = expressions.rows(np.asarray(arguments.p))
        names = _Components(searched, expressions, numbers)
        key = "watch", names.sizes
        if key not in kept:
            kept[key] = Watch(_functions(program.signals, expressions), names.total, highest + 2)
        hints = np.concatenate([np.zeros(0), *(s.hints for s in searched if s.hints is not None)])
        found = _searched(kept[key], start, stop, (arguments.signals, rows), hints, searched)
        _check_finite(found, names)
        stops = [*_found_stops(found, names), *stops]
        busy = bursts(found.times, found.values, [s.before for s in stops]) if found.complete else []
        smooth = np.setdiff1d(np.arange(names.total), [one.component for one in found.breaks])
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
        order, equation = kept["written derivatives"].get(signal.entry.name, (0, None))
        _check_written(stops, f"the input {signal.entry.name}", order, equation)
    if stops or busy:
        plan = plan_run(start, stop, stops, highest, longest_step, busy)
    else:
        plan = whole(start, stop, longest_step)
    if "jump notes" not in kept:
        kept["jump notes"] = jump_notes(program.structure, program.result)
    return replace(plan, notes=notes + plan.notes + kept["jump notes"])


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


def _known_stops(signal: Signal, highest: int) -> list[Stop]:
    """Breaks of a table, or those that were given with a function: at least a new start is made there."""
    order = highest + 1 if signal.is_unknown else signal.order
    what = f"the input {signal.entry.name}"
    return [Stop(float(np.nextafter(t, -np.inf)), t, order, what) for t in signal.breaks.tolist()]


def _found_stops(found: Search, names: _Components) -> list[Stop]:
    stops = []
    texts: dict[int, tuple[str, FlatEquation | None, int]] = {}
    for one in found.breaks:
        if one.component not in texts:
            signal = names.signal(one.component)
            texts[one.component] = (
                names.part(one.component) if signal is None else (f"the input {signal.entry.name}", None, 0)
            )
        what, equation, differentiated = texts[one.component]
        if equation is not None and differentiated:
            where = f"`{equation}` ({equation.equation.source})"
            check_written_derivatives(what, one.after, one.order, differentiated, where)
        else:
            stops.append(Stop(one.before, one.after, one.order, what, is_note=True))
    return stops


def _check_written(stops: list[Stop], what: str, order: int, equation: FlatEquation | None) -> None:
    for stop in stops:
        if order and equation is not None and stop.what == what:
            where = f"`{equation}` ({equation.equation.source})"
            check_written_derivatives(what, stop.after, stop.order, order, where)


def _written_derivatives(flat: FlatModel) -> dict[str, tuple[int, FlatEquation]]:
    """The highest derivative of each input that a user has written, and where."""
    found: dict[str, tuple[int, FlatEquation]] = {}
    if not flat.inputs:
        return found
    for entry in flat.equations:
        for leaf in leaves_of(entry.equation.lhs, entry.equation.rhs):
            if leaf.kind is SymbolKind.INPUT and leaf.order > 0:
                name = entry.owner.full_name(leaf)
                if leaf.order > found.get(name, (0, entry))[0]:
                    found[name] = leaf.order, entry
    return found
