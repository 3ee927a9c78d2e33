"""What a store of an ensemble, and a worker, take for the same model: equal to the last bit."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import Input, Model, ModelError, Var, der, function, reinit, translate, when
from modia_py.studies.model_digest import model_digest


class Cooling(Model):
    """Eight bodies with rates that no text of the equations shows."""

    u = Input()

    def __init__(self, first=1.0, exponent=4, level=0.5, **changes):
        super().__init__(**changes)
        self.T = Var(8, init=1.0)
        self.first, self.exponent, self.level = first, exponent, level

    def equations(self):
        rates = np.concatenate([[self.first], np.arange(1.0, 8.0)])
        loss = function(lambda T: jnp.abs(T) ** self.exponent)
        falls = when(self.T[0] < self.level, reinit(self.T[1], 1.0))
        return [der(self.T) == self.u - rates * self.T - loss(self.T), falls]


def digest(**arguments):
    return model_digest(translate(Cooling(**arguments)).flat)


def test_what_the_text_of_equations_does_not_show():
    own = digest()
    assert digest() == own
    changes = {"first": 1.0 + 1e-13}, {"exponent": 3}, {"level": 0.5 + 1e-13}, {"T": 2.0}
    others = [digest(**change) for change in changes]
    assert len({own, *others}) == 5


def test_a_store_with_another_function_as_input_is_refused(tmp_path):
    sim, bias = translate(Cooling()), 0.1

    def run(input_function):
        return sim.ensemble(
            0.1, times=2, init={"T": [[1.0] * 8]}, inputs={"u": input_function}, store=store
        )

    store = tmp_path / "store"
    first = run(lambda t: np.sin(t) + bias)
    assert np.array_equal(run(lambda t: np.sin(t) + bias)["T"], first["T"])
    for other in (lambda t: np.cos(t) + bias, lambda t: np.sin(t) + 2 * bias, ([0.0, 1.0], [0.0, 1.0])):
        with pytest.raises(ModelError, match="with other options"):
            run(other)
    bias = 0.2
    with pytest.raises(ModelError, match="with other options"):
        run(lambda t: np.sin(t) + bias)
