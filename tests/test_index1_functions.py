"""The index-1 form as functions: regular, and equivalent to the equations as written."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from modia_py import Input, Model, Par, Var, connect, der, elaborate, flat_residual, time
from modia_py.arrays.index1 import Slot
from modia_py.arrays.transform import transform
from modia_py.lowering.index1_functions import index1_functions
from modia_py.lowering.model_structure import model_structure
from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Inductor, Resistor
from modia_py.models.examples import Ladder, SlidingMass
from modia_py.solvers.compile_options import quick_jit

from .test_structure import Element, Pendulum, Rod, Scalars, Vectors, circuit


class Pendulums(Model):
    """Three of them, as a component array, two coupled by a spring."""

    bodies = Pendulum.array(3, m=[1.0, 2.0, 3.0])
    spring = Var(2)

    def equations(self):
        return [self.spring == self.bodies[0].r - self.bodies[1].r]


class DoublePendulum(Model):
    """Two masses on rods, the second hanging from the first."""

    m = Par([1.0, 2.0], nonzero=True)
    g = Par([0.0, -9.81])
    r = Var((2, 2))
    v = Var((2, 2))
    lam = Var(2)

    def equations(self):
        rod = self.r[1] - self.r[0]
        return [
            der(self.r) == self.v,
            self.m[0] * der(self.v[0]) == self.m[0] * self.g - self.lam[0] * self.r[0] + self.lam[1] * rod,
            self.m[1] * der(self.v[1]) == self.m[1] * self.g - self.lam[1] * rod,
            self.r[0] @ self.r[0] == 1.0,
            rod @ rod == 1.0,
        ]


class AlgebraicAhead(Model):
    """A purely algebraic block that feeds a state, and nonzero parameters to divide by."""

    k = Par(3.0, nonzero=True)
    b = Par([2.0, 4.0], nonzero=True)
    a = Var()
    c = Var(2)
    x = Var(2)

    def equations(self):
        return [
            self.a + np.exp(self.a) == time,
            self.b * self.c == self.k * self.a + self.x,
            self.k * der(self.x) == -self.c,
        ]


class Second(Model):
    """A second derivative, and a fourth order constraint chain."""

    x = Var(2)
    f = Var(2)
    y = Var()

    def equations(self):
        return [
            der(der(self.x)) == self.f,
            self.x == np.stack([np.sin(time), self.y]),
            der(self.y) == -self.f[0],
        ]


class TwoLoops(Model):
    """Capacitors in parallel, inductors in series, no ground."""

    v = ConstantVoltage(V=10.0)
    r = Resistor.array(2, R=[1.0, 2.0])
    c = Capacitor.array(2, C=[1e-1, 2e-1])
    l = Inductor.array(2, L=[0.1, 0.2])  # noqa: E741

    def equations(self):
        return [
            connect(self.v.p, self.r[0].p),
            connect(self.r[0].n, self.c.p, self.l[0].p),
            connect(self.l[0].n, self.l[1].p),
            connect(self.l[1].n, self.r[1].p),
            connect(self.r[1].n, self.c.n, self.v.n),
        ]


class Coefficients(Model):
    """Assignments that divide by arrays: constants and nonzero parameters, broadcast."""

    k = Par([[2.0], [4.0]], nonzero=True)
    w = Var((2, 3))
    z = Var((2, 3))
    x = Var(3)

    def equations(self):
        return [
            self.k * self.w == self.x,
            np.array([[0.5], [3.0]]) * self.z == np.sin(self.w),
            der(self.x) == -self.z.sum(axis=0),
        ]


MODELS = {
    "coefficients": Coefficients,
    "sliding mass": SlidingMass,
    "pendulum": Pendulum,
    "array of pendulums": Pendulums,
    "double pendulum": DoublePendulum,
    "one element": Element,
    "rod": lambda: Rod(12),
    "ladder": lambda: Ladder(3, **{"r.R": [1.0, 2.0, 3.0], "c.C": 0.5}),
    "algebraic ahead": AlgebraicAhead,
    "second derivative": Second,
    "two loops": TwoLoops,
    "LRRL": lambda: circuit(
        ConstantVoltage(), Inductor(L=0.1), Resistor(R=10.0), Inductor(L=0.2), Resistor()
    ),
    "parallel": lambda: circuit(ConstantVoltage(), Resistor(), Capacitor(), ground=True),
    "vectors": lambda: Vectors(4),
    "scalars": lambda: Scalars(4),
}


class Form:
    """The functions of a form, compiled once."""

    def __init__(self, functions):
        self.functions = functions
        self.size, self.rows = functions.size, functions.differential_rows
        self.evaluate = quick_jit(
            lambda t, x, xdot, p: (
                functions.residual(t, x, xdot, p),
                *(jax.jacfwd(functions.residual, place)(t, x, xdot, p) for place in (1, 2)),
            ),
            0,
        )
        self.values = quick_jit(functions.values, 0)  # at once: each operation alone takes longer

    def __call__(self, t, x, xdot, p):
        """Residual, and its derivatives by x and xdot."""
        return [np.asarray(part) for part in self.evaluate(t, x, xdot, p)]


@pytest.fixture(scope="module")
def lowered():
    """Models with their forms, made once."""
    made = {}

    def get(name, tearing):
        if (name, tearing) not in made:
            flat = elaborate(MODELS[name]())
            model = model_structure(flat)
            options = {"keep": model.has_start, "tearing": tearing, "check": True}
            result = transform(model.structure, model.integers, model.integer_rows, **options)
            made[name, tearing] = (
                model,
                result,
                Form(index1_functions(model, result)),
                flat_residual(flat),
            )
        return made[name, tearing]

    return get


@pytest.mark.parametrize("tearing", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_form_is_regular_and_equivalent(lowered, name, tearing):
    """The matrix of the form is regular at a random point; and where its residual is zero (with mu = 0)
    the equations as written hold too."""
    model, result, form, plain = lowered(name, tearing)
    p, t = plain.parameters(), 0.3
    rng = np.random.default_rng(2)
    x, xdot = rng.normal(size=(2, form.size))
    residual, by_x, by_xdot = form(t, x, xdot, p)
    assert residual.shape == (form.size,) == (result.form.size,)
    assert not by_xdot[form.rows :].any(), "constraints do not depend on xdot"
    assert np.linalg.cond(np.vstack([by_xdot[: form.rows], by_x[form.rows :]])) < 1e6

    free = np.ones(2 * form.size, bool)
    for slot in np.flatnonzero(result.form.kind == Slot.MU):
        first = form.functions.slot_offset[slot]
        stop = first + result.form.slot_size()[slot]
        xdot[first:stop] = 0.0
        free[form.size + first : form.size + stop] = False
    for _ in range(60):
        residual, by_x, by_xdot = form(t, x, xdot, p)
        if np.abs(residual).max() < 1e-13:
            break
        step = np.zeros(2 * form.size)
        step[free] = np.linalg.lstsq(np.hstack([by_x, by_xdot])[:, free], -residual, rcond=1e-12)[0]
        x, xdot = x + step[: form.size], xdot + step[form.size :]
    assert np.abs(residual).max() < 1e-10
    np.testing.assert_allclose(as_written(model, form, plain, t, x, xdot, p), 0.0, atol=1e-9)


def as_written(model, form, plain, t, x, xdot, p):
    """The residual of the equations of the model, with the values that the form computes."""
    functions = form.functions
    w = np.asarray(form.values(t, x, xdot, p))
    v, vdot = {}, {}
    for variable in model.flat.variables:
        orders = functions.value_map.orders
        values = [functions.variable(w, variable.name, model, order) for order in range(orders)]
        values += [np.zeros(variable.shape)] * 3
        for order, name in enumerate((variable.name, f"der({variable.name})")):
            if name in plain.unknowns.places:
                v[name], vdot[name] = values[order], values[order + 1]
    return quick_jit(plain.residual, 0)(t, plain.unknowns.pack(v), plain.unknowns.pack(vdot), p)


def test_parameters_change_nothing_compiled(lowered):
    _, _, form, plain = lowered("sliding mass", True)
    compiled = jax.jit(form.functions.residual)
    x, xdot = np.array([0.1, 0.0]), np.array([0.0, 1.0])
    values = [compiled(0.0, x, xdot, plain.parameters({"c": c})) for c in (1e3, 2e3)]
    assert compiled._cache_size() == 1
    assert not np.allclose(*values)


def test_sliding_mass_is_the_damped_oscillator(lowered):
    """m s'' + d s' + c s = m n.g, whatever the rest of the model says."""
    model, _, form, plain = lowered("sliding mass", True)
    functions = form.functions
    s, ds = 0.07, -0.4
    dds = -(5.0 * ds + 1e3 * s) + 0.8 * -9.81
    residual = functions.residual(0.0, np.array([s, ds]), np.array([ds, dds]), plain.parameters())
    np.testing.assert_allclose(residual, 0.0, atol=1e-12)
    w = functions.values(0.0, np.array([s, ds]), np.array([ds, dds]), plain.parameters())
    np.testing.assert_allclose(functions.variable(w, "r", model), [0.6 * s, 0.8 * s, 0.0])
    np.testing.assert_allclose(functions.variable(w, "v", model, 1), [0.6 * dds, 0.8 * dds, 0.0])


