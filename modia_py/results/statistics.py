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
    """The largest violation of an equation in units of tolerance, and where; at how many times it was
    looked."""

    violation: float
    equation: str
    time: float
    residual: float
    times: int
    times_of_output: int
    violated_times: int = 0

    @property
    def holds(self) -> bool:
        return self.violation <= LARGEST_VIOLATION

    def __str__(self) -> str:
        looked = "all" if self.times == self.times_of_output else f"{self.times} of {self.times_of_output}"
        text = f"equations hold within {self.violation:.2g} tolerances at {looked} times of output"
        if not self.holds:
            text = f"equations are violated at {self.violated_times} of {self.times} times"
        return f"{text}; worst at time {self.time:.6g}, off by {self.residual:.2g}: {self.equation}"


@dataclass(frozen=True)
class RunStatistics:
    """The work of the integrator, the seconds of each stage, and the multipliers of the constraints.

    The multipliers mu are zero in exact arithmetic: they appear only because a constraint and its
    derivatives are kept at the same time. The largest |mu| of each constraint therefore tells how far the
    numerical solution is from satisfying both; small is good. The counters of `work` are attributes
    here too: `result.stats.steps`.
    """

    work: Statistics = field(default_factory=Statistics)
    linear_solver: str = ""
    multipliers: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    certificate: Certificate | None = None

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
        return json.dumps(
            {
                "work": asdict(self.work),
                "linear_solver": self.linear_solver,
                "multipliers": {name: float(value) for name, value in self.multipliers.items()},
                "seconds": {stage: float(value) for stage, value in self.seconds.items()},
                "certificate": None if self.certificate is None else asdict(self.certificate),
            },
            default=lambda number: number.item(),  # counters may be numbers of numpy
        )

    @classmethod
    def from_json(cls, text: str) -> RunStatistics:
        """Counters that this version does not know are left out."""
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
        )
