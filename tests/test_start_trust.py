"""The start: independent parts, free states, infinite slopes, what is undefined, bounded effort, notes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import modia_py.solvers.roots.nearest_newton as nearest_newton
from modia_py import Model, Par, SimulationError, Var, der, simulate, time, translate
from modia_py.models.examples import Ladder, SlidingMass
from modia_py.program.program import Arguments
from modia_py.program.signals import make_signals
from modia_py.solvers.roots.nearest import NearestSystem
from modia_py.solvers.roots.nearest_problem import Effort
from modia_py.solvers.roots.nonlinear import SparseSystem
from modia_py.start.values import Starts


def start_of(sim: Any, init: Any = None, params: Any = None) -> tuple[Any, Any]:
    """The start alone, without compiling the integrator; and a function that gives values by name."""
    signals = make_signals(sim.flat, None, 0.0, 1.0)
    program = sim.translation.program(signals)
    arguments = Arguments(sim._values.vector(dict(params or {})), signals.data)
    point = sim._start(program, signals, arguments, Starts(init), 0.0, "init")
    w = np.asarray(program.values(0.0, point.x, point.xdot, arguments))

    def value(name: str) -> Any:
        places, sign = sim._places(program, name)
        return np.squeeze(sign * w[places])

    return point, value


@pytest.fixture
def iterations(monkeypatch: Any) -> list[int]:
    """Iterations of each search by Newton's method, as they are made."""
    counts: list[int] = []
    original = nearest_newton.newton

    def counted(problem: Any, z: Any, target: Any, effort: Any, most: int) -> Any:
        before = effort.used
        found = original(problem, z, target, effort, most)
        counts.append(effort.used - before)
        return found

    monkeypatch.setattr(nearest_newton, "newton", counted)
    return counts


# Free states keep their guess; algebraic unknowns follow.


class Cubic(Model):
    x = Var(guess=0.3)
    y = Var()

    def equations(self):
        return [der(self.x) == 2.0, self.y**3 + self.y == 10 * self.x]


@pytest.fixture(scope="module")
def cubic():
    return translate(Cubic())


def test_a_free_state_keeps_its_guess_and_is_listed(cubic):
    point, value = start_of(cubic)
    assert value("x") == 0.3
    assert value("y") ** 3 + value("y") == pytest.approx(3.0, rel=1e-12)
    assert point.notes == ("no `init` determines the start of: x = 0.3 (guess)",)


def test_init_of_an_algebraic_variable_moves_the_state(cubic):
    point, value = start_of(cubic, init={"y": 2.0})
    assert value("x") == pytest.approx(1.0, rel=1e-12)
    assert point.notes == ()
    point, value = start_of(cubic, init={"y": 2.0, "x": 1.0})
    assert (float(value("x")), float(value("y"))) == (1.0, 2.0)
    with pytest.raises(SimulationError, match=r"(?s)[xy] = 2\n    [xy] = 2.*nearest that agree: .*off by"):
        start_of(cubic, init={"y": 2.0, "x": 2.0})


def test_init_of_what_depends_on_an_algebraic_variable():
    class Dependent(Cubic):
        z = Var(init=5.0)

        def equations(self):
            return [*super().equations(), self.z == self.y**2 + self.x]

    point, value = start_of(translate(Dependent()))
    assert value("y") ** 2 + value("x") == pytest.approx(5.0, rel=1e-12)
    assert value("y") ** 3 + value("y") == pytest.approx(10 * value("x"), rel=1e-12)
    assert point.notes == ()


def test_a_plain_form_does_not_pull_states_off_their_guesses():
    """Without tearing all positions and speeds are in x, beside algebraic unknowns."""
    _, value = start_of(translate(SlidingMass(), tearing=False))
    assert value("s") == 0.1
    assert abs(value("der(s)")) < 1e-12


def test_the_root_near_the_guess_of_an_algebraic_variable():
    class Roots(Model):
        x = Var(init=2.0)
        y = Var(guess=1.0)

        def equations(self):
            return [der(self.x) == -self.y, self.y**2 == self.x**2]

    assert start_of(translate(Roots()))[1]("y") == pytest.approx(2.0)

    class Other(Roots):
        y = Var(guess=-0.1)

    assert start_of(translate(Other()))[1]("y") == pytest.approx(-2.0)


