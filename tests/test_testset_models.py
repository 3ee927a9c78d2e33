"""Published test problems, from their model to their end values, at a relative tolerance of 1e-7.

Digits are the least relative agreement over all listed values, multipliers included. Not here: the NAND
gate, because the branches of its transistors are events. The friction of the water tubes has a kink, too,
but a step across it fails the error test and is repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from modia_py import translate
from modia_py.models.mechanisms import Pendulum

from . import testset_models as models
from .problems.testset import REFERENCES

RTOL = 1e-7


@dataclass(frozen=True)
class Case:
    model: Callable[[], Any]
    stop: float
    listed: Callable[[Any], Any]
    """What the reference lists, from the result."""
    reference: Any
    atol: Any = 1e-9
    floor: float = 1e-300
    """Below this, reference values are compared absolutely."""
    start: float = 0.0
    inputs: dict[str, Any] = field(default_factory=dict)
    digits: float = 5.0


def finals(*names):
    return lambda result: np.concatenate([np.atleast_1d(result.final(name)) for name in names])


def interleaved(result):
    return np.stack([result.final("u"), result.final("v")], axis=1).ravel()


def nodes(result):
    """The potentials of the eight nodes of the amplifier."""
    names = ["first.p.v", "first.n.v", "t1.e.v", "t1.c.v", "t2.b.v", "t2.e.v", "t2.c.v", "last.n.v"]
    return finals(*names)(result)


def pendulum_values(result):
    """The reference has the tension over twice the length as its multiplier."""
    return np.append(finals("r", "v")(result), result.final("tension") / 2)


STEPS = {"inlet": ([0.0, 8.0], [300.0, 301.0], "previous"), "flow": ([0.0, 15.0], [1.0, 1.1], "previous")}
EXACT = {
    "brenan": [np.exp(-100.0) + 100 * np.sin(100.0), np.sin(100.0)],
    "kvaerno": [np.exp(-1.0), np.sin(1.0), np.cos(1.0)],
    "jay": np.exp([1.0, -2.0, 2.0]),
}

CASES = {
    "hires": Case(models.Hires, 321.8122, finals("y"), REFERENCES["hires"], 1e-14),
    "robertson": Case(
        models.Robertson, 1e11, finals("a", "b", "c"), REFERENCES["robertson"], {"a": 1e-14, "b": 1e-20}
    ),
    "chemakzo": Case(models.ChemicalAkzo, 180.0, finals("y", "g"), REFERENCES["chemakzo"], 1e-13),
    "medakzo": Case(
        models.MedicalAkzo,
        20.0,
        interleaved,
        REFERENCES["medakzo"],
        1e-11,
        floor=1e-7,
        inputs={"phi": ([0.0, 5.0], [2.0, 0.0], "previous")},
    ),
    "transamp": Case(models.Amplifier, 0.2, nodes, REFERENCES["transamp"], 1e-10),
    "brenan": Case(models.Brenan, 100.0, finals("a", "b"), EXACT["brenan"], 1e-11),
    "kvaerno": Case(models.Kvaerno, 1.0, finals("a", "b", "c"), EXACT["kvaerno"], 1e-11, start=-1.0),
    "jay": Case(models.Jay, 1.0, finals("a", "b", "z"), EXACT["jay"], 1e-10),
    "heat exchanger": Case(
        models.HeatExchanger,
        20.0,
        finals("a", "b", "w", "qa", "qb"),
        REFERENCES["heat_exchanger"],
        1e-7,
        floor=1.0,
        inputs=STEPS,
    ),
    "water": Case(
        models.WaterTubes,
        61200.0,
        finals("flow", "friction", "buffers", "pressure"),
        REFERENCES["water"],
        {"flow": 1e-11, "friction": 1e-10, "buffers": 1e-5},
    ),
    "caraxis": Case(
        models.CarAxis,
        3.0,
        finals("left", "right", "v_left", "v_right", "along", "tension"),
        REFERENCES["caraxis"],
        1e-9,
    ),
    "andrews": Case(models.Andrews, 0.03, finals("q", "v", "der(v)", "f"), REFERENCES["andrews"], 1e-9),
    "pendulum": Case(lambda: Pendulum(r=[-1.0, 0.0]), 10.0, pendulum_values, REFERENCES["pendulum"], 1e-9),
}


def digits(case: Case, result: Any) -> float:
    reference = np.asarray(case.reference)
    off = np.abs(case.listed(result) - reference)
    return float(-np.log10(np.max(off / np.maximum(np.abs(reference), case.floor)) + 1e-16))


LONG = ("andrews", "medakzo", "transamp")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in CASES]
)
def test_reference_values(name):
    case = CASES[name]
    result = translate(case.model()).simulate(
        case.stop,
        start_time=case.start,
        inputs=case.inputs,
        times=[case.start, case.stop],
        rtol=RTOL,
        atol=case.atol,
    )
    assert digits(case, result) > case.digits
