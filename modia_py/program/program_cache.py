"""What was compiled or found for a program, and is used again by its next runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..language.flat_model import FlatEquation
from ..solvers.roots.nearest import NearestSystem
from .breaks import Watch
from .stretches import Plan
from .time_expressions import TimeExpressions


@dataclass(eq=False)
class ProgramCache:
    """None, or no entry, where nobody has asked yet."""

    output_values: Callable[..., Any] | None = None
    """All variables at many times, compiled."""
    abrupt_expressions: TimeExpressions | None = None
    """Parts of the equations that are functions of time and may change abruptly."""
    smooth_expressions: tuple[TimeExpressions, Callable[..., Any]] | None = None
    """Those that do not, and their values and slopes at many times, compiled."""
    written_derivatives: dict[str, tuple[int, FlatEquation]] | None = None
    """The highest derivative of each input that a user has written, and where."""
    watches: dict[tuple[int, ...], Watch] = field(default_factory=dict)
    """What searches functions of time for breaks, by the sizes of these functions."""
    run_plans: dict[bytes, Plan] = field(default_factory=dict)
    """Where runs stop, by all that this depends on."""
    jump_notes: tuple[str, ...] | None = None
    """What a user should know of jumps in equations that were differentiated."""
    impulses: Callable[..., Any] | None = None
    """How much equations that were differentiated change from one side of a stop to the other, compiled."""
    starts: dict[tuple[bytes, bytes], NearestSystem] = field(default_factory=dict)
    """Systems for start values and their derivatives, by places and signs of what is given."""
    start_points: dict[bytes, Any] = field(default_factory=dict)
    """Starts that were found (`start.problem.StartPoint`), by all that they depend on."""
    event_starts: dict[bytes, Any] = field(default_factory=dict)
    """The same of models with events, after the event at the start; with the data of the run."""
    declared_starts: dict[bytes, Any] = field(default_factory=dict)
    """Starts with the declared values, which those of many lanes are near to."""
    regular_for: bytes | None = None
    """The last parameters of a large model with which its equations were found to be independent."""
    relations_of_time: Watch | None = None
    """Searches relations of the time for the instants at which they change."""
    at_start: Any = None
    """The event at the start, compiled (`start.events`)."""
    wrong_relations: Callable[..., Any] | None = None
    """Which relations are not on the side that discrete values say, compiled
    (`simulation.missed_events`)."""
    checker: Any = None
    """Violations of the equations as written (`simulation.certificate`)."""
