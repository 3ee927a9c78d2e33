"""Which differentiation formula is used: the NDF (default) or the BDF, and up to which order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .coefficients import KAPPA_BDF, KAPPA_NDF, error_constants, leading


@dataclass(frozen=True)
class Formula:
    """alpha_k and error constants of one family, indexed by the order."""

    name: str
    leading: tuple[float, ...]
    error_constants: tuple[float, ...]


def _formula(name: str, kappa: np.ndarray) -> Formula:
    return Formula(name, tuple(leading(kappa).tolist()), tuple(error_constants(kappa).tolist()))


NDF = _formula("ndf", KAPPA_NDF)
BDF = _formula("bdf", KAPPA_BDF)
FORMULAS = {"ndf": NDF, "bdf": BDF}


def formula_of(name: str) -> Formula:
    """The formulas of a name, or ValueError."""
    if name not in FORMULAS:
        raise ValueError(f"There is no formula '{name}'; there are {', '.join(FORMULAS)}.")
    return FORMULAS[name]
