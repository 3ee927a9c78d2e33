"""Filters against scipy's transfer functions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from modia_py import Input, Model, ModelError, translate
from modia_py.models import blocks

W = 2 * np.pi * np.array([0.3, 1.0, 2.0, 3.5, 9.0])
TYPES = {"LowPass": "low", "HighPass": "high", "BandPass": "bandpass", "BandStop": "bandstop"}
F_MIN, F_CUT = 0.8, 2.0
ORDER = 3


class Bank(Model):
    """Filters of all types and characteristics at one input."""

    u = Input()

    def __init__(self):
        super().__init__()
        common = {"f_cut": F_CUT, "f_min": F_MIN}
        for kind in TYPES:
            setattr(self, f"b{kind}", blocks.Filter("Butterworth", kind, ORDER, **common))
            setattr(self, f"c{kind}", blocks.Filter("ChebyshevI", kind, ORDER, normalized=False, **common))
        for name in ("CriticalDamping", "Bessel", "ChebyshevI"):
            setattr(self, name, blocks.Filter(name, "LowPass", 4, f_cut=F_CUT))
        self.filters = [f"{letter}{kind}" for kind in TYPES for letter in "bc"]
        self.filters += ["CriticalDamping", "Bessel", "ChebyshevI"]

    def equations(self):
        return [getattr(self, name).u == self.u for name in self.filters]


@pytest.fixture(scope="module")
def gains():
    """Of each filter at W, by name."""
    bank = Bank()
    outputs = [f"{name}.y" for name in bank.filters]
    linear = translate(bank).linearize(outputs=outputs, inputs={"u": 0.0})
    A, B, C, D = (np.asarray(m, float) for m in (linear.A, linear.B, linear.C, linear.D))
    rows = [C @ np.linalg.solve(1j * w * np.eye(len(A)) - A, B) + D for w in W]
    return dict(zip(bank.filters, np.stack(rows)[:, :, 0].T, strict=True))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ["butter", "cheby1"])
def test_all_types_are_those_of_scipy(gains, kind, name):
    edges = 2 * np.pi * (F_CUT if "Pass" in kind and "Band" not in kind else np.array([F_MIN, F_CUT]))
    ripple = 0.5 if name == "cheby1" else None
    zeros = signal.iirfilter(
        ORDER, edges, rp=ripple, btype=TYPES[kind], analog=True, ftype=name, output="zpk"
    )
    _, expected = signal.freqs_zpk(*zeros, worN=W)
    np.testing.assert_allclose(gains[f"{name[0]}{kind}"], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["CriticalDamping", "Bessel", "ChebyshevI"])
def test_normalized_filters_are_down_by_3_dB(gains, name):
    np.testing.assert_allclose(np.abs(gains[name][2]), 10 ** (-3 / 20), rtol=1e-9)


def test_wrong_words():
    with pytest.raises(ModelError, match="no 'Butter', only CriticalDamping, Bessel"):
        blocks.Filter("Butter")
    with pytest.raises(ModelError, match="order is 0"):
        blocks.Filter(order=0)