def test_only_what_nothing_determines_is_listed():
    class Pair(Model):
        x = Var(2, guess=[0.5, 0.5])

        def equations(self):
            return [der(self.x[0]) == -self.x[0], 3 * self.x[1] + np.sin(self.x[1]) == 1]

    point, value = start_of(translate(Pair()))
    (note,) = point.notes
    assert "x[0] = 0.5" in note
    assert "x[1]" not in note
    assert 3 * value("x")[1] + np.sin(value("x")[1]) == pytest.approx(1.0, rel=1e-12)


def test_the_start_of_a_ladder_takes_few_iterations(iterations):
    """Currents follow from the voltages of the capacitors by one sparse solve."""
    _, value = start_of(translate(Ladder(1000)))
    assert sum(iterations) <= 3
    np.testing.assert_allclose(value("r.u")[0], 1.0, rtol=1e-12)
    np.testing.assert_allclose(value("r.u")[1:], 0.0, atol=1e-12)


# Independent parts.


def manufactured(c: float, a: float, omega: float, index: int) -> Model:
    """A vector that is given by a function of time, beside a chain of derivatives; exact start values."""
    f = [lambda t, k=k: np.sin(omega * t + k) + k for k in range(3)]
    angle = 0.3

    def g(t: Any, order: int) -> Any:
        own = a * omega**order * np.sin(omega * t + angle + order * np.pi / 2)
        return own + (1.0 if order == 0 else 0.0)

    def h(t: Any, order: int) -> Any:
        return np.cos(t + order * np.pi / 2)

    class Beside(Model):
        x = Var(3, init=[float(own(0.0)) for own in f])
        y = Var(init=float(g(0.0, 0)))
        z = Var(init=float(h(0.0, 0)))
        w = Var(init=float(np.sin(0.0)))

        def equations(self):
            rows = [
                c * np.stack([own(time) for own in f]) == c * self.x,
                c * g(time, 0) + 0.1 * np.sin(g(time, 0)) == c * self.y + 0.1 * np.sin(self.y),
                self.z - der(self.y) / 2 == h(time, 0) - g(time, 1) / 2,
            ]
            if index == 3:
                return [*rows, self.w - der(self.z) / 2 == np.sin(time) - h(time, 1) / 2]
            return [*rows, der(self.w) + self.w == np.cos(time) + np.sin(time)]

    return Beside()


@pytest.mark.parametrize("index", [2, 3])
def test_independent_parts_start_together_as_they_do_apart(index):
    rng = np.random.default_rng(index)
    for _ in range(3):
        c, a, omega = rng.uniform(0.5, 3.0, 3)
        point, value = start_of(translate(manufactured(c, a, omega, index)))
        assert point.notes == ()
        np.testing.assert_allclose(value("x"), np.sin(np.arange(3)) + np.arange(3), rtol=1e-14)
        np.testing.assert_allclose(value("der(y)"), a * omega * np.cos(0.3), rtol=1e-12)


def test_a_part_that_fails_does_not_stop_another():
    """atan(u) = 0 from far away needs short steps, u**2 = -1 has no root, v = 1e8 is solved at once."""

    def equations(z: Any) -> Any:
        import jax.numpy as jnp

        return jnp.stack([jnp.arctan(z[0]), z[1] ** 2 + 1.0, z[2] - 1e8])

    z = np.array([20.0, 1.0, 0.0])
    system = NearestSystem(SparseSystem(equations, z, ()))
    found = system.solve(z, cost=np.zeros(3), fixed=np.zeros(3, bool))
    np.testing.assert_allclose(found.z[[0, 2]], [0.0, 1e8], atol=1e-9)
    assert found.unsatisfied.tolist() == [1]


# No wasted iterations, and an end to all of them.


def chain_positions(n: int) -> np.ndarray:
    angle = 0.4 * np.cos(np.arange(n))
    return np.cumsum(np.stack([np.cos(angle), np.sin(angle)], axis=1), axis=0)


class Chain(Model):
    """Point masses in the plane, joined by rods of length one; the first one hangs on a fixed point."""

    g = Par([0.0, -9.81])

    def __init__(self, n: int, **changes: Any):
        super().__init__(**changes)
        self.r = Var((n, 2), init=chain_positions(n))
        self.v = Var((n, 2), init=np.zeros((n, 2)))
        self.f = Var(n)

    def equations(self):
        first, rods = self.r[0], self.r[1:] - self.r[:-1]
        force = self.f[1:, None] * rods
        return [
            der(self.r) == self.v,
            der(self.v[0]) == self.g - self.f[0] * first + force[0],
            der(self.v[1:-1]) == self.g - force[:-1] + force[1:],
            der(self.v[-1]) == self.g - force[-1],
            first @ first == 1.0,
            (rods * rods).sum(axis=1) == 1.0,
        ]


