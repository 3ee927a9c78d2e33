"""The event at the start: relations, discrete values and start values that fit each other.

Which side a relation is on depends on the start values, and these on the equations, which depend on the
relations. They are found in turns. A condition that is true at the start does not fire for that; one that
is true because of `initial()`, or of a `sample` at this instant, does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import SimulationError
from ..expressions.symbol_kinds import DiscreteRole
from ..program.program import Arguments, Program
from ..program.row_names import row_name
from ..solvers import impulse_start
from ..solvers.compile_options import quick_jit
from ..solvers.event_contract import Effect
from ..solvers.events.restart import rows_of_mode
from .problem import BeforeEvent, StartPoint

MOST_TURNS = 30
LISTED = 3

FindStart = Callable[[Arguments], StartPoint]


def start_with_events(
    program: Program, arguments: Arguments, t: float, find: FindStart
) -> tuple[StartPoint, Arguments]:
    """Start values, and the data of the run with discrete values that fit them."""
    compiled = _compiled(program)
    assert program.events is not None
    declared = np.asarray(program.events.discretes(arguments.p))
    for _ in range(MOST_TURNS):
        point = _in_mode(program, t, find(arguments), arguments)
        x, found, flags = compiled.at_start(t, *_padded(point), arguments, declared)
        changed, moved = np.asarray(flags)
        before, arguments = arguments, found
        if not bool(changed):
            x_set = np.asarray(x) if bool(moved) else None
            event = BeforeEvent(*_padded(point), before, arguments, x_set)
            if bool(moved):
                point = _restarted(program, t, replace(point, x=np.asarray(x), event=event), arguments)
            return _until_nothing_changes(program, t, point, arguments, event)
    raise _endless(program, before, arguments)


class _Compiled(NamedTuple):
    at_start: Callable[..., Any]
    one_pass: Callable[..., Any]
    settle: Callable[..., Any]
    rows_of_mode: Callable[..., Any]


def _compiled(program: Program) -> _Compiled:
    if program.cache.at_start is None:
        assert program.events is not None
        events, size = program.events, program.functions.size
        program.cache.at_start = _Compiled(
            quick_jit(events.at_start, size),
            quick_jit(events.contract.one_pass, size),
            quick_jit(events.contract.settle, size),
            quick_jit(partial(rows_of_mode, program.problem), size),
        )
    return program.cache.at_start


def _until_nothing_changes(
    program: Program, t: float, point: StartPoint, arguments: Arguments, event: BeforeEvent
) -> tuple[StartPoint, Arguments]:
    """What follows from the first pass, as at any event."""
    compiled = _compiled(program)
    for number in range(1, MOST_TURNS):
        before = arguments
        x, arguments, found = compiled.one_pass(t, *_padded(point), arguments, number)
        effect = int(found)
        if effect == Effect.NOTHING:
            return point, compiled.settle(t, *_padded(point), arguments)
        if effect == Effect.EQUATIONS:
            point = _restarted(program, t, replace(point, x=np.asarray(x)), arguments)
        if effect == Effect.EQUATIONS or _has_new_values(program, before, arguments):
            point = replace(point, event=event)
    raise _endless(program, before, arguments)


def _has_new_values(program: Program, before: Arguments, after: Arguments) -> bool:
    """Whether discrete variables that a user has declared are others."""
    assert program.events is not None
    old, new = (np.asarray(program.events.discretes(data.p)) for data in (before, after))
    return any(
        not np.array_equal(old[own.offset : own.offset + own.size], new[own.offset : own.offset + own.size])
        for own in program.structure.flat.discretes
        if own.symbol.role is DiscreteRole.DECLARED
    )


def with_rows_of_mode(program: Program, t: float, x: Any, xdot: Any, arguments: Arguments) -> Arguments:
    """Arguments with flags of the rows that contain derivatives in the present mode."""
    if program.events is None or not program.functions.size:
        return arguments
    flags = program.problem.row_flags
    arguments = arguments._replace(events=arguments.events._replace(rows=flags))
    return _compiled(program).rows_of_mode(float(t), np.asarray(x), np.asarray(xdot), arguments)


def _padded(point: StartPoint) -> tuple[np.ndarray, np.ndarray]:
    """x and xdot; one element where there are no states."""
    none = np.zeros(1)
    return (point.x, point.xdot) if len(point.x) else (none, none)


def _in_mode(program: Program, t: float, point: StartPoint, arguments: Arguments) -> StartPoint:
    """Where equations are constraints in this mode, which a start does not know: as at an event."""
    own = with_rows_of_mode(program, t, *_padded(point), arguments)
    if np.array_equal(np.asarray(own.events.rows), program.problem.row_flags):
        return point
    return _restarted(program, t, point, own)


def _restarted(program: Program, t: float, point: StartPoint, arguments: Arguments) -> StartPoint:
    """Values after impulses, as at an event."""
    x, xdot = _padded(point)
    arguments = with_rows_of_mode(program, t, x, xdot, arguments)
    found = impulse_start(program.problem, t, x, arguments, xdot)
    if not found.success:
        rows = [row for row in found.unsatisfied if row < program.functions.size][:LISTED]
        listed = "".join(f"\n    {row_name(program, row)}" for row in rows)
        said = f"These equations cannot hold with the conditions there:{listed}" if rows else found.message
        raise SimulationError(
            f"{program.structure.flat.name}: no values were found with which to start, at time {t:g}. "
            f"{said}\nTwo of them may contradict each other, or a condition there (a diode that conducts, "
            f"a contact) leaves something undetermined: is a parameter zero in them?"
        )
    return replace(point, x=found.x[: len(point.x)], xdot=found.xdot[: len(point.x)])


def _endless(program: Program, before: Arguments, after: Arguments) -> SimulationError:
    assert program.events is not None
    functions = program.events.functions
    old, new = (np.asarray(functions.declared(data.p)) for data in (before, after))
    differ = np.flatnonzero(old != new)
    relations = functions.relations
    rows = np.flatnonzero(np.isin(relations.place, differ))[:LISTED].tolist()
    texts = [f"{relations.text(row)}  ({relations.source(row)})" for row in rows]
    texts += [
        f"{discrete.name}: {old[place]:g}, then {new[place]:g}"
        for discrete in program.structure.flat.discretes
        if discrete.symbol.role is DiscreteRole.DECLARED
        for place in range(discrete.offset, discrete.offset + discrete.size)
        if place in differ
    ]
    listed = "".join(f"\n    {text}" for text in texts[: 2 * LISTED])
    return SimulationError(
        f"{program.structure.flat.name}: no start was found at which relations and values fit each other; "
        f"they change each other for ever:{listed}\n"
        f"Two conditions may contradict each other, or a value follows its own opposite: thresholds that "
        f"are apart (a hysteresis), or a `when` in place of an `always`, end this."
    )
