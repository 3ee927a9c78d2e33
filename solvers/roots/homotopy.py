"""A way to a root from far away: g(x) = (1 - s) g(x_start), followed from s = 0 to s = 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

FIRST_STEP = 0.1


def follow_homotopy(
    newton: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, bool]],
    x: np.ndarray,
    g: np.ndarray,
    *,
    steps: int,
    shortest: float,
    may_go_on: Callable[[], bool] = lambda: True,
) -> tuple[np.ndarray | None, float]:
    """x at s = 1, or None; and how far s came. Steps adapt; newton(x, target) makes each of them, and says
    whether it has."""
    s, step = 0.0, FIRST_STEP
    for _ in range(steps):
        ahead = min(1.0, s + step)
        x_new, reached = newton(x, (1.0 - ahead) * g)
        if reached:
            x, s, step = x_new, ahead, 2.0 * step
            if s == 1.0:
                return x, s
        else:
            step *= 0.25
        if step < shortest or not may_go_on():
            return None, s
    return None, s
