"""Factorizations in equations: in arrays of components, at many times, by functions of the user.

On two cores, two batches of matrices that XLA works on at the same time wait for each other for ever: a
process of its own, so that a test fails instead of hanging.
"""

from __future__ import annotations

import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import Model, Par, Var, der, function, simulate, translate
from modia_py.expressions.primitives import named

BATCHES = """
import numpy as np
from tests.test_linear_algebra import Pair
from modia_py import simulate
from scipy.linalg import expm
model = Pair(60)
result = simulate(model, 1.0, times=11)
right = expm(-np.linalg.inv(np.eye(12) * 4 + 0.1)) @ np.ones(12)
for name in ("a.x", "b.x"):
    assert result[name].shape == (11, 60, 12)
    np.testing.assert_allclose(result[name][-1], np.tile(right, (60, 1)), rtol=1e-5)
"""


class Relaxation(Model):
    A = Par(np.eye(12) * 4 + 0.1)
    x = Var(12, init=np.ones(12))
    y = Var(12)

    def equations(self):
        return [der(self.x) == -self.y, self.y == np.linalg.solve(self.A, self.x)]


class Pair(Model):
    def __init__(self, n, **changes):
        super().__init__(**changes)
        self.a, self.b = Relaxation.array(n), Relaxation.array(n)

    def equations(self):
        return []


def test_arrays_of_components_that_solve_systems():
    subprocess.run([sys.executable, "-c", BATCHES], check=True, timeout=300)


@function
def smallest_eigenvalue(a):
    return jnp.linalg.eigvalsh(a)[0]


class Stiffness(Model):
    k = Var(init=1.0)
    w = Var()

    def equations(self):
        matrix = np.array([[2.0, -1.0], [-1.0, 2.0]])
        return [der(self.k) == -self.k, self.w == smallest_eigenvalue(self.k * matrix)]


def test_what_factorizes_is_known():
    assert named("linalg.solve").calls_lapack
    assert not named("linalg.norm").calls_lapack
    assert not named("sin").calls_lapack
    sim = translate(Stiffness())
    result = sim.simulate(1.0)
    assert np.allclose(result["w"], result["k"])
    assert result.final("w") == pytest.approx(np.exp(-1.0), rel=1e-5)


def test_an_equation_with_an_inverse():
    class Inverse(Model):
        A = Var((2, 2), init=np.eye(2))
        B = Var((2, 2))

        def equations(self):
            return [der(self.A) == self.A, np.linalg.inv(self.A) == self.B]

    result = simulate(Inverse(), 1.0)
    assert np.allclose(result.final("B"), np.exp(-1.0) * np.eye(2), rtol=1e-5)
