"""What a simulation cost, and how well its equations and constraints were kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ..solvers.solution import Statistics

MULTIPLIERS_SHOWN = 3
LARGEST_VIOLATION = 10.0
"""Of an equation, in units of the tolerance; beyond it a run has failed."""


@dataclass(frozen=True)
class Certificate:
    """How well the equations as written hold at the output: the largest violation, and where it is.

    Attributes
    ----------
    violation : float
        The largest violation of an equation, in units of the tolerance. Beyond 10 the run has failed.
    equation : str
        Which equation that is, with its line.
    time : float
        When.
    residual : float
        lhs - rhs there, in the unit of the equation.
    times, times_of_output : int
        At how many times was looked, and how many there are.
    violated_times : int
        At how many of them an equation is violated.
    """

    violation: float
    equation: str
    time: float
    residual: float
    times: int
    times_of_output: int
    violated_times: int = 0

    @property
    def holds(self) -> bool:
        """Whether no equation is violated."""
        return self.violation <= LARGEST_VIOLATION

    def __str__(self) -> str:
        looked = "all" if self.times == self.times_of_output else f"{self.times} of {self.times_of_output}"
        text = f"equations hold within {self.violation:.2g} tolerances at {looked} times of output"
        if not self.holds:
            text = f"equations are violated at {self.violated_times} of {self.times} times"
        return f"{text}; worst at time {self.time:.6g}, off by {self.residual:.2g}: {self.equation}"


@dataclass(frozen=True)
class RunStatistics:
    """What a run cost, and how well its equations and constraints are kept.

    The counters of `work` are attributes here too: `result.stats.steps`.

    Attributes
    ----------
    work : Statistics
        Steps, rejected steps, residuals, Jacobians, factorizations, orders.
    linear_solver : str
        What has solved the linear systems, and why it was taken.
    multipliers : mapping of str to float
        The largest |mu| of each constraint. The multipliers mu are zero in exact arithmetic: they appear
        only because a constraint and its derivatives are kept at the same time. They tell how far the
        numerical solution is from satisfying both; small is good.
    seconds : mapping of str to float
        The time that each stage took: translate, compile, initialize, integrate, check.
    certificate : Certificate, optional
        How well the equations hold; None if the run failed before.
    method : str
        What has integrated, as chosen and as run: "bdf: ndf of order 1 to 5".
    """

    work: Statistics = field(default_factory=Statistics)
    linear_solver: str = ""
    multipliers: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    certificate: Certificate | None = None
    method: str = ""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name != "work":  # both are asked for before the fields are there
            return getattr(self.work, name)
        raise AttributeError(name)

    @property
    def line(self) -> str:
        """The work in one line."""
        work = self.work
        rejected = f" ({work.rejected} rejected)" if work.rejected else ""
        parts = [
            f"{work.steps} steps{rejected}",
            f"{work.residuals} residuals",
            f"{work.jacobians} Jacobians",
            f"{work.factorizations} factorizations",
        ]
        if self.linear_solver:
            parts.append(self.linear_solver)
        if self.seconds:
            parts.append(f"{sum(self.seconds.values()):.3g} s")
        return ", ".join(parts)

    def __str__(self) -> str:
        lines = [str(self.work)]
        if self.method:
            lines.append(f"method: {self.method}")
        if self.linear_solver:
            lines.append(f"linear solver: {self.linear_solver}")
        if self.seconds:
            stages = ", ".join(f"{stage} {seconds:.3g} s" for stage, seconds in self.seconds.items())
            lines.append(f"time: {stages}")
        if self.multipliers:
            largest = sorted(self.multipliers.items(), key=lambda item: -item[1])
            shown = ", ".join(f"{value:.2g} {name}" for name, value in largest[:MULTIPLIERS_SHOWN])
            lines.append(f"largest multipliers of constraints (small is good): {shown}")
        if self.certificate is not None:
            lines.append(f"certificate: {self.certificate}")
        return "\n".join(lines)

    def to_json(self) -> str:
        """Write as JSON, for files.

        Returns
        -------
        str
            What `from_json` reads.
        """
        return json.dumps(
            {
                "work": asdict(self.work),
                "method": self.method,
                "linear_solver": self.linear_solver,
                "multipliers": {name: float(value) for name, value in self.multipliers.items()},
                "seconds": {stage: float(value) for stage, value in self.seconds.items()},
                "certificate": None if self.certificate is None else asdict(self.certificate),
            },
            default=lambda number: number.item(),  # counters may be numbers of numpy
        )

    @classmethod
    def from_json(cls, text: str) -> RunStatistics:
        """Read what `to_json` has written. Counters that this version does not know are left out.

        Parameters
        ----------
        text : str
            The JSON.

        Returns
        -------
        RunStatistics
            As it was.
        """
        data = json.loads(text)
        known = {entry.name for entry in fields(Statistics)}
        work = {name: value for name, value in data["work"].items() if name in known}
        work["order_histogram"] = tuple(work.get("order_histogram", ()))
        certificate = data.get("certificate")
        return cls(
            Statistics(**work),
            data["linear_solver"],
            data["multipliers"],
            data["seconds"],
            None if certificate is None else Certificate(**certificate),
            data.get("method", ""),
        )
