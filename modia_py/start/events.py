"""The event at the start: relations, discrete values and start values that fit each other.

Which side a relation is on depends on the start values, and these on the equations, which depend on the relations. They
are found in turns. A condition that is true at the start does not fire for that; one that is true because of
`initial()`, or of a `sample` at this instant, does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import SimulationError
from ..program.program import Arguments, Program
from ..solvers import impulse_start
from ..solvers.compile_options import quick_jit
from ..solvers.events.restart import rows_of_mode
from .problem import StartPoint

MOST_TURNS = 30
LISTED = 3

FindStart = Callable[[Arguments], StartPoint]


def start_with_events(
    program: Program, arguments: Arguments, t: float, find: FindStart
) -> tuple[StartPoint, Arguments]:
    """Start values, and the data of the run with discrete values that fit them."""
    events = program.events
    assert events is not None
    if program.cache.at_start is None:
        size = program.functions.size
        program.cache.at_start = (
            quick_jit(events.at_start, size),
            quick_jit(lambda *given: rows_of_mode(program.problem, *given), size),
            quick_jit(events.contract.settle, size),
        )
    at_start, rows, settle = program.cache.at_start
    declared = np.asarray(events.discretes(arguments.p))
    relations = events.functions.relations
    for _ in range(MOST_TURNS):
        point = find(arguments)
        x, xdot = _padded(point)
        arguments = rows(t, x, xdot, arguments)
        flags = np.asarray(arguments.events.rows)
        if not np.array_equal(flags, program.problem.row_flags):
            point = _in_mode(program, t, point, arguments)
            x, xdot = _padded(point)
        x_new, found, (changed, moved) = at_start(t, x, xdot, arguments, declared)
        before, arguments = arguments, found
        if not bool(changed):
            if bool(moved):
                point = _in_mode(program, t, replace(point, x=np.asarray(x_new)), arguments)
                x, xdot = _padded(point)
            return point, settle(t, x, xdot, arguments)
    differ = np.flatnonzero(np.asarray(before.p) != np.asarray(arguments.p))
    offset = events.functions.parameter_size
    names = [relations.text(k) for k in range(len(relations)) if offset + relations.place[k] in differ]
    listed = "\n".join(f"    {name}" for name in names[:LISTED])
    raise SimulationError(
        f"{program.structure.flat.name}: no start was found at which relations and values fit each other: "
        f"they change each other for ever.\n{listed}"
    )


def _padded(point: StartPoint) -> tuple[np.ndarray, np.ndarray]:
    """x and xdot; one element where there are no states."""
    none = np.zeros(1)
    return (point.x, point.xdot) if len(point.x) else (none, none)


def _in_mode(program: Program, t: float, point: StartPoint, arguments: Arguments) -> StartPoint:
    """Where equations are constraints that were none when the start was found: impulses, as at an event."""
    x, xdot = _padded(point)
    found = impulse_start(program.problem, t, x, arguments, xdot)
    if not found.success:
        raise SimulationError(
            f"{program.structure.flat.name}: no values were found with which to start. {found.message}"
        )
    return replace(point, x=found.x, xdot=found.xdot)
