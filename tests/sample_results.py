"""A result made by hand: a scalar, a vector, component arrays with and without vectors, a list member."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from modia_py.results.result import Result, ResultVariable, RunStatistics
from modia_py.solvers.solution import Statistics
from modia_py.solvers.status import Status

TIME = np.linspace(0.0, 2.0, 21)
COPIES = np.arange(5.0)
VALUES = {
    ("s", 0): TIME**2,
    ("s", 1): 2 * TIME,
    ("s", 2): 0 * TIME + 2,
    ("r", 0): np.outer(TIME**2, [0.6, 0.8, 0.0]),
    ("r", 1): np.outer(2 * TIME, [0.6, 0.8, 0.0]),
    ("c.p.v", 0): TIME[:, None] + COPIES,
    ("b.r", 0): TIME[:, None, None] + 10 * np.arange(4.0)[:, None] + np.arange(3.0),
    ("d.a.x", 0): TIME[:, None, None] + 10 * np.arange(3.0)[:, None] + np.arange(2.0),
    ("big.u", 0): np.exp(-TIME[:, None] * (1 + np.arange(1000.0) / 100)),
    ("l[0].x", 0): -TIME,
}
VARIABLES = {
    "s": ResultVariable("s", (), 0, "m", "position on the rail"),
    "r": ResultVariable("r", (3,), 0, "m"),
    "c.p.v": ResultVariable("c.p.v", (5,), 1, "V", "potential", (0,)),
    "b.r": ResultVariable("b.r", (4, 3), 1, "m", None, (0,)),
    "d.a.x": ResultVariable("d.a.x", (3, 2), 2, None, None, (0, 1)),
    "big.u": ResultVariable("big.u", (1000,), 1, "V", None, (0,)),
    "l[0].x": ResultVariable("l[0].x", ()),
}
STATISTICS = RunStatistics(
    Statistics(steps=120, rejected_error=3, rejected_newton=1, residuals=400, order_histogram=(0, 5, 115)),
    "klu",
    {"length": 3e-9, "angle": 2e-12},
    {"translate": 0.25, "integrate": 1.0},
    method="bdf: ndf of order 1 to 5",
)
NOTES = ("s is 2 % <inaccurate>.", 'A "quoted" word.')


def sample_result(
    names: Iterable[str] = tuple(VARIABLES),
    status: Status = Status.SUCCESS,
    message: str = "",
    points: int = len(TIME),
) -> Result:
    def read(name: str, order: int) -> np.ndarray | None:
        values = VALUES.get((name, order))
        return None if values is None else values[:points]

    return Result(
        "Sample",
        TIME[:points],
        {name: VARIABLES[name] for name in names},
        read,
        parameters={
            "m": np.array(1.5),
            "c.C": np.arange(1.0, 6.0),
            "n": np.array([0.6, 0.8, 0.0]),
        },
        stats=STATISTICS,
        status=status,
        message=message,
        notes=NOTES,
    )