def test_inputs_and_their_derivatives_are_arguments():
    """A driven position: its velocity and acceleration need derivatives of the input."""

    class Driven(Model):
        u = Input()
        m = Par(7.0, nonzero=True)
        x = Var()
        v = Var()
        f = Var()

        def equations(self):
            return [self.x == self.u, der(self.x) == self.v, self.m * der(self.v) == self.f]

    model = model_structure(elaborate(Driven()))
    result = transform(model.structure, model.integers, model.integer_rows)
    functions = index1_functions(model, result)
    assert functions.input_order == 2
    empty = np.zeros(functions.size)
    w = functions.values(
        0.0, empty, empty, flat_residual(model.flat).parameters(), np.array([1.0, 2.0, 3.0])
    )
    for name, value in (("x", 1.0), ("v", 2.0), ("f", 21.0)):
        assert functions.variable(w, name, model) == value


def test_program_size_does_not_depend_on_copies():
    sizes = []
    for n in (5, 50):

        class Many(Model):
            bodies = Pendulum.array(n)

        model = model_structure(elaborate(Many()))
        functions = index1_functions(model, transform(model.structure, model.integers, model.integer_rows))
        x = np.ones(functions.size)
        p = flat_residual(model.flat).parameters()
        sizes.append(len(jax.make_jaxpr(functions.residual)(0.0, x, x, p).eqns))
    assert sizes[0] == sizes[1]


def test_ground_is_needed_by_nobody(lowered):
    """With and without a ground, the same currents."""
    assert isinstance(Ground(), Model)
    _, with_ground, _, _ = lowered("parallel", True)
    _, without, _, _ = lowered("LRRL", True)
    assert not len(with_ground.simplified.found.arbitrary)
    assert len(without.simplified.found.arbitrary) == 1
