"""A part: one small random model and what it has to give. A batch: parts as the components of one model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

Must = Literal["right", "error"]

HEADER = """\
import numpy as np
from modia_py import Connector, Flow, Input, Model, Par, Var, connect, der, function, time
from modia_py import Discrete, always, assign, change, pre, reinit, sample, when, where
from modia_py import clock, hold, previous, sampled
"""


@dataclass(frozen=True)
class Deviation:
    """How far a variable is from what it has to be: the largest error, and the size the tolerance refers
    to.

    `gain` is how much the problem itself may enlarge an error of one tolerance in what the variable
    depends on.
    """

    name: str
    time: float
    value: float
    right: float
    size: float
    gain: float = 1.0
    doubt: float = 0.0  # error of the reference itself

    def in_tolerances(self, rtol: float, atol: float) -> float:
        error = abs(self.value - self.right)
        if not np.isfinite(error):
            return np.inf
        return max(0.0, error - 2 * self.doubt) / (self.gain * (rtol * self.size + atol))


class Part(Protocol):
    """What the campaign needs to know of a random model."""

    @property
    def kind(self) -> str: ...

    @property
    def must(self) -> Must:
        """`error` for a model that has no answer: it is refused, or its run fails."""

    @property
    def stop_time(self) -> float: ...

    def source(self, name: str) -> str:
        """The text of a class `name`, and of the classes it needs."""

    def inputs(self) -> Mapping[str, Callable[[Any], Any]]:
        """What its `Input`s are given."""

    def deviations(self, times: np.ndarray, values: Callable[[str], np.ndarray]) -> Iterator[Deviation]:
        """The largest error of each variable over these times."""

    def reductions(self) -> Iterator[Part]:
        """Parts that are a little smaller, and still well posed if this one is."""


def largest_deviation(
    name: str, times: np.ndarray, value: np.ndarray, right: np.ndarray, gain: float = 1.0
) -> Deviation:
    """The worst point of one variable; NaN is the worst of all."""
    value, right = (np.reshape(array, (len(times), -1)) for array in (value, right))
    with np.errstate(invalid="ignore"):
        error = np.abs(value - right)
    error[~np.isfinite(error)] = np.inf
    row, column = np.unravel_index(np.argmax(error), error.shape)
    size = float(np.max(np.abs(right), initial=0.0))
    return Deviation(name, times[row], value[row, column], right[row, column], size, gain)


def batch_source(parts: Sequence[Part], name: str = "Batch") -> str:
    """The text of one model with these parts as its components p0, p1, ..."""
    classes = [part.source(f"Part{i}") for i, part in enumerate(parts)]
    components = [f"    p{i} = Part{i}()" for i in range(len(parts))]
    return "\n\n".join([HEADER, *classes, "\n".join([f"class {name}(Model):", *components, ""])])


def single_source(part: Part, name: str = "Failing") -> str:
    """The text of one part as a model by itself."""
    return HEADER + "\n\n" + part.source(name)


def number(value: Any) -> str:
    """The text of a number or an array, to the last bit."""
    array = np.asarray(value, float)
    if array.ndim == 0:
        return repr(float(array))
    return f"np.array({array.tolist()!r})"
