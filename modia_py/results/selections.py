"""What a result is asked for: a variable, elements of it or a derivative, in its unit or in another one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import UnknownNameError
from ..expressions.printing import der_text
from ..units import parse_unit


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
        values = read_only(np.asarray(own.converted(self.values.astype(float), wanted)))
        return replace(self, values=values, converted_to=text)


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


def read_only(values: Any) -> np.ndarray:
    """The same values, which cannot be written to."""
    view = np.asarray(values).view()
    view.setflags(write=False)
    return view
