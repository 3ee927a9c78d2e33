"""What events need to know of a run before it starts: tolerances, and when functions of time change."""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from ..language.event_parts import RelationKind
from ..program.breaks import Watch, guard_at
from ..program.events import event_data
from ..program.program import Arguments, Program
from .run import RunOptions


def with_event_data(program: Program, arguments: Arguments, options: RunOptions) -> Arguments:
    """The data of a run with those of its events."""
    assert program.events is not None
    events = program.events
    events.functions.check_samples(
        {"time": options.start, "p": arguments.p, "w": np.zeros(0), "u": np.zeros(0)}
    )
    return arguments._replace(
        events=event_data(
            events,
            program.problem.row_flags,
            _schedule(program, arguments, options),
            guard_at(options.start, options.stop),
            options.rtol,
            float(np.min(options.atol)),
            options.must_restart,
        )
    )


def _schedule(program: Program, arguments: Arguments, options: RunOptions) -> np.ndarray:
    """When relations change that are functions of time and parameters, of any form."""
    assert program.events is not None
    events = program.events
    count = len(events.functions.relations.rows(RelationKind.TIME))
    if not count:
        return np.zeros(0)
    cache = program.cache
    if cache.relations_of_time is None:
        cache.relations_of_time = Watch(events.truth_of_time, count, 1)
    found = cache.relations_of_time.search(options.start, options.stop, arguments.p, np.zeros(0))
    if not found.complete:
        raise ModelError(
            f"Relations of the time change too often between {options.start:g} and {options.stop:g} for "
            f"each instant to be found. Use `sample(period)`, or a Discrete that holds the time of the "
            f"next event."
        )
    return np.unique([one.after for one in found.breaks])
