"""How elaboration, program size and compile time grow with the number of copies.

    python benchmarks/language.py

Elaborates the resistor-capacitor ladder as one component array, and resistors as separate instances.
The machines are noisy, so compile times are the best of several, taken in turns.
"""

from __future__ import annotations

import platform
import sys
import time as clock
from pathlib import Path
from typing import Any

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from modia_py import elaborate, flat_residual
from modia_py.models.examples import Ladder
from tests.helpers import count_operations
from tests.test_lower import Separate

ROUNDS = 5


def seconds(act: Any) -> tuple[float, Any]:
    start = clock.perf_counter()
    result = act()
    return clock.perf_counter() - start, result


def arguments(lowered: Any) -> tuple[Any, ...]:
    v = np.zeros(lowered.unknowns.size)
    return 0.0, v, v, lowered.parameters()


def compile_time(lowered: Any) -> float:
    traced = jax.jit(lambda *args: lowered.residual(*args)).lower(*arguments(lowered))
    return seconds(traced.compile)[0]


def operations(lowered: Any) -> int:
    return count_operations(jax.make_jaxpr(lowered.residual)(*arguments(lowered)).jaxpr)


def main() -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}, jax {jax.__version__}")
    print("\nLadder(n)       equations  construct + elaborate   lower   operations   XLA compile (best)")
    elaborate(Ladder(10))  # imports and first tracing
    ladders = {}
    for n in (100, 10_000, 100_000):
        spent, flat = seconds(lambda n=n: elaborate(Ladder(n)))
        lowering, lowered = seconds(lambda flat=flat: flat_residual(flat))
        ladders[n] = (flat.size, spent, lowering, operations(lowered), lowered)
    compiled = {n: min(compile_time(ladders[n][-1]) for _ in range(ROUNDS)) for n in ladders}
    for n, (size, spent, lowering, count, _) in ladders.items():
        print(f"{n:>9} {size:>15} {spent:>18.3f} s {lowering:>10.3f} s {count:>8} {compiled[n]:>15.3f} s")
    print(f"compile time of 100 000 over that of 100: {compiled[100_000] / compiled[100]:.2f}")

    print("\nseparate resistors    construct + elaborate    lower   operations")
    for in_series in (True, False):
        for n in (10, 1000):
            spent, flat = seconds(lambda n=n, s=in_series: elaborate(Separate(n, s)))
            lowering, lowered = seconds(lambda flat=flat: flat_residual(flat))
            name = "series" if in_series else "parallel"
            print(f"{n:>6} in {name:<9} {spent:>16.3f} s {lowering:>13.3f} s {operations(lowered):>8}")


if __name__ == "__main__":
    main()
