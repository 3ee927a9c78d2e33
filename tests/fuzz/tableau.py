"""An integrator of circuits that shares nothing with modia_py: modified nodal analysis and Radau IIA.

Unknowns are the potentials of the nodes and the currents of sources of voltage and of inductors: M z' =
f(t, z), M singular, of index up to two. Radau IIA with three stages (Hairer, Wanner, Solving ODEs II,
IV.8) takes such systems as they are; only M z(0) enters, so consistent charges and fluxes are all it
needs. Steps are fixed; a second run with half of them tells how far the result can be trusted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_R6 = np.sqrt(6.0)
RADAU = np.array(
    [
        [(88 - 7 * _R6) / 360, (296 - 169 * _R6) / 1800, (-2 + 3 * _R6) / 225],
        [(296 + 169 * _R6) / 1800, (88 + 7 * _R6) / 360, (-2 - 3 * _R6) / 225],
        [(16 - _R6) / 36, (16 + _R6) / 36, 1 / 9],
    ]
)
NODES = np.array([(4 - _R6) / 10, (4 + _R6) / 10, 1.0])
INVERSE = np.linalg.inv(RADAU)


@dataclass(frozen=True)
class Descriptor:
    """M z' = f(t, z) with the Jacobian of f, and M z at the start."""

    mass: np.ndarray
    function: Callable[[float, np.ndarray], np.ndarray]
    jacobian: Callable[[float, np.ndarray], np.ndarray]
    start: np.ndarray


@dataclass(frozen=True)
class Trajectory:
    """z and z' at the output times after the first, and an estimate of their errors."""

    z: np.ndarray
    slope: np.ndarray
    z_error: np.ndarray
    slope_error: np.ndarray


class NoSolution(ArithmeticError):
    """Newton's iteration of a step fails."""


def radau_step(system: Descriptor, t: float, z: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """z and z' at the end of a step. Unknowns are the three stages."""
    n = len(z)
    stages = np.tile(z, (3, 1))
    times = t + NODES * h
    mass_part = np.kron(INVERSE / h, system.mass)
    last = np.inf
    for iteration in range(40):
        rates = INVERSE @ (stages - z) / h
        defect = rates @ system.mass.T - np.stack(
            [system.function(s, y) for s, y in zip(times, stages, strict=True)]
        )
        matrix = mass_part.copy()
        for k in range(3):
            block = slice(k * n, (k + 1) * n)
            matrix[block, block] -= system.jacobian(times[k], stages[k])
        try:
            change = np.linalg.solve(matrix, defect.ravel()).reshape(3, n)
        except np.linalg.LinAlgError as error:
            raise NoSolution(str(error)) from None
        size = float(np.max(np.abs(change) / (1e-3 + np.abs(stages))))
        limit = 1.0 if iteration < 20 else 0.3
        stages = stages - (change if size < limit else change * limit / size)
        if size < 1e-13 or (size < 1e-9 and size > 0.3 * last):
            return stages[2], INVERSE[2] @ (stages - z) / h
        last = size
    raise NoSolution(f"no convergence at {t}")


def _run(system: Descriptor, times: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    z = system.start
    values, slopes = [], []
    for i, (a, b) in enumerate(itertools.pairwise(times)):
        # Fast transients decay in the first interval: steps grow there.
        cuts = (
            np.concatenate([[0.0], np.geomspace(1e-8, 1.0, 12 * steps)])
            if i == 0
            else np.linspace(0, 1, steps + 1)
        )
        for low, high in itertools.pairwise(cuts):
            z, slope = radau_step(system, a + low * (b - a), z, (high - low) * (b - a))
        values.append(z)
        slopes.append(slope)
    return np.array(values), np.array(slopes)


def integrate(system: Descriptor, times: np.ndarray, accuracy: float = 1e-8, most: int = 32) -> Trajectory:
    """With as many steps as it takes for two runs to agree, up to a limit."""
    steps = 1
    coarse = _run(system, times, steps)
    while True:
        steps *= 2
        fine = _run(system, times, steps)
        errors = [np.max(np.abs(a - b), axis=0) for a, b in zip(coarse, fine, strict=True)]
        sizes = np.max(np.abs(fine[0]), axis=0)
        if np.all(errors[0] <= accuracy * (sizes + 1e-2)) or steps >= most:
            return Trajectory(fine[0], fine[1], *errors)
        coarse = fine
