"""Radau IIA beside BDF and beside scipy's Radau: where it wins, and by how much.

    python benchmarks/radau.py [converter] [oscillations] [beam] [scipy]

converter: a buck converter of 1000 periods. oscillations: the ring modulator. beam: the elastic beam of 40
joints. scipy: problems in the special form against scipy's Radau on the explicit equations in minimal
coordinates, at the tolerances at which both reach about the same errors. Milliseconds are of the processor,
of a second run.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from modia_py import translate
from modia_py.models.switched_examples import BuckConverter
from modia_py.simulation.run import METHODS
from modia_py.solvers import solve

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.problems import further, oscillatory

PERIODS = 1000


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    found = run()
    return found, 1e3 * (time.process_time() - began)


def converter() -> None:
    sim, stop = translate(BuckConverter()), PERIODS * 10e-6
    print(f"{'converter':16}{'method':>7}{'steps':>8}{'rejected':>9}{'factor.':>9}{'events':>8}{'ms':>9}")
    for method in ("bdf", "radau", "auto"):
        sim.simulate(stop, method=method, times=[stop], progress=False)
        found, ms = timed(lambda m=method: sim.simulate(stop, method=m, times=[stop], progress=False))
        s = found.stats
        print(f"{'':16}{method:>7}{s.steps:8}{s.rejected:9}{s.factorizations:9}{len(found.events):8}{ms:9.1f}"
              f"  {s.method}", flush=True)  # fmt: skip


def compare(case: Any, tolerances: tuple[float, ...], reference: np.ndarray, methods: list[str]) -> None:
    print(f"{case.name:16}{'method':>7}{'rtol':>8}{'status':>9}{'error/tol':>11}{'steps':>8}{'rejected':>9}"
          f"{'factor.':>9}{'resid.':>9}{'ms':>9}  low orders")  # fmt: skip
    for rtol, method in itertools.product(tolerances, methods):
        options = {"rtol": rtol, "atol": case.atol * rtol / 1e-7, "times": [case.t1]}

        def run(options: Any = options, method: str = method) -> Any:
            formula = METHODS[method]
            return solve(
                case.problem, case.t0, case.t1, case.x0, formula=formula, max_steps=10**7, **options
            )

        run({**options, "rtol": 1e-1, "atol": 1e-1})
        found, ms = timed(run)
        s = found.statistics
        tolerance = options["rtol"] * np.abs(reference) + options["atol"]
        error = np.max(np.abs(found.x_last - reference) / tolerance)
        low = sum(s.order_histogram[1:3]) / max(s.steps, 1)
        print(f"{'':16}{method:>7}{rtol:8.0e}{found.status.name[:8]:>9}{error:11.3g}{s.steps:8}{s.rejected:9}"
              f"{s.factorizations:9}{s.residuals:9}{ms:9.1f}  {100 * low:.0f} % {found.method}",
              flush=True)  # fmt: skip


def oscillations() -> None:
    case = oscillatory.ring_modulator()
    compare(case, (1e-4, 1e-6), case.reference, ["bdf", "radau", "auto"])


def beam() -> None:
    case = oscillatory.beam()
    options = {"rtol": 1e-9, "atol": 1e-11, "times": [case.t1], "formula": "radau", "max_steps": 10**7}
    found = solve(case.problem, case.t0, case.t1, case.x0, **options)
    print(
        "beam, angles at the end:", found.x_last[:3], found.status.name, found.statistics.steps, flush=True
    )
    compare(case, (1e-4, 1e-6), found.x_last, ["radau", "bdf"])


def scipy_radau() -> None:
    from scipy.integrate import solve_ivp

    def angles(x: np.ndarray) -> np.ndarray:
        return further.cartesian(x)

    def with_node(x: np.ndarray) -> np.ndarray:
        return np.array([x[0], float(further.rectifier_node(0.1, x[0]))])

    cases = {case.name: case for case in further.all_cases()}
    reduced = {
        "van_der_pol": (further.van_der_pol, None, lambda x: x),
        "oregonator": (further.oregonator, None, lambda x: x),
        "brusselator": (further.brusselator, None, lambda x: x),
        "double_pendulum": (further.double_pendulum_angles, further.DOUBLE_START, angles),
        "rectifier": (further.rectifier_reduced, np.zeros(1), with_node),
    }
    print(
        f"{'problem':16}{'code':>14}{'rtol':>8}{'error':>10}{'steps':>8}{'factor.':>9}{'resid.':>9}{'ms':>9}"
    )
    for (name, (f, x0, back)), rtol in itertools.product(reduced.items(), (1e-4, 1e-6, 1e-8)):
        case = cases[name]
        atol = case.atol * rtol / 1e-7
        start = case.x0 if x0 is None else x0

        def by_scipy(f: Any = f, start: Any = start, rtol: float = rtol, atol: float = atol) -> Any:
            span = (case.t0, case.t1)  # noqa: B023
            return solve_ivp(lambda t, x: f(t, x, np), span, start, "Radau", rtol=rtol, atol=atol)

        def ours(formula: str, rtol: float = rtol, atol: float = atol) -> Any:
            options = {"rtol": rtol, "atol": atol, "times": [case.t1], "formula": formula}  # noqa: B023
            return solve(case.problem, case.t0, case.t1, case.x0, **options)  # noqa: B023

        states = len(case.reference)
        scale = np.abs(case.reference) + 1e-2 * np.max(np.abs(case.reference))
        found, ms = timed(by_scipy)
        off = np.max(np.abs(back(found.y[:, -1]) - case.reference) / scale)
        print(f"{name:16}{'scipy Radau':>14}{rtol:8.0e}{off:10.1e}{len(found.t) - 1:8}{found.nlu:9}"
              f"{found.nfev:9}{ms:9.1f}", flush=True)  # fmt: skip
        for formula in ("radau", "ndf"):
            ours(formula)
            own, ms = timed(lambda formula=formula: ours(formula))
            s = own.statistics
            off = np.max(np.abs(own.x_last[:states] - case.reference) / scale)
            print(f"{'':16}{formula:>14}{rtol:8.0e}{off:10.1e}{s.steps:8}{s.factorizations:9}"
                  f"{s.residuals:9}{ms:9.1f}", flush=True)  # fmt: skip


ALL = {"converter": converter, "oscillations": oscillations, "beam": beam, "scipy": scipy_radau}

if __name__ == "__main__":
    for name in sys.argv[1:] or ALL:
        ALL[name]()
