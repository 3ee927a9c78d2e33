"""Patterns from the terms of equations contain every dependency, and hardly more."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from modia_py import Model, Var, der, function, translate
from modia_py.lowering.sparsity import sparsity
from modia_py.models.examples import HeatRod, Ladder, Pendulum, SlidingMass

from .test_index1_functions import AlgebraicAhead, DoublePendulum, Pendulums
from .test_inside import Chain

MODELS = {
    "rod": lambda: HeatRod(7),
    "ladder": lambda: Ladder(5),
    "mass": SlidingMass,
    "pendulum": Pendulum,
    "pendulums": Pendulums,
    "double pendulum": DoublePendulum,
    "algebraic": AlgebraicAhead,
    "chain": lambda: Chain(30),
}


def patterns(sim):
    translation = sim.translation
    return sparsity(translation.structure, translation.transformed, translation.functions)


@pytest.mark.parametrize("tearing", ["auto", False])
@pytest.mark.parametrize("name", MODELS)
def test_the_pattern_holds_the_jacobian(name, tearing):
    sim = translate(MODELS[name](), tearing=tearing)
    functions, n = sim.translation.functions, sim.translation.functions.size
    p = sim._values.vector({})
    pattern, places = patterns(sim)
    allowed = 0
    for seed in range(2):
        z = np.random.default_rng(seed).normal(size=2 * n)
        rows = jax.jacfwd(lambda z: functions.residual(0.3, z[:n], z[n:], p))(z)
        values = jax.jacfwd(lambda z: functions.values(0.3, z[:n], z[n:], p))(z)
        assert not (np.abs(rows) > 0)[~pattern.toarray()].any()
        assert not (np.abs(values) > 0)[~places.toarray()].any()
        allowed = max(allowed, int((np.abs(rows) > 0).sum()))
    assert pattern.nnz <= 1.5 * allowed


def test_a_general_function_of_a_long_vector_is_left_to_the_program():
    @function
    def mixed(x):
        return jax.numpy.flip(jax.numpy.cumsum(x))

    class Mixed(Model):
        x = Var(500, init=1.0)

        def equations(self):
            return [der(self.x) == -mixed(self.x)]

    assert patterns(translate(Mixed())) is None
