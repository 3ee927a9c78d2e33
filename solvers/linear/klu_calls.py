"""What native functions around klujax are called with, by name: for both sides of the border.

klujax is given the same call, with the arguments and results that it expects: they come first, and what is
for us behind them.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from ..xla.structures import Call, places

FACTOR = Call(
    "modia_py_klu_factor",
    given=("rows", "columns", "values", "symbolic", "handle", "layout", "number"),
    made=("new_handle", "new_number"),
)
"""`number` says that the solves with the old factors come before."""
KLUJAX_FACTOR = FACTOR.arguments.layout, FACTOR.results.new_number
"""How many arguments and results are klujax's."""

_GIVEN, _MADE = ("symbolic", "handle", "b", "number", "layout"), ("x",)
SOLVE = Call("modia_py_klu_solve", given=_GIVEN, made=_MADE)
SOLVE_TRANSPOSED = Call("modia_py_klu_solve_transposed", given=_GIVEN, made=_MADE)
KLUJAX_SOLVE = SOLVE.arguments.number, len(_MADE)

Layout = namedtuple("Layout", "lock acquire release factors refactor solve solve_transposed")
LAYOUT: Any = Layout(*range(len(Layout._fields)))
"""Words of the layout: addresses of the lock and of the functions that take and free it; of two words about
the factors; of the functions of klujax."""

FACTORS = places("Factors", "number", "usable")
"""Words about the factors: how many factorizations there were, and whether the last one has succeeded."""
