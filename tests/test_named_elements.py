"""Elements and slices by name, wherever values are given; guesses from outside and in constructors."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from modia_py import Guess, Model, ModelError, Par, Var, der, elaborate, translate


class Lag(Model):
    T = Par(1.0, nonzero=True)
    x = Var(init=0.0)

    def equations(self):
        return [self.T * der(self.x) == 1 - self.x]


class Bank(Model):
    lag = Lag.array(3, T=[1.0, 2.0, 4.0])
    single = [Lag(), Lag(T=3.0)]
    y = Var(4)
    k = Par(np.ones(4))

    def equations(self):
        return [der(self.y) == -self.k * self.y]


@pytest.fixture(scope="module")
def bank():
    return translate(Bank())


def message(act):
    with pytest.raises(ModelError) as caught:
        act()
    return str(caught.value)


def test_values_of_a_run(bank):
    result = bank.simulate(
        1.0,
        params={"lag[1].T": 5.0, "k[2:]": 3.0, "single[1].T": 2.0},
        init={"lag[0].x": 0.5, "y[:2]": [1.0, 2.0], "der(single[0].x)": 0.25},
        guess={"y[3]": 7.0, "single[0].x": 0.0},
        atol={"y[0]": 1e-12},
        times=2,
    )
    np.testing.assert_array_equal(result["lag.T"], [1.0, 5.0, 4.0])
    np.testing.assert_array_equal(result["k"], [1.0, 1.0, 3.0, 3.0])
    np.testing.assert_array_equal(result["lag.x"][0], [0.5, 0.0, 0.0])
    np.testing.assert_allclose(result["y"][0], [1.0, 2.0, 0.0, 7.0], atol=1e-7)
    assert result["single[0].x"][0] == pytest.approx(0.75)  # 1 - der(x), its guess gives way
    np.testing.assert_allclose(result["y"][1], [1, 2, 0, 7] * np.exp(-result["k"]), atol=1e-5)
    assert "y[2] = 0, y[3] = 7" in result.notes[0]


def test_elements_win_over_the_whole(bank):
    order = bank.simulate(
        1.0, params={"k[1]": 9.0, "k": np.full(4, 2.0)}, init={"y[0]": 3.0, "y": 1.0}, times=2
    )
    np.testing.assert_array_equal(order["k"], [2.0, 9.0, 2.0, 2.0])
    np.testing.assert_array_equal(order["y"][0], [3.0, 1.0, 1.0, 1.0])


def test_functions_sensitivities_and_ensembles(bank):
    f = bank.function(["y[0]"], [1.0], params=["k[0]"], init=["y[:2]"])
    theta = {"k[0]": 2.0, "y[:2]": np.array([3.0, 5.0])}
    slope = jax.grad(lambda theta: f(theta)["y[0]"].sum())(theta)
    assert slope["k[0]"] == pytest.approx(-3 * np.exp(-2), rel=1e-4)
    np.testing.assert_allclose(slope["y[:2]"], [np.exp(-2), 0.0], atol=1e-4)
    found = bank.sensitivities(["y[0]"], ["k[0]"], 1.0, times=2, init={"y": 1.0, "y[:1]": 2.0})
    assert found.slopes["y[0]", "k[0]"][-1] == pytest.approx(-2 * np.exp(-1), rel=1e-4)
    lanes = bank.ensemble(
        1.0, params={"k[0]": [1.0, 2.0]}, init={"y[0]": [1.0, 3.0]}, times=2, outputs=["y[0]"]
    )
    np.testing.assert_allclose(lanes["y[0]"][:, -1], [np.exp(-1), 3 * np.exp(-2)], rtol=1e-4)


def test_values_in_constructors():
    flat = elaborate(
        Bank(**{"lag[1].T": 5.0, "k[2:]": 3.0, "y[:2]": 1.0, "single[1].T": 7.0, "y[3]": Guess(2.0)})
    )
    assert flat.by_name["lag.T"].symbol.value.tolist() == [1.0, 5.0, 4.0]
    assert flat.by_name["k"].symbol.value.tolist() == [1.0, 1.0, 3.0, 3.0]
    assert flat.by_name["single[1].T"].symbol.value == 7.0
    assert "init for 2 of 4 elements guess for 1 of 4 elements" in str(flat)
    start = translate(flat).simulate(1.0, times=2)["y"][0]
    np.testing.assert_array_equal(start, [1.0, 1.0, 0.0, 2.0])


def test_a_guess_takes_the_place_of_an_init(bank):
    model = Bank(**{"lag[0].x": Guess(0.3)})
    flat = elaborate(model)
    assert np.isnan(flat.by_name["lag.x"].symbol.init).tolist() == [True, False, False]
    result = bank.simulate(1.0, guess={"lag[0].x": 0.3}, times=2)
    assert result["lag[0].x"][0] == 0.3
    assert "lag.x[0] = 0.3 (guess)" in result.notes[0]


def test_what_a_name_cannot_mean(bank):
    for options, text in (
        ({"params": {"lag[3].T": 1.0}}, "'lag[3].T' selects nothing: lag.T has shape (3,)"),
        ({"params": {"k[5:]": 1.0}}, "'k[5:]' selects nothing"),
        ({"params": {"lag[0].T": 0.0}}, "Parameter lag[0].T is zero"),
        ({"params": {"y[0]": 1.0}}, "'y[0]' is a variable of Bank, not a parameter"),
        ({"params": {"k[[0, 0]]": 1.0}}, "'k[[0, 0]]' names an element twice"),
        ({"init": {"y[:2]": [1, 2, 3]}}, "The start value of y[:2] has shape (3,), expected (2,)"),
        ({"init": {"y[0]": "1"}}, "is the text '1': write numbers without quotes"),
        ({"init": {"k[0]": 1.0}}, "'k[0]' is a parameter, not a variable"),
        ({"init": {"y[0]": 1.0}, "guess": {"y": 0.0}}, "y[0] is given as init and as guess (y)"),
        ({"init": {"z[0]": 1.0}}, "Bank has no variable 'z[0]'"),
    ):
        assert text in message(lambda options=options: bank.simulate(1.0, **options))
    for changes, text in (
        ({"lag[3].T": 1.0}, "'lag[3].T' selects nothing"),
        ({"single[2].T": 1.0}, "Bank has no parameter or variable 'single[2].T'"),
        ({"k": Guess(1.0)}, "Bank.k is no variable"),
        ({"y[:2]": [1.0, 2.0, 3.0]}, "The value of 'y[:2]' has shape (3,)"),
    ):
        assert text in message(lambda changes=changes: Bank(**changes))


class Frame(Model):
    """An orientation that nothing gives: the nearest rotation to the guess is taken."""

    R = Var((3, 3), guess=np.eye(3))
    q = Var(4, guess=[1.0, 0.0, 0.0, 0.0])
    w = Par([0.0, 0.0, 1.0])

    def equations(self):
        from modia_py import time

        half = time / 2
        return [
            self.q == np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)]),
            self.R[0] @ self.R[0] == 1,
            self.R[1] @ self.R[1] == 1,
            self.R[0] @ self.R[1] == 0,
            self.R[2] == np.cross(self.R[0], self.R[1]),
            self.R[0, 2] == 0,
            self.R[1, 2] == 0,
            self.R[0, 1] == np.sin(time),
        ]


def test_the_guess_of_an_orientation_is_where_the_search_begins():
    sim = translate(Frame())
    np.testing.assert_allclose(sim.simulate(0.5, times=2)["R"][0], np.eye(3), atol=1e-9)
    turned = np.diag([-1.0, -1.0, 1.0])
    other = sim.simulate(0.5, times=2, guess={"R": turned})
    np.testing.assert_allclose(other["R"][0], turned, atol=1e-9)
