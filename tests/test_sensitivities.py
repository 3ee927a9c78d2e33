"""Sensitivities by name: values, relative ones, data sets, pictures, accuracy, messages."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from modia_py import Input, Model, ModelError, Par, SimulationError, Var, der, translate


class Filling(Model):
    """x' = -k x + gain u, two of them."""

    k = Par([1.0, 2.0])
    gain = Par(0.5)
    u = Input()
    x = Var(2, init=[1.0, 0.0])
    total = Var()

    def equations(self):
        return [der(self.x) == -self.k * self.x + self.gain * self.u, self.total == self.x.sum()]


@pytest.fixture(scope="module")
def sim():
    return translate(Filling())


@pytest.fixture(scope="module")
def found(sim):
    wrt = ["k", "gain", "x", "u"]
    return sim.sensitivities(["x", "total"], wrt, 2.0, times=[0.0, 0.5, 2.0], inputs={"u": 3.0}, rtol=1e-10)


def test_values(found):
    t, k = found.times, np.array([1.0, 2.0])
    decay = np.exp(-np.outer(t, k))
    assert_allclose(found["x", "gain"], 3.0 * (1 - decay) / k, atol=1e-8)
    assert_allclose(found["x", "u"], 0.5 * (1 - decay) / k, atol=1e-8)
    assert_allclose(found["x", "x"][:, [0, 1], [0, 1]], decay, atol=1e-8)
    assert_allclose(found["x", "x"][:, 0, 1], 0.0, atol=1e-12)
    assert_allclose(found["total", "k"], found["x", "k"].sum(axis=1), atol=1e-12)
    level = 1.5 / k
    of_k = -t[:, None] * (np.array([1.0, 0.0]) - level) * decay - (1 - decay) * level / k
    assert_allclose(found["x", "k"][:, [0, 1], [0, 1]], of_k, atol=1e-8)


def test_relative_and_named(found):
    largest = np.abs(found.outputs["total"]).max()
    assert_allclose(found.relative("total", "gain"), found["total", "gain"] * 0.5 / largest)
    data = found.to_xarray()
    assert data["d(x)/d(k)"].dims == ("time", "x_0", "k_0")
    assert_allclose(data["d(total)/d(gain)"].sel(time=2.0), found["total", "gain"][2])
    assert_allclose(data["total"], found.outputs["total"])


def test_tornado(found, tmp_path):
    figure = found.plot("total", file=str(tmp_path / "tornado.png"))
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    sizes = [bar.get_width() for bar in axes.patches]
    assert set(names) == {"k[0]", "k[1]", "gain", "x[0]", "x[1]", "u"}
    assert np.all(np.diff(np.abs(sizes)) >= 0)
    assert (tmp_path / "tornado.png").stat().st_size > 5000
    with pytest.raises(ModelError, match="no sensitivities of 'y'"):
        found.plot("y")


def test_accuracy(sim):
    options = {"times": [2.0], "inputs": {"u": 3.0}}
    found = sim.sensitivities(["total"], ["gain"], 2.0, accuracy=1e-7, **options)
    expected = 3.0 * ((1 - np.exp(-2.0)) + (1 - np.exp(-4.0)) / 2)
    assert 0 <= found.errors["total", "gain"] <= 1e-7
    assert_allclose(found["total", "gain"], expected, rtol=1e-7)
    with pytest.raises(SimulationError, match="not found as accurately as 1e-20"):
        sim.sensitivities(["total"], ["gain"], 2.0, accuracy=1e-20, rtol=1e-12, **options)


def test_messages(sim, found):
    given = {"inputs": {"u": 3.0}}
    with pytest.raises(ModelError, match="no sensitivity"):
        found["x", "K"]
    with pytest.raises(ModelError, match="wrt is a list of names"):
        sim.sensitivities(["x"], "k", 2.0, **given)
    with pytest.raises(ModelError, match="has no variable 'kk'"):
        sim.sensitivities(["x"], ["kk"], 2.0, **given)
    with pytest.raises(ModelError, match="total has no start value"):
        sim.sensitivities(["x"], ["total"], 2.0, **given)
    with pytest.raises(ModelError, match="two points at least"):
        sim.sensitivities(["x"], ["k"], 2.0, times=1, **given)
