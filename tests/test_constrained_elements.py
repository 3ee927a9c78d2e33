"""Index 3 where a constraint is on single elements of a vector, and the rest of it moves freely."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import Model, Par, Var, der, time, translate


class GuidedPoint(Model):
    """A point in space whose second coordinate is prescribed; a force along it sees to that."""

    m = Par(2.0, nonzero=True)
    g = Par([0.0, -9.81, 1.0])
    p = Var(3, init=[1.0, 0.0, 3.0])
    v = Var(3)
    f = Var()

    def equations(self):
        return [
            der(self.p) == self.v,
            self.m * der(self.v) == self.m * self.g + self.f * np.eye(3)[1],
            self.p[1] == 0.1 * np.sin(2 * time),
        ]


class LinkedMasses(Model):
    """Four masses on springs; the first two are one behind the other on a stiff link."""

    c = Par([1.0, 3.0, 4.0, 9.0])
    s = Var(4, init=[1.0, 1.5, 1.0, 1.0])
    u = Var(4, init=0.0)
    f = Var()

    def equations(self):
        return [
            der(self.s) == self.u,
            der(self.u) == -self.c * self.s + self.f * np.array([1.0, -1.0, 0.0, 0.0]),
            self.s[1] - self.s[0] == 0.5,
        ]


@pytest.fixture(scope="module", params=["auto", False, True])
def tearing(request):
    return request.param


def test_prescribed_coordinate_of_a_point(tearing):
    result = translate(GuidedPoint(), tearing=tearing, check=True).simulate(
        2.0, init={"v": [0.5, 0.2, 0.0]}, times=21, rtol=1e-8
    )
    t = result.time
    expected = np.stack([1 + 0.5 * t, 0.1 * np.sin(2 * t), 3 + t**2 / 2], axis=1)
    np.testing.assert_allclose(result["p"], expected, atol=1e-7)
    np.testing.assert_allclose(result["v"][:, 1], 0.2 * np.cos(2 * t), atol=1e-7)
    np.testing.assert_allclose(result["f"], 2 * (9.81 - 0.4 * np.sin(2 * t)), atol=1e-5)


def test_two_of_four_masses_linked():
    """The pair swings about its own rest with the stiffness of both springs and both masses."""
    result = translate(LinkedMasses(), check=True).simulate(5.0, times=51, rtol=1e-8)
    t = result.time
    rest, omega = -3 * 0.5 / 4, np.sqrt(2.0)
    first = rest + (1.0 - rest) * np.cos(omega * t)
    expected = np.stack([first, first + 0.5, np.cos(2 * t), np.cos(3 * t)], axis=1)
    np.testing.assert_allclose(result["s"], expected, atol=1e-6)
    np.testing.assert_allclose(result["f"], -(omega**2) * (first - rest) + first, atol=1e-5)
