"""The table of events of a run, from what the integrator has recorded of each: made when it is asked for.

Of an event is known which discrete values its first pass has changed (what it was noticed by), and which
are others after it. Relations, samples and the like among them are its conditions; declared ones, and
states that a `reinit` has set, are what it changed. `EventCauses` tells which condition belongs to which
change.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..arrays.index1 import Slot
from ..expressions.printing import der_text
from ..expressions.symbol_kinds import DiscreteRole
from ..language.event_causes import ELEMENTARY, EventCauses
from ..language.event_parts import RelationKind
from ..language.flat_model import FlatModel
from ..program.program import Arguments, Program
from ..results.events import Change, Event, EventTable
from ..results.selections import ResultVariable
from ..solvers.solution import EventRecord
from .event_names import EventNames
from .run import Run

LEAST_JUMP = 100.0
"""Of a state that nothing has set, in tolerances: less, and it may only have been put back onto its
constraints."""
NAMED_JUMPS = 20
"""States whose jumps are told for one event."""


def event_table(
    flat: FlatModel,
    program: Program,
    run: Run,
    arguments: Arguments,
    variables: Mapping[str, ResultVariable],
) -> EventTable:
    """All events of a run, and its stops. `arguments`: those at the start."""
    rows = [
        Event(stretch.start, "stop", stretch.cause, None)
        for stretch in run.stretches[1:]
        if stretch.cause and stretch.start <= run.end
    ]
    if program.events is not None:
        rows += _Rows(flat, program, run, variables).all(np.asarray(arguments.p))
        rows.sort(key=lambda row: row.time)  # stable: a stop comes before what follows from it
    return EventTable(rows)


class _Rows:
    """The rows of the events of one run."""

    def __init__(
        self, flat: FlatModel, program: Program, run: Run, variables: Mapping[str, ResultVariable]
    ):
        assert program.events is not None
        assert run.outputs is not None
        self.flat, self.program, self.run, self.variables = flat, program, run, variables
        self.functions = program.events.functions
        self.causes, self.names = EventCauses(flat), EventNames(flat, self.functions)
        roles = self.causes.roles
        self.is_condition = np.array([role in ELEMENTARY for role in roles], bool)
        self.is_declared = np.array([role is DiscreteRole.DECLARED for role in roles], bool)
        self.reinits_of: dict[int, list[int]] = {}
        for row in range(len(self.functions.reinits)):
            for place in self.causes.conditions(row).tolist():
                self.reinits_of.setdefault(place, []).append(row)
        self.trajectories: dict[tuple[str, int], np.ndarray] = {}
        self.x = np.concatenate([span.x for span in run.spans]) if run.spans else np.zeros((0, 0))
        self.states = np.flatnonzero(program.layout.kind == Slot.STATE)
        self.in_x = _variables_in_x(program, self.states)
        self.least = LEAST_JUMP * run.tolerance(self.x)

    def all(self, p: np.ndarray) -> list[Event]:
        now = np.array(self.functions.declared(p))
        rows = self._at_start(now)
        for record in self.run.events:
            rows += self._of_event(record, now)
            now[record.places] = record.values
        return rows

    def _of_event(self, record: EventRecord, before: np.ndarray) -> list[Event]:
        after = dict(zip(record.places.tolist(), record.values.tolist(), strict=True))
        triggers = set(record.triggers.tolist())
        # What the event was noticed by comes first, then what followed.
        places = (*sorted(triggers), *sorted(after.keys() - triggers))
        conditions = [place for place in places if self.is_condition[place]]
        changes = self._assigned(before, after) + self._set(record, before, after, triggers)
        found: dict[int, list[Change]] = {place: [] for place in conditions}
        for causes, change in changes:
            for place in causes & found.keys() or found.keys():
                found[place].append(change)
        jumps = self._jumps(record, {change.name for _, change in changes})
        if not found and (changes or jumps):
            return [Event(record.time, "time", "", None, changes=(*(c for _, c in changes), *jumps))]
        rows = []
        for place, own in found.items():
            becomes = bool(after[place]) if place in after else not before[place]
            kind = self._kind(place, record.is_crossing and place in triggers)
            rows.append(Event(record.time, kind, *self._texts(place, becomes), (*own, *jumps)))
        return rows

    def _texts(self, place: int, becomes: bool) -> tuple[str, bool, str, str]:
        text, path, line = self.names.of(place)
        return text, becomes, path, line

    def _kind(self, place: int, is_crossing: bool) -> str:
        match self.causes.roles[place]:
            case DiscreteRole.INITIAL:
                return "start"
            case DiscreteRole.TERMINAL:
                return "end"
            case DiscreteRole.SAMPLE:
                return "time"
        if self.names.relation_kind(place) is not RelationKind.STATE:
            return "time"
        return "crossing" if is_crossing else "follows"

    def _assigned(self, before: np.ndarray, after: dict[int, float]) -> list[tuple[frozenset[int], Change]]:
        """Declared discrete elements that have changed, with what may have changed them."""
        found = []
        for place, value in after.items():
            if self.is_declared[place]:
                name, cast = self.names.declared(place, self.variables)
                found.append((self.causes.of(place), Change(name, cast(before[place]), cast(value))))
        return found

    def _set(
        self, record: EventRecord, before: np.ndarray, after: dict[int, float], triggers: set[int]
    ) -> list[tuple[frozenset[int], Change]]:
        """States that a reinit has set: of conditions that have become true."""
        if not self._has_rows(record) or not self.reinits_of:
            return []
        risen = [place for place in triggers if not before[place]]
        risen += [place for place, value in after.items() if value and place not in triggers]
        rows = sorted({row for place in risen for row in self.reinits_of.get(place, ())})
        found: dict[str, tuple[frozenset[int], Change]] = {}
        for row in rows:
            name, values = self._trajectory(row)
            change = Change(name, float(values[record.row - 1]), float(values[record.row]))
            found[name] = self.causes.of_reinit(row), change
        return list(found.values())

    def _has_rows(self, record: EventRecord) -> bool:
        """Whether the values just before and after it are known."""
        return record.has_rows and 0 < record.row < len(self.x)

    def _trajectory(self, row: int) -> tuple[str, np.ndarray]:
        """The variable that a row of the reinits sets, by name and at all rows of output."""
        table = self.functions.reinits
        element, order = int(table.place[row]), int(table.order[row])
        symbol = self.names.variable(element)
        key = symbol.name, order
        if key not in self.trajectories:
            assert self.run.outputs is not None
            values = self.run.outputs.read(symbol.name, order)
            assert values is not None, "what is set anew is known"
            self.trajectories[key] = values.reshape(len(values), -1)
        return self._name(element, order), self.trajectories[key][:, element - symbol.offset]

    def _name(self, element: int, order: int) -> str:
        """An element of the flat variables, differentiated."""
        symbol = self.names.variable(element)
        if not symbol.shape:
            return der_text(symbol.name, order)
        return der_text(self.variables[symbol.name].element(element - symbol.offset), order)

    def _jumps(self, record: EventRecord, told: set[str]) -> tuple[Change, ...]:
        """States that impulses have moved."""
        if not self._has_rows(record):
            return ()
        left, right = self.x[record.row - 1], self.x[record.row]
        moved = self.states[np.abs(right - left)[self.states] > self.least[self.states]]
        changes = []
        for k in moved[:NAMED_JUMPS].tolist():
            elements = self.in_x.get(k, [])
            names = [self._name(element, order) for element, order, _ in elements]
            if not told.isdisjoint(names) or not names:
                continue
            sign = elements[0][2]
            changes.append(Change(names[0], sign * float(left[k]), sign * float(right[k])))
        return tuple(changes)

    def _at_start(self, now: np.ndarray) -> list[Event]:
        """What `initial()` has done, or a sample at the start."""
        declared, t = self.run.declared, self.run.start
        assert declared is not None
        places = np.flatnonzero(self.is_declared & (declared != now))
        found: dict[int, list[Change]] = {}
        roles = self.causes.roles
        for causes, change in self._assigned(declared, {int(k): float(now[k]) for k in places}):
            pulses = [k for k in sorted(causes) if roles[k] is not DiscreteRole.RELATION]
            # In later passes relations have made conditions true, as in any event.
            for place in pulses or sorted(causes):
                found.setdefault(place, []).append(change)
        for row in range(len(self.functions.reinits)) if len(self.x) else ():
            own = [self.causes.direct(place) for place in self.causes.conditions(row).tolist()]
            initial = [k[0] for k in own if len(k) == 1 and roles[k[0]] is DiscreteRole.INITIAL]
            for place in initial[:1]:
                name, values = self._trajectory(row)
                found.setdefault(place, []).append(Change(name, None, float(values[0])))
        is_pulse = {place: roles[place] is not DiscreteRole.RELATION for place in found}
        return [
            Event(t, "start", *self._texts(place, is_pulse[place] or bool(now[place])), tuple(own))
            for place, own in found.items()
        ]


def _variables_in_x(program: Program, states: np.ndarray) -> dict[int, list[tuple[int, int, int]]]:
    """For each state in x the variables that it is: element, order of the derivative, sign."""
    where = program.functions.value_map
    wanted = set(states.tolist())
    found: dict[int, list[tuple[int, int, int]]] = {}
    for order in range(where.orders):
        place = where.place[order]
        for element in np.flatnonzero((place >= 0) & (place < program.functions.size)).tolist():
            k = int(place[element])
            if k in wanted:
                found.setdefault(k, []).append((element, order, int(where.sign[order][element])))
    return found
