"""Fits: values within their intervals, what data do not determine, failures within a search, wrong data."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import (
    Experiment,
    Input,
    Model,
    ModelError,
    Par,
    SimulationError,
    Var,
    der,
    estimate,
    reinit,
    translate,
    when,
)
from modia_py.models.examples import Decay, Ladder
from modia_py.studies.identifiability import information

from .fitted_models import NOISE, TRUE, Rectifier, measured

T = np.linspace(0.1, 2.0, 20)


class Product(Model):
    """Only a * b has an effect; c has none on x."""

    a = Par(2.0)
    b = Par(0.5)
    c = Par(1.0)
    x = Var(init=1.0)
    y = Var(init=0.0)

    def equations(self):
        return [der(self.x) == -self.a * self.b * self.x, der(self.y) == self.c]


class Driven(Model):
    k = Par(1.0)
    gain = Par(1.0)
    u = Input()
    x = Var(init=0.0)

    def equations(self):
        return [der(self.x) == -self.k * self.x + self.gain * self.u]


class Ball(Model):
    e = Par(0.7)
    g = Par(9.81)
    h = Var(init=1.0)
    v = Var(init=0.0)

    def equations(self):
        return [
            der(self.h) == self.v,
            der(self.v) == -self.g,
            when(self.h < 0, reinit(self.v, -self.e * self.v)),
        ]


class Singular(Model):
    """Runs to infinity at time 1/k."""

    k = Par(0.3)
    x = Var(init=1.0)

    def equations(self):
        return [der(self.x) == self.k * self.x**2]


@pytest.fixture(scope="module")
def decay():
    return translate(Decay())


@pytest.fixture(scope="module")
def driven():
    return translate(Driven())


def noisy(values, sigma, seed=0):
    return values + sigma * np.random.default_rng(seed).standard_normal(np.shape(values))


def test_the_intervals_of_a_linear_fit_are_those_of_linear_least_squares(driven):
    """x is linear in the gain: the covariance is known in closed form."""
    shape = 1.0 - np.exp(-T)
    data = noisy(3.0 * shape, 0.05)
    fit = estimate(driven, {"time": T, "x": data}, ["gain"], inputs={"u": 1.0})
    best = data @ shape / (shape @ shape)
    sigma = np.sqrt(np.sum((data - best * shape) ** 2) / (len(T) - 1))
    assert fit["gain"] == pytest.approx(best, rel=1e-6)
    assert fit.standard_errors["gain"] == pytest.approx(sigma / np.linalg.norm(shape), rel=1e-5)
    assert fit.noise["x"] == pytest.approx(sigma, rel=1e-5)
    half = 2.093024 * sigma / np.linalg.norm(shape)  # Student's t with 19 degrees of freedom
    assert fit.intervals["gain"] == pytest.approx([best - half, best + half], rel=1e-5)
    known = estimate(driven, {"time": T, "x": data}, ["gain"], inputs={"u": 1.0}, noise={"x": 0.05})
    assert known.standard_errors["gain"] == pytest.approx(0.05 / np.linalg.norm(shape), rel=1e-5)
    assert known.noise == {}
    assert fit.residuals("x")[:, 0] == pytest.approx(data - best * shape, abs=1e-6)


@pytest.mark.slow
def test_five_parameters_of_a_rectifier(tmp_path):
    sim = translate(Rectifier())
    data = measured(sim, np.random.default_rng(3), 40)
    guesses = {name: 1.3 * value for name, value in TRUE.items()}
    fit = estimate(sim, data, guesses, logarithmic=["d.Is"], rtol=1e-6, confidence=0.999)
    for name, value in TRUE.items():
        low, high = fit.intervals[name]
        assert low < value < high
    for name, value in fit.noise.items():
        assert 0.5 < value / NOISE[name] < 2.0
    text = str(fit)
    assert "5 parameters, 114 measured values" in text
    assert "99.9 % confidence interval" in text
    fit.plot(tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 20_000
    assert fit.results[""].success


def test_what_is_not_determined_is_named():
    sim = translate(Product())
    data = {"time": T, "x": noisy(np.exp(-1.2 * T), 0.01)}
    fit = estimate(sim, data, ["a", "b", "c"])
    assert fit.undetermined == ("a", "b", "c")
    assert fit["a"] * fit["b"] == pytest.approx(1.2, abs=0.05)
    assert np.isinf(fit.standard_errors["a"])
    texts = [str(own) for own in fit.combinations if np.isinf(own.uncertainty)]
    assert len(texts) == 2
    assert any(text == "c by +100 %: nothing that was measured changes" for text in texts)
    assert any("a by" in text and "b by" in text and "-100 %" in text for text in texts)
    assert "not determined by the data" in fit.report()
    alone = estimate(sim, data, ["a", "c"])
    assert alone.undetermined == ("c",)
    low, high = alone.intervals["a"]
    assert low < 2.4 < high


def test_information_of_a_null_space_has_few_names():
    """Four columns of rank two: each direction is told by the fewest names."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((30, 2))
    jacobian = np.stack([base[:, 0], 3 * base[:, 0], base[:, 1], np.zeros(30)], axis=1)
    found = information(jacobian, np.ones(4), ("a", "b", "c", "d"), 1e-8, np.zeros(4, bool))
    assert found.rank == 2
    assert list(found.undetermined) == [True, True, False, True]
    names = [{name for name, _ in own.changes} for own in found.combinations[:2]]
    assert {"d"} in names
    assert {"a", "b"} in names
    # The variance of c is that beside a or b, which determine one direction together.
    a, c = base.T
    assert found.covariance[2, 2] == pytest.approx(1 / (c @ c - (a @ c) ** 2 / (a @ a)), rel=1e-6)


