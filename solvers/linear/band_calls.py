"""What native functions for bands are called with, by name: for both sides of the border."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from ..xla.structures import Call, places

FACTOR = Call("modia_py_band_factor", given=("layout", "values", "number"), made=("new_number",))
"""`number` is that of the last factorization."""
_GIVEN, _MADE = ("layout", "number", "b"), ("x", "reordered")
SOLVE = Call("modia_py_band_solve", given=_GIVEN, made=_MADE)
SOLVE_TRANSPOSED = Call("modia_py_band_solve_transposed", given=_GIVEN, made=_MADE)
"""`number` is that of the factorization; `reordered` is room for a vector in the order of the band, left
out where that is the given one."""

Layout = namedtuple(
    "Layout",
    "n lower upper reordered three band multipliers swaps factors slots rows columns vector entries "
    "twisted",
)
LAYOUT: Any = Layout(*range(len(Layout._fields)))
"""Words of the layout: size and diagonals besides the main one; whether rows or columns are in another
order; whether there are three diagonals (2: and the values are all their entries, by rows).
Addresses: of a band, its multipliers and swapped rows; of what the factors are and their number; of the
place of each value; of the order of rows and columns; of a vector for factorizations; of the entries of
three diagonals and of their factors."""

TWISTED, PLAIN, SWAPPED = 0, 1, 2
"""What the last factors are: of three diagonals from both ends, of a band, of a band with swapped rows."""

FACTORS = places("Factors", "kind", "number")
"""Words that say what the last factors are, and how many there were before."""
