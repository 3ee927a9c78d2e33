"""Circuits that somebody forgot to ground: potentials are set to zero with a warning that names them, and
currents and voltages are those of the grounded twin."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from modia_py import Model, ModelWarning, connect, translate
from modia_py.models.electrical import Capacitor, ConstantVoltage, Ground, Inductor, Resistor


class Circuit(Model):
    """A source and components in series, all in one loop; some of them doubled in parallel."""

    def __init__(self, grounded, *components):
        super().__init__()
        self.source = ConstantVoltage(V=10.0)
        self.parts = [part if isinstance(part, list) else [part] for part in components]
        if grounded:
            self.ground = Ground()
        self.grounded = grounded

    def equations(self):
        pins = [self.source.p]
        for group in self.parts:
            yield connect(*pins, *(part.p for part in group))
            pins = [part.n for part in group]
        yield connect(*pins, self.source.n)
        if self.grounded:
            yield connect(self.source.n, self.ground.p)


def r_c(grounded):
    return Circuit(grounded, Resistor(R=100.0), Capacitor(C=2.5e-3, u=0.0))


def r_r(grounded):
    return Circuit(grounded, Resistor(R=100.0), Resistor(R=150.0))


def l_r_r_l(grounded):
    """Two inductors in series: their currents are one state, which only the connections tell."""
    resistors = [Resistor(R=10.0), Resistor(R=20.0)]
    return Circuit(grounded, Inductor(L=0.1, i=0.1), resistors, Inductor(L=0.2))


def l_l(grounded):
    return Circuit(grounded, Inductor(L=0.1), Resistor(R=5.0), Inductor(L=0.2, i=0.0))


CURRENTS = {
    r_c: lambda t: 0.1 * np.exp(-4 * t),
    r_r: lambda t: 0.04 + 0 * t,
    l_r_r_l: lambda t: 1.5 - 1.4 * np.exp(-t * (200 / 30) / 0.3),
    l_l: lambda t: 2.0 * (1 - np.exp(-t * 5 / 0.3)),
}


@pytest.mark.parametrize("circuit", CURRENTS)
def test_without_ground(circuit):
    with pytest.warns(ModelWarning) as caught:
        model = translate(circuit(False), check=True)
    text = "\n".join(str(warning.message) for warning in caught)
    assert "zero" in text
    assert ".v" in text  # a potential is named
    floating = model.simulate(1.0, times=21, rtol=1e-8)
    assert any("zero" in note for note in floating.notes)
    np.testing.assert_allclose(floating["source.i"], -CURRENTS[circuit](floating.time), atol=1e-7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grounded = translate(circuit(True), check=True).simulate(1.0, times=21, rtol=1e-8)
    for name in floating.names:
        if name.endswith((".i", ".u")):
            np.testing.assert_allclose(floating[name], grounded[name], atol=1e-7, err_msg=name)
    at_zero = [name for name in floating.names if name.endswith(".v") and not np.any(floating[name])]
    assert any(name in text for name in at_zero)
