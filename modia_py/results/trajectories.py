"""Named trajectories: every variable of a model over time, read when asked for and then kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import UnknownNameError, did_you_mean
from ..expressions.printing import der_text
from ..interruptions import Interruptible
from ..language.element_names import TrajectoryName, parse, readings, take
from ..solvers.status import Status
from .events import EventTable
from .name_patterns import is_pattern, matching
from .selections import TIME, ResultVariable, Selection, read_only
from .statistics import RunStatistics

NO_EVENTS = EventTable()
HIGHEST_ORDER = 4  # of derivatives looked for when a message lists those that exist


def _made_again(kind: type, first: tuple[Any, ...], values: dict, optional: dict[str, Any]) -> Any:
    """A result from what `__reduce__` has taken along."""
    return kind(*first, lambda name, order: values.get((name, order)), **optional)


class Trajectories:
    """What a simulation computed, by name. `Result` adds how to look at it and keep it."""

    def __init__(
        self,
        model: str,
        time: np.ndarray,
        variables: Mapping[str, ResultVariable],
        read: Callable[[str, int], np.ndarray | None],
        *,
        parameters: Mapping[str, np.ndarray] = MappingProxyType({}),
        stats: RunStatistics | None = None,
        status: Status = Status.SUCCESS,
        message: str = "",
        notes: tuple[str, ...] = (),
        events: EventTable | Callable[[], EventTable] = NO_EVENTS,
        output_rows: np.ndarray | None = None,
    ):
        self.model = model
        self.time = read_only(time)
        self.variables = MappingProxyType(dict(variables))
        self.parameters = MappingProxyType({name: read_only(value) for name, value in parameters.items()})
        self.stats = stats if stats is not None else RunStatistics()
        self.status = status
        self.message = message
        self.notes = tuple(notes)
        self.output_rows = read_only(np.arange(len(self.time)) if output_rows is None else output_rows)
        self._read = read
        self._events = events
        self._cache: dict[tuple[str, int], np.ndarray | None] = {}

    def __reduce__(self) -> Any:
        """For pickle and copies: all values travel, since what reads them cannot."""
        orders = range(HIGHEST_ORDER + 1)
        values = {
            (name, order): self.trajectory(name, order, keep=False)
            for name in self.variables
            for order in orders
        }
        optional = {
            "parameters": dict(self.parameters),
            "stats": self.stats,
            "status": self.status,
            "message": self.message,
            "notes": self.notes,
            "events": self.events,
            "output_rows": self.output_rows,
        }
        return _made_again, (type(self), (self.model, self.time, dict(self.variables)), values, optional)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables. Those of parameters are in `parameters`."""
        return tuple(self.variables)

    @property
    def names_in_order(self) -> tuple[str, ...]:
        """The names as a reader wants them: states, then the model's own variables, aliases at the end."""
        return tuple(sorted(self.variables, key=lambda name: _rank(self.variables[name])))

    @cached_property
    def events(self) -> EventTable:
        """The events of the run, as a table; made when it is first asked for."""
        return self._events if isinstance(self._events, EventTable) else self._events()

    @property
    def success(self) -> bool:
        """Whether the run has reached its end and its equations hold."""
        return not self.status.failed

    def __getitem__(self, text: str) -> np.ndarray:
        """The values of a name, a derivative, or elements of them: see the class."""
        return self.find(text).values[()]

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __contains__(self, text: object) -> bool:
        try:
            self.find(text)  # type: ignore[arg-type]
        except UnknownNameError:
            return False
        return True

    def final(self, text: str) -> Any:
        """Give the value at the end.

        Parameters
        ----------
        text : str
            A name, a derivative, or elements of them, as in `result[text]`.

        Returns
        -------
        number or array
            Without the axis of time; of a parameter, its value.

        Raises
        ------
        UnknownNameError
            If the result has no such name, or no point in time at all.

        Examples
        --------
        >>> from modia_py import simulate
        >>> from modia_py.models.examples import Decay
        >>> result = simulate(Decay(), 1.0, times=3)
        >>> round(float(result.final("x")), 4)
        0.3679
        """
        selection = self.find(text)
        if selection.constant:
            return selection.values[()]
        if not len(self.time):
            raise UnknownNameError(
                f"There is no last value of {text}: the run ended before its first point."
            )
        return selection.values[-1]

    def trajectory(self, name: str, order: int = 0, *, keep: bool = True) -> np.ndarray | None:
        """Read a whole variable, or a derivative of it.

        Parameters
        ----------
        name : str
            The name of a variable, without elements.
        order : int
            How often it is differentiated.
        keep : bool
            Whether to keep the values for the next time.

        Returns
        -------
        array or None
            With time as its first axis; None if no equation has that derivative.
        """
        if (name, order) in self._cache:
            return self._cache[name, order]
        with Interruptible(f"Reading {der_text(name, order)}", result=self):
            found = self._read(name, order)
        values = None if found is None else read_only(found)
        expected = (len(self.time), *self.variables[name].shape)
        if values is not None and values.shape != expected:
            raise ValueError(f"{der_text(name, order)} was read as {values.shape}, expected {expected}")
        if keep:
            self._cache[name, order] = values
        return values

    def find(self, text: str) -> Selection:
        """Find the values of a name, and what they are.

        Parameters
        ----------
        text : str
            A name, a derivative, or elements of them, as in `result[text]`.

        Returns
        -------
        Selection
            The values, the variable, and which elements of it these are.

        Raises
        ------
        UnknownNameError
            If the result has no such name; near names are proposed.

        Examples
        --------
        >>> from modia_py import simulate
        >>> from modia_py.models.examples import SlidingMass
        >>> found = simulate(SlidingMass(), 1.0, times=3).find("r[:2]")
        >>> found.values.shape, found.unit, found.label(1)
        ((3, 2), 'm', 'r[1]')
        """
        if text == "time":
            return Selection(self.time, TIME, 0, np.zeros((), np.int64))
        if not isinstance(text, str):
            raise UnknownNameError(f"A result is asked by name, such as result['time'], not {text!r}.")
        name, is_asked, unit = text.rpartition(" in ")
        if is_asked:
            return self.find(name.strip()).converted(unit.strip())
        wanted = parse(text)
        for reading in readings(wanted, self._is_known) if wanted is not None else ():
            return self._take(text, reading)
        raise UnknownNameError(self._unknown(text))

    def expand(self, text: str) -> tuple[str, ...]:
        """List the names that a pattern stands for.

        Parameters
        ----------
        text : str
            A name, or a pattern: a star stands for letters of one segment of a dotted name, two stars
            alone for any number of segments: `arm.*.tau`, `**.i`, `der(*.q)`, `c[0].*`.

        Returns
        -------
        tuple of str
            Names of variables, or of parameters where no variable matches; a text without stars as it is.

        Raises
        ------
        UnknownNameError
            If a pattern matches nothing.

        Examples
        --------
        >>> from modia_py import simulate
        >>> from modia_py.models.examples import SlidingMass
        >>> result = simulate(SlidingMass(), 1.0, times=3)
        >>> result.expand("?"), result.expand("der(*)")
        (('s', 'r', 'v', 'f', 'u'), ('der(s)', 'der(r)', 'der(v)'))
        """
        if not is_pattern(text):
            return (text,)
        found = matching(text, self.variables) or matching(text, self.parameters)
        if text.lstrip().startswith("der"):
            found = [name for name in found if name in self]
        if not found:
            raise UnknownNameError(
                f"Nothing in the result of {self.model} matches {text!r}. "
                f"{did_you_mean(text, [*self.names_in_order, *self.parameters])}"
            )
        return tuple(found)

    def _is_known(self, name: str) -> bool:
        return name in self.variables or name in self.parameters

    def _take(self, text: str, wanted: TrajectoryName) -> Selection:
        constant = wanted.name in self.parameters
        if constant and wanted.order:
            raise UnknownNameError(
                f"{wanted.name} is a parameter: it is constant and has no derivative here."
            )
        if constant:
            values = self.parameters[wanted.name]
            variable = ResultVariable(wanted.name, values.shape)
        else:
            values, variable = self._differentiated(wanted), self.variables[wanted.name]
        numbers = np.arange(variable.size).reshape(variable.shape)
        try:  # the numbers first: an error of numpy then counts axes as the user does, without time
            elements = np.asarray(take(numbers, wanted, variable.arrays, 0))
            chosen = take(values, wanted, variable.arrays, 0 if constant else 1)
        except (IndexError, ValueError) as error:
            shape = f"has shape {variable.shape}" if variable.shape else "is a scalar"
            raise UnknownNameError(f"{text!r} selects nothing: {wanted.name} {shape} ({error}).") from None
        return Selection(read_only(chosen), variable, wanted.order, elements, constant)

    def _differentiated(self, wanted: TrajectoryName) -> np.ndarray:
        values = self.trajectory(wanted.name, wanted.order)
        if values is not None:
            return values
        orders = range(1, max(HIGHEST_ORDER, wanted.order) + 1)
        known = [k for k in orders if self.trajectory(wanted.name, k) is not None]
        listed = " and ".join(der_text(wanted.name, order) for order in known)
        exist = f"There is {listed}." if known else "None of its derivatives is."
        nearest = der_text(wanted.name, max((k for k in known if k < wanted.order), default=0))
        raise UnknownNameError(
            f"{der_text(wanted.name, wanted.order)} is not part of the equations and was not computed. "
            f"{exist} Declare a variable for it, or differentiate the values numerically: "
            f"np.gradient(result[{nearest!r}], result.time, axis=0)."
        )

    def _unknown(self, text: str) -> str:
        proposal = did_you_mean(text, [*self.variables, *self.parameters, "time"])
        return f"The result of {self.model} has no {text!r}. {proposal}"


def _rank(variable: ResultVariable) -> int:
    if variable.role == "state":
        return 0
    if variable.role == "alias":
        return 3
    return 2 if "." in variable.name else 1