def test_experiments_with_values_and_unknowns_of_their_own(driven):
    step = np.linspace(0.0, 2.0, 5)
    tables = {"a": (step, [0.0, 1.0, 0.0, 2.0, 1.0]), "b": 1.5}
    starts, experiments = {"a": 0.5, "b": -1.0}, {}
    for name, table in tables.items():
        run = driven.simulate(2.0, params={"k": 0.8, "gain": 1.3}, init={"x": starts[name]},
                              inputs={"u": table}, times=T, rtol=1e-10)  # fmt: skip
        x = noisy(run["x"][run.output_rows], 0.01, seed=len(experiments))
        x[3] = np.nan
        experiments[name] = Experiment({"x": (T, x)}, inputs={"u": table}, own=["x"])
    fit = estimate(driven, experiments, ["k", "gain"])
    assert fit.names == ("k", "gain", "x (a)", "x (b)")
    for name, value in {"k": 0.8, "gain": 1.3, "x (a)": 0.5, "x (b)": -1.0}.items():
        assert abs(fit[name] - value) < 4 * fit.standard_errors[name]
    assert set(fit.results) == {"a", "b"}
    assert np.isnan(fit.residuals("x", "b")[3, 0])
    assert "2 experiments" in str(fit)


def test_times_in_any_order_and_twice(decay):
    t = np.array([1.0, 0.5, 0.5, 2.0, 0.0])
    fit = estimate(decay, {"time": t, "x": np.exp(-1.7 * t)}, ["k"])
    assert fit["k"] == pytest.approx(1.7, rel=1e-6)


def test_tables_of_pandas_and_xarray(decay):
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    x = noisy(np.exp(-1.7 * T), 0.01)
    frame = pandas.DataFrame({"x": x}, index=T)
    expected = estimate(decay, {"time": T, "x": x}, ["k"])["k"]
    for data in (
        frame,
        pandas.DataFrame({"time": T, "x": x}),
        xarray.Dataset({"x": ("time", x)}, {"time": T}),
    ):
        assert estimate(decay, data, ["k"])["k"] == expected


@pytest.mark.slow
def test_huge_and_tiny_units():
    """A capacitor of 1e-12 F in a ladder with resistors of megohms."""
    sim = translate(Ladder(2, **{"r.R": 1e6, "c.C": 1e-12}))
    t = np.linspace(2e-7, 8e-6, 30)
    run = sim.simulate(8e-6, params={"c.C": 1.6e-12, "r.R": 0.8e6}, times=t, rtol=1e-10)
    data = {"time": t, "c[1].u": run["c[1].u"][run.output_rows], "r[0].i": run["r[0].i"][run.output_rows]}
    fit = estimate(sim, data, {"c.C": 1e-12, "r.R": 1e6})
    assert fit["c.C"] == pytest.approx(1.6e-12, rel=1e-5)
    assert fit["r.R"] == pytest.approx(0.8e6, rel=1e-5)
    assert fit.undetermined == ()
    one = estimate(sim, data, ["c[1].C"], params={"c[0].C": 1.6e-12, "r.R": 0.8e6})
    assert one["c[1].C"] == pytest.approx(1.6e-12, rel=1e-5)


@pytest.mark.slow
def test_events_move_with_the_parameters():
    sim = translate(Ball())
    t = np.linspace(0.05, 1.5, 40)
    run = sim.simulate(1.5, params={"e": 0.8, "g": 9.0}, times=t, rtol=1e-9)
    h = run["h"][run.output_rows]
    fit = estimate(sim, {"time": t, "h": noisy(h, 0.002)}, ["e", "g", "h"])
    for name, value in {"e": 0.8, "g": 9.0, "h": 1.0}.items():
        assert abs(fit[name] - value) < 4 * fit.standard_errors[name]


