"""The events of a run as a table: when, which condition, where it stands, and what it changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..optional_packages import require

ROWS_SHOWN = 30
CHANGES_SHOWN = 4
WIDEST_CELL = 60
HEADINGS = ("time", "kind", "condition", "becomes", "component", "line", "changes")
"""Names of the columns."""

Value = float | int | bool


@dataclass(frozen=True)
class Change:
    """A value that is another one after an event.

    Attributes
    ----------
    name : str
        Which variable, or element of one, as a result can be asked for it.
    before, after : number or bool
        Just before and just after the event; what was before is None where nothing was (at the start).

    Examples
    --------
    >>> print(Change("ball[3].v", -4.4294, 3.1006))
    ball[3].v: -4.4294 -> 3.1006
    """

    name: str
    before: Value | None
    after: Value

    def __str__(self) -> str:
        before = "" if self.before is None else f"{_number(self.before)} "
        return f"{self.name}: {before}-> {_number(self.after)}"


@dataclass(frozen=True)
class Event:
    """One condition that has changed at an event: a row of the table.

    Attributes
    ----------
    time : float
        When.
    kind : str
        "crossing": values of the model have crossed a threshold. "time": the instant was known, as of a
        `sample` or a relation of time. "start", "end": `initial()`, `terminal()`. "stop": an input, or a
        function of time, has jumped or has a kink. "follows": changed because something else did at this
        instant.
    condition : str
        As it was written; of a stop, what has jumped.
    becomes : bool or None
        Whether it has become true or false; None for a stop.
    component, line : str
        Where it is written: the dotted path of the component, empty for the model itself, and the file
        and line.
    changes : tuple of Change
        Discrete variables that were assigned and states that were set anew. A change that several
        conditions of one instant may have caused is told for each of them.
    """

    time: float
    kind: str
    condition: str
    becomes: bool | None = True
    component: str = ""
    line: str = ""
    changes: tuple[Change, ...] = ()

    def __str__(self) -> str:
        cells = _cells(self)
        return ", ".join(cell for cell in cells if cell)


class EventTable(Sequence[Event]):
    """The events of a run: one row for each condition that has changed, in the order of time.

    It prints as a table; `table[3]` and iteration give rows (`Event`), `table.time`, `table.condition`
    and so on columns as arrays.

    Parameters
    ----------
    rows : sequence of Event
        The rows.

    Examples
    --------
    >>> bounce = Event(0.4515, "crossing", "h < 0", True, "", "ball.py:8", (Change("n", 0, 1),))
    >>> table = EventTable([bounce])
    >>> print(table)
    time    kind      condition  becomes  component  line       changes
    0.4515  crossing  h < 0      true                ball.py:8  n: 0 -> 1
    >>> table.time, table.where(condition="h < 0")[0].changes[0].after
    (array([0.4515]), 1)
    """

    def __init__(self, rows: Sequence[Event] = ()):
        self.rows = tuple(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: Any) -> Any:
        """A row, or a table of some of them."""
        return EventTable(self.rows[which]) if isinstance(which, slice) else self.rows[which]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.rows)

    @property
    def time(self) -> np.ndarray:
        """When, for each row."""
        return np.array([row.time for row in self.rows], float)

    @property
    def kind(self) -> np.ndarray:
        """What kind of event, for each row."""
        return self._column("kind")

    @property
    def condition(self) -> np.ndarray:
        """Which condition, for each row."""
        return self._column("condition")

    @property
    def becomes(self) -> np.ndarray:
        """True, False, or None, for each row."""
        return self._column("becomes")

    @property
    def component(self) -> np.ndarray:
        """The component, for each row."""
        return self._column("component")

    @property
    def line(self) -> np.ndarray:
        """File and line, for each row."""
        return self._column("line")

    @property
    def changes(self) -> np.ndarray:
        """Tuples of `Change`, for each row."""
        return self._column("changes")

    def _column(self, name: str) -> np.ndarray:
        column = np.empty(len(self.rows), object)
        column[:] = [getattr(row, name) for row in self.rows]
        return column

    def where(self, **wanted: Any) -> EventTable:
        """Choose rows.

        Parameters
        ----------
        **wanted
            Values of columns: `kind="crossing"`, `component="ball[3]"`, `becomes=True`.

        Returns
        -------
        EventTable
            The rows that have all of these values.

        Raises
        ------
        TypeError
            If there is no such column.
        """
        if unknown := [name for name in wanted if name not in HEADINGS]:
            raise TypeError(f"Events have no column {unknown[0]!r}; there are {', '.join(HEADINGS)}.")
        chosen = [row for row in self.rows if all(getattr(row, k) == v for k, v in wanted.items())]
        return EventTable(chosen)

    def to_pandas(self) -> Any:
        """Convert to pandas.

        Returns
        -------
        pandas.DataFrame
            With the columns of the table; changes as text.

        Raises
        ------
        MissingPackageError
            If pandas is not installed: `pip install modia_py[io]`.
        """
        pandas = require("pandas", "io", "to_pandas")
        columns = {name: getattr(self, name) for name in HEADINGS[:-1]}
        return pandas.DataFrame({**columns, "changes": [_changes(row, None) for row in self.rows]})

    def __str__(self) -> str:
        if not self.rows:
            return "no events"
        shown = _shown(self.rows)
        table = [HEADINGS, *((*map(_clip, cells[:-1]), cells[-1]) for cells in map(_cells, shown))]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in table]
        if hidden := len(self.rows) - len(shown):
            lines.insert(1 + ROWS_SHOWN // 2, f"... {hidden} more ...")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.rows:
            return "no events"
        head = "".join(f"<th>{name}</th>" for name in HEADINGS)
        body = [
            "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in _cells(row))
            for row in _shown(self.rows)
        ]
        rows = "".join(f"<tr>{cells}</tr>" for cells in body)
        rest = f"<i>of {len(self.rows)} rows</i>" if len(self.rows) > len(body) else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rest}"


def _shown(rows: tuple[Event, ...]) -> tuple[Event, ...]:
    """All rows, or of many the first and the last."""
    half = ROWS_SHOWN // 2
    return rows if len(rows) <= ROWS_SHOWN else (*rows[:half], *rows[-half:])


def _cells(row: Event) -> tuple[str, ...]:
    becomes = "" if row.becomes is None else str(row.becomes).lower()
    text = _changes(row, CHANGES_SHOWN)
    return f"{row.time:.10g}", row.kind, row.condition, becomes, row.component, row.line, text


def _changes(row: Event, most: int | None) -> str:
    more = len(row.changes) - (most if most is not None else len(row.changes))
    listed = "; ".join(str(change) for change in row.changes[:most])
    return f"{listed}; and {more} more" if more > 0 else listed


def _clip(cell: str) -> str:
    return cell if len(cell) <= WIDEST_CELL else cell[: WIDEST_CELL - 3] + "..."


def _number(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.6g}"