@pytest.fixture(scope="module")
def chain():
    return translate(Chain(500))


def test_a_chain_that_starts_consistently_iterates_not_at_all(chain, iterations):
    point, value = start_of(chain)
    assert point.notes == ()
    assert sum(iterations) == 0
    r, f = value("r").reshape(-1, 2), value("f")
    last = r[-1] - r[-2]
    acceleration = value("der(v)").reshape(-1, 2)[-1]
    np.testing.assert_allclose(acceleration, [0.0, -9.81] - f[-1] * last, atol=1e-9)


def test_values_rounded_to_nine_digits_are_moved_and_noted(chain, iterations):
    given = np.array([[float(f"{number:.9g}") for number in row] for row in chain_positions(500)])
    point, value = start_of(chain, init={"r": given})
    r = value("r").reshape(-1, 2)
    rods = np.diff(r, axis=0)
    assert np.abs((rods**2).sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(r - given).max() < 1e-6
    assert any("`init` values were moved a little" in note for note in point.notes)
    assert sum(iterations) < 20


def test_how_far_contradictory_values_are_off():
    given = chain_positions(6)
    given[0] *= 1.001
    with pytest.raises(SimulationError, match=r"(?s)r\[0, 0\].*nearest that agree: .*off by 0\.000"):
        start_of(translate(Chain(6)), init={"r": given})


class Truss(Model):
    """A triangle of rods above the plane; with a rod that is too long it cannot be put together."""

    length = Par([1.0, 1.0, 1.0, 3.0])
    p = Var((2, 3), guess=[[0.5, 0.1, 0.8], [0.5, 0.8, 0.3]])
    v = Var((2, 3))
    f = Var(4)

    def equations(self):
        p, q = self.p[0], self.p[1]
        e = np.array([1.0, 0.0, 0.0])
        rods = [p, p - e, q - e, p - q]
        gravity = np.array([0.0, 0.0, -9.81])
        forces = [-self.f[k] * rods[k] for k in range(4)]
        return [
            der(self.p) == self.v,
            der(self.v[0]) == gravity + forces[0] + forces[1] + forces[3],
            der(self.v[1]) == gravity + forces[2] - forces[3],
            *(rods[k] @ rods[k] == self.length[k] ** 2 for k in range(4)),
        ]


def test_a_search_without_end_ends_and_says_what_was_tried(iterations):
    with pytest.raises(SimulationError) as caught:
        start_of(translate(Truss()))
    text = str(caught.value)
    assert "No consistent start was found" in text
    assert "Tried: Newton's method (" in text
    assert "a homotopy from the guess, followed to" in text
    assert sum(iterations) < 1000


def test_a_start_that_takes_long_reports_what_it_does():
    said: list[str] = []
    effort = Effort(3, report=said.append)
    assert [effort.spend() for _ in range(4)] == [True, True, True, False]
    assert said[-1] == "3 iterations of Newton's method, at most 0 more"
    assert Effort.for_entries(10**6).left == 100
    assert Effort.for_entries(10).left == 2000


def test_a_value_without_a_root_is_named_with_the_nearest_that_has_one():
    class NoRoot(Model):
        x = Var(init=1.0)
        y = Var()
        u = Var(init=2.0)

        def equations(self):
            return [der(self.x) == -self.y, self.y**2 + self.x == 0.5, der(self.u) == -self.u]

    with pytest.raises(SimulationError) as caught:
        start_of(translate(NoRoot()))
    text = str(caught.value)
    assert "This `init` value cannot hold at the start:\n    x = 1\n" in text
    assert "x = 0.5 (off by 0.5)" in text
    assert "u = 2" not in text


class Rectifier(Model):
    """Four diodes between a source and a capacitor. One voltage is torn: a function with steep steps."""

    u = Var(init=0.0)
    d = Var(4)
    i = Var(4)
    a = Var()
    b = Var()

    def equations(self):
        current = (12.0 * np.cos(314 * time) - (self.a - self.b)) / 0.5
        d, i = self.d, self.i
        return [
            i == 1e-12 * (np.exp(np.minimum(d / 0.025, 40.0)) - 1) + d / 1e8,
            d == np.stack([self.a - self.u, -self.a, -self.b, self.b - self.u]),
            current == i[0] - i[1],
            current == i[2] - i[3],
            1e-3 * der(self.u) == i[0] + i[3] - self.u / 50,
        ]


def test_a_start_that_is_easier_with_the_equations_as_written():
    _, value = start_of(translate(Rectifier()))
    i, a, b = value("i"), value("a"), value("b")
    np.testing.assert_allclose((12.0 - (a - b)) / 0.5, i[0] - i[1], rtol=1e-9)
    np.testing.assert_allclose((12.0 - (a - b)) / 0.5, i[2] - i[3], rtol=1e-9)
    assert 20.0 < i[0] < 22.0


# Infinite slopes.


class Tanks(Model):
    inflow = Par(0.0)
    h = Var(2, init=1.0)
    q = Var()

    def equations(self):
        dh = self.h[0] - self.h[1]
        return [
            self.q == np.sign(dh) * np.sqrt(np.abs(dh)),
            der(self.h[0]) == self.inflow - self.q,
            der(self.h[1]) == self.q,
        ]


@pytest.mark.parametrize("tearing", [True, False])
def test_tanks_with_equal_levels(tearing):
    sim = translate(Tanks(), tearing=tearing)
    np.testing.assert_allclose(sim.simulate(1.0, times=3)["h"], 1.0, rtol=1e-12)
    result = sim.simulate(10.0, params={"inflow": 0.2}, times=3)
    assert result["q"][-1] == pytest.approx(0.1, rel=1e-5)  # half of the inflow goes to the other tank


def test_a_root_at_zero_that_has_to_move():
    class Given(Model):
        x = Var(guess=0.0)
        y = Var(init=0.5)

        def equations(self):
            return [der(self.x) == 1.0, self.y == np.sqrt(np.abs(self.x))]

    assert abs(start_of(translate(Given()))[1]("x")) == pytest.approx(0.25)


def test_an_infinite_slope_is_named():
    class Never(Model):
        x = Var(init=0.0)
        y = Var(guess=0.0)

        def equations(self):
            return [der(self.x) == -self.y, np.sqrt(np.abs(self.y)) + 1.0 == self.x]

    with pytest.raises(SimulationError) as caught:
        start_of(translate(Never()))
    text = str(caught.value)
    assert "sqrt(absolute(y)) + 1 == x  (test_start_trust.py:" in text
    assert "off by 1" in text
    assert "Infinite slopes" in text
    assert "with respect to der(x) = " in text


# What cannot be evaluated.


class Divided(Model):
    R = Par(0.0)
    u = Var(init=1.0)
    i = Var()

    def equations(self):
        return [self.i == self.u / self.R, der(self.u) == -self.i]


class DividedArray(Model):
    def __init__(self, **changes: Any):
        super().__init__(**changes)
        self.branch = Divided.array(3, R=[1.0, 0.0, 2.0])


class Logarithm(Model):
    x = Var(init=-1.0)
    y = Var()

    def equations(self):
        return [der(self.x) == self.y, self.y == np.log(self.x)]


class Assigned(Model):
    R = Par(0.0)
    y = Var()

    def equations(self):
        return [self.y == (1.0 + time) / self.R]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            Divided(),
            r"The parameter `R` is zero, and `i == u/R  \(test_start_trust.py:\d+\)` divides by it",
        ),
        (DividedArray(), r"`branch.R` is zero, .*\(test_start_trust.py:\d+, copy 1 of branch\)` divides"),
        (Logarithm(), r"log of `x` = -1 is not finite, in `y == log\(x\)  \(test_start_trust.py:\d+\)`"),
        (Assigned(), r"The parameter `R` is zero, and `y == \(1 \+ time\)/R  \("),
    ],
)
def test_operations_that_are_not_defined_are_named(model, expected):
    with pytest.raises(SimulationError, match=expected):
        start_of(translate(model))


def test_a_choice_that_is_defined_is_not_blamed():
    class Chosen(Model):
        x = Var(init=-1.0)
        y = Var()

        def equations(self):
            return [der(self.x) == 1.0 / self.y, self.y == np.where(self.x > 0, np.sqrt(self.x), 0.0)]

    with pytest.raises(SimulationError, match=r"`y` is zero, and `der\(x\) == 1/y") as caught:
        simulate(Chosen(), 1.0)
    assert "sqrt" not in str(caught.value)