def test_failed_runs_are_steps_that_were_refused():
    """From k = 0.5 the first step goes to values at which the run ends at infinity."""
    sim = translate(Singular())
    t = np.linspace(0.1, 1.0, 10)
    fit = estimate(sim, {"time": t, "x": 1 / (1 - 0.97 * t)}, {"k": 0.5}, max_steps=3000)
    assert fit["k"] == pytest.approx(0.97, rel=1e-4)
    assert fit.failed_runs > 0
    assert "evaluations failed, and their steps were refused. The first: Singular:" in str(fit)
    with pytest.raises(SimulationError, match="cannot be fitted from these guesses"):
        estimate(sim, {"time": t, "x": 1 / (1 - 0.9 * t)}, {"k": 2.0}, max_steps=3000)
    several = estimate(sim, {"time": t, "x": 1 / (1 - 0.9 * t)}, {"k": 2.0}, bounds={"k": (0.0, 2.0)},
                       starts=4, max_steps=3000)  # fmt: skip
    assert several["k"] == pytest.approx(0.9, rel=1e-4)
    assert len(several.starts) == 4
    assert any("failed" in note for note in several.notes)


def test_bounds(decay):
    data = {"time": T, "x": noisy(np.exp(-1.7 * T), 0.01)}
    fit = estimate(decay, data, {"k": 1.0, "x": 1.0}, bounds={"k": (0.0, 1.5)})
    assert fit["k"] == pytest.approx(1.5, rel=1e-3)
    assert fit.at_bounds == ("k",)
    assert np.isnan(fit.standard_errors["k"])
    assert "at its bound: no interval" in str(fit)


def test_constant_and_perfect_signals(decay):
    fit = estimate(decay, {"time": T, "x": np.full(20, 2.0)}, {"k": 1.0, "x": 1.0})
    assert abs(fit["k"]) < 1e-6
    assert fit["x"] == pytest.approx(2.0, rel=1e-6)
    zero = estimate(decay, {"time": T, "x": np.zeros(20)}, {"x": 1.0})
    assert abs(zero["x"]) < 1e-6


def test_noise_that_is_given_too_small_is_told(decay):
    data = {"time": T, "x": noisy(np.exp(-1.7 * T), 0.1)}
    fit = estimate(decay, data, ["k"], noise={"x": 0.001})
    assert any("times as large as the noise that was given" in note for note in fit.notes)


@pytest.mark.parametrize(
    ("data", "parameters", "options", "text"),
    [
        ({"time": T, "y": T}, ["k"], {}, "no 'y'"),
        ({"time": T, "x": T[:-1]}, ["k"], {}, "there is a value for each time"),
        ({"time": T, "x": np.full(20, np.nan)}, ["k"], {}, "x has no value in the data"),
        ({"time": T, "x": np.full(20, np.inf)}, ["k"], {}, "infinite"),
        ({"time": T - 1, "x": T}, ["k"], {}, "before start_time = 0"),
        ({"time": [np.nan, 1.0], "x": [1, 2]}, ["k"], {}, "not all finite"),
        ({"x": T}, ["k"], {}, "There are no times for x"),
        ({"time": T}, ["k"], {}, "no signal in the data"),
        ({}, ["k"], {}, "no signal"),
        ([], ["k"], {}, "the list of experiments is empty"),
        (3.0, ["k"], {}, "not float"),
        ({"time": T, "x": np.ones((20, 2))}, ["k"], {}, r"expected \(20,\)"),
        ({"time": T, "x": ["a"] * 20}, ["k"], {}, "not all numbers"),
        ({"time": T, "k": T}, ["k"], {}, "does not depend on time"),
        ({"time": T, "x": T}, [], {}, "nothing to estimate"),
        ({"time": T, "x": T}, "k", {}, "a list of names"),
        ({"time": T, "x": T}, ["K"], {}, "Did you mean 'k'"),
        ({"time": T, "x": T}, {"k": [1.0, 2.0]}, {}, "shape"),
        ({"time": T, "x": T}, {"k": np.nan}, {}, "Parameter k is NaN"),
        ({"time": T, "x": T}, ["k"], {"bounds": {"q": (0, 1)}}, "'q' in bounds"),
        ({"time": T, "x": T}, ["k"], {"bounds": {"k": (2, 1)}}, "low is below high"),
        ({"time": T, "x": T}, ["k"], {"bounds": {"k": (2, 3)}}, "not within its bounds"),
        ({"time": T, "x": T}, {"k": -1.0}, {"logarithmic": ["k"]}, "logarithmic"),
        ({"time": T, "x": T}, ["k"], {"noise": {"y": 1.0}}, "not in the data"),
        ({"time": T, "x": T}, ["k"], {"noise": {"x": 0.0}}, "standard deviation"),
        ({"time": T, "x": T}, ["k"], {"starts": 3}, "give bounds"),
        ({"time": T, "x": T}, ["k"], {"starts": 0}, "positive integer"),
        ({"time": T, "x": T}, ["k"], {"confidence": 95}, "no probability"),
        ({"time": T[:1], "x": T[:1]}, ["k"], {}, "cannot tell 1 unknown"),
    ],
)
def test_wrong_data_and_options(decay, data, parameters, options, text):
    with pytest.raises(ModelError, match=text):
        estimate(decay, data, parameters, **options)


def test_a_size_is_no_parameter():
    with pytest.raises(ModelError, match="'n' is an argument of Ladder"):
        estimate(translate(Ladder(2)), {"time": T, "c[0].u": T}, ["n"])
