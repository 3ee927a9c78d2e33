"""Named trajectories: every variable of a model over time, read when asked for and then kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import UnknownNameError, did_you_mean
from ..expressions.printing import der_text
from ..interruptions import Interruptible
from ..language.element_names import TrajectoryName, parse, readings, take
from ..solvers.status import Status
from ..units import parse_unit
from .events import EventTable
from .name_patterns import is_pattern, matching
from .statistics import RunStatistics

NO_EVENTS = EventTable()
HIGHEST_ORDER = 4  # of derivatives looked for when a message lists those that exist


@dataclass(frozen=True)
class ResultVariable:
    """What a result knows of a variable besides its values.

    Attributes
    ----------
    name : str
        The dotted name.
    shape : tuple of int
        At one time, the axes of component arrays first.
    lead : int
        How many axes belong to component arrays.
    unit, doc : str, optional
        As declared.
    arrays : tuple of int, optional
        Which segments of the name are component arrays, if that is known.
    is_discrete : bool
        Whether it changes at events only; its values are then numbers, integers or truth values, as
        declared.
    role : {"", "state", "alias"}
        "state": its start values can be chosen, and the integrator keeps it. "alias": equal to another
        variable but for the sign, or zero, by an equation or a connection.
    """

    name: str
    shape: tuple[int, ...]
    lead: int = 0
    unit: str | None = None
    doc: str | None = None
    arrays: tuple[int, ...] | None = None
    is_discrete: bool = False
    role: str = ""

    @property
    def size(self) -> int:
        """The number of elements at one time."""
        return int(np.prod(self.shape, dtype=np.int64))

    def element(self, position: int) -> str:
        """Name one element.

        Parameters
        ----------
        position : int
            Where it is in the flattened variable.

        Returns
        -------
        str
            The name by which a result can be asked for it.

        Examples
        --------
        >>> ResultVariable("c.r", (10, 3), lead=1, arrays=(0,)).element(7)
        'c[2].r[1]'
        """
        index = [int(number) for number in np.unravel_index(position, self.shape)]
        segments = self.name.split(".")
        for segment in self.arrays or ():
            segments[segment] += f"[{index.pop(0)}]"
        return ".".join(segments) + (f"[{', '.join(map(str, index))}]" if index else "")


TIME = ResultVariable("time", (), unit="s", doc="the time")


@dataclass(frozen=True)
class Selection:
    """Values that a text asked for, and what they are: the numbers of their elements in the variable."""

    values: np.ndarray
    variable: ResultVariable
    order: int
    elements: np.ndarray
    constant: bool = False  # a parameter: no axis of time
    converted_to: str | None = None  # the unit that was asked for

    def label(self, position: int) -> str:
        """The name of an element of the selection."""
        element = int(self.elements.ravel()[position])
        name = self.variable.element(element) if self.variable.shape else self.variable.name
        return der_text(name, self.order)

    @property
    def unit(self) -> str | None:
        if self.converted_to is not None:
            return self.converted_to
        unit = self.variable.unit
        for _ in range(self.order):
            unit = derivative_unit(unit)
        return unit

    def converted(self, text: str) -> Selection:
        """The same in another unit.

        Parameters
        ----------
        text : str
            The unit, such as "degC".

        Returns
        -------
        Selection
            With converted values.

        Raises
        ------
        UnknownNameError
            If a unit is unknown, or measures something else.
        """
        name, own = self.variable.name, parse_unit(self.unit) if self.unit else None
        wanted = parse_unit(text)
        if wanted is None:
            raise UnknownNameError(f"{text!r}, in which {name} is asked for, is no known unit.")
        if own is None:
            known = f"has the unit {self.unit!r}, which is not known" if self.unit else "has no unit"
            raise UnknownNameError(f"{name} {known}: it cannot be given in {text}.")
        if not own.converts_to(wanted):
            raise UnknownNameError(f"{name} is in {self.unit}, which cannot be given in {text}.")
        values = _read_only(np.asarray(own.converted(self.values.astype(float), wanted)))
        return replace(self, values=values, converted_to=text)


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
        self.time = _read_only(time)
        self.variables = MappingProxyType(dict(variables))
        self.parameters = MappingProxyType({name: _read_only(value) for name, value in parameters.items()})
        self.stats = stats if stats is not None else RunStatistics()
        self.status = status
        self.message = message
        self.notes = tuple(notes)
        self.output_rows = _read_only(np.arange(len(self.time)) if output_rows is None else output_rows)
        self._read = read
        self._events = events
        self._cache: dict[tuple[str, int], np.ndarray | None] = {}

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
        values = None if found is None else _read_only(found)
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
        raise UnknownNameError(self._unknown(text, wanted))

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
        return Selection(_read_only(chosen), variable, wanted.order, elements, constant)

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

    def _unknown(self, text: str, wanted: TrajectoryName | None) -> str:
        asked = wanted.name if wanted is not None else text
        proposal = did_you_mean(asked, [*self.variables, *self.parameters, "time"])
        return f"The result of {self.model} has no {text!r}. {proposal}"


def _rank(variable: ResultVariable) -> int:
    if variable.role == "state":
        return 0
    if variable.role == "alias":
        return 3
    return 2 if "." in variable.name else 1


def derivative_unit(unit: str | None) -> str | None:
    """The unit of a derivative.

    >>> [derivative_unit(unit) for unit in ("m", "m/s", "m/s2", "N.s/m", "s")]
    ['m/s', 'm/s2', 'm/s3', '(N.s/m)/s', '1']
    """
    if not unit or unit == "s":
        return "1" if unit else None
    match = re.fullmatch(r"([^/]+)/s(\d*)", unit)
    if match:
        return f"{match[1]}/s{int(match[2] or '1') + 1}"
    return f"{unit}/s" if "/" not in unit else f"({unit})/s"


def _read_only(values: Any) -> np.ndarray:
    view = np.asarray(values).view()
    view.setflags(write=False)
    return view
