"""What steps are made by: the NDF (default) or the BDF in backward differences, or Radau IIA."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from .coefficients import KAPPA_BDF, KAPPA_NDF, MAX_ORDER, error_constants, leading


@dataclass(frozen=True)
class Formula:
    """A family of formulas, and how its tolerances and first steps are chosen."""

    name: str
    leading: tuple[float, ...]
    error_constants: tuple[float, ...]
    """alpha_k and error constants of the multistep formulas, indexed by the order; zero for other ones."""
    strictness: float
    """Errors of single steps are kept so much below the tolerance at rtol = 1e-6, because they add up: the
    tolerance is meant for the result. Chosen so that errors on the published test problems are within the
    tolerance times 30, with some room."""
    strictness_exponent: float
    """For other tolerances it goes with (1e-6/rtol) to this power; it becomes no smaller at loose ones."""
    first_step_exponent: float
    """A first step is longer than that of a method of order one by rtol to minus this power."""
    orders: str
    """In words."""
    max_order: int = MAX_ORDER
    nodes: tuple[float, ...] = (1.0,)
    """The parts of a step at which the equations hold."""
    of_slopes: float = 1.0
    """Between steps an error of xdot is one of x over the size of the step times this. The polynomial of
    Radau IIA has slopes that are right at the nodes only: h xdot is wrong by up to 15 times the error of x,
    of which a part is allowed for, as its steps are about four times as long."""

    def describe(self, max_order: int) -> str:
        """In words, with orders up to this one."""
        return f"{self.name} {self.orders.format(max_order)}"


def _multistep(name: str, kappa: np.ndarray) -> Formula:
    # The result of a method of order 5 has an error like (error of a step)^(5/6): to keep it in proportion
    # to the tolerance, steps have to be stricter where the tolerance is.
    return Formula(
        name, tuple(leading(kappa).tolist()), tuple(error_constants(kappa).tolist()), strictness=60.0,
        strictness_exponent=0.2, first_step_exponent=0.0, orders="of order 1 to {}",
    )  # fmt: skip


NDF = _multistep("ndf", KAPPA_NDF)
BDF = _multistep("bdf", KAPPA_BDF)
RADAU_NODES = ((4 - sqrt(6)) / 10, (4 + sqrt(6)) / 10, 1.0)
NOTHING = (0.0,) * (MAX_ORDER + 1)
# What is estimated is the error of a formula of order three, larger than that of the result: nothing is to
# be stricter besides.
RADAU = Formula(
    "radau", NOTHING, NOTHING, strictness=1.0, strictness_exponent=0.0, first_step_exponent=0.25,
    orders="IIA of order 5", nodes=RADAU_NODES, of_slopes=0.25,
)  # fmt: skip
FORMULAS = {"ndf": NDF, "bdf": BDF}
"""Those in backward differences."""
ALL_FORMULAS = {**FORMULAS, "radau": RADAU}


def formula_of(name: str, among: dict[str, Formula] = ALL_FORMULAS) -> Formula:
    """The formulas of a name, or ValueError."""
    if name not in among:
        raise ValueError(f"There is no formula '{name}'; there are {', '.join(among)}.")
    return among[name]
