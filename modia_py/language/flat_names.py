"""Which elements of a flat model a text names: `r[3].R`, `y[:2]`, `der(t[0].level)`.

Values for a run are given by such names (`params`, `init`, `guess`, `atol`), and results are asked for
them: they mean the same everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays.distinct import distinct
from ..errors import ModelError
from ..expressions.indexing import Shape
from ..expressions.printing import der_text
from .element_names import parse, readings, take
from .flat_model import FlatSymbol


@dataclass(frozen=True, eq=False)
class NamedElements:
    """Elements of a symbol, differentiated `order` times, as a text has named them."""

    text: str
    symbol: FlatSymbol
    order: int
    elements: np.ndarray
    """Numbers of the elements within the symbol, in the shape of what is selected."""
    is_whole: bool

    @property
    def shape(self) -> Shape:
        """The shape of a value for them."""
        return self.elements.shape

    @property
    def places(self) -> np.ndarray:
        """Their numbers among all elements of symbols of this kind, one after the other."""
        return self.symbol.offset + self.elements.ravel()

    @property
    def whole_name(self) -> str:
        """The name of the symbol they belong to, with its derivative."""
        return der_text(self.symbol.name, self.order)


def find_elements(text: str, known: Mapping[str, FlatSymbol]) -> NamedElements | None:
    """What a text names among known symbols; None if nothing, an error if an index is wrong."""
    if not isinstance(text, str):
        raise ModelError(f"Values are given by name, as text: not {text!r}.")
    if text in known:
        return _whole(text, known[text])
    wanted = parse(text)
    for reading in readings(wanted, known.__contains__) if wanted is not None else ():
        symbol = known[reading.name]
        if not any(reading.keys):
            return _whole(text, symbol, reading.order)
        numbers = np.arange(symbol.size).reshape(symbol.shape)
        arrays = tuple(k for k, (_, is_array) in enumerate(symbol.symbol.segments()) if is_array)
        try:
            elements = np.asarray(take(numbers, reading, arrays, 0))
        except (IndexError, ValueError) as error:
            shape = f"has shape {symbol.shape}" if symbol.shape else "is a scalar"
            raise ModelError(f"{text!r} selects nothing: {symbol.name} {shape} ({error}).") from None
        if not elements.size:
            raise ModelError(f"{text!r} selects nothing: {symbol.name} has shape {symbol.shape}.")
        if len(distinct(elements)) < elements.size:
            raise ModelError(f"{text!r} names an element twice.")
        return NamedElements(text, symbol, reading.order, elements, False)
    return None


def _whole(text: str, symbol: FlatSymbol, order: int = 0) -> NamedElements:
    return NamedElements(text, symbol, order, np.arange(symbol.size).reshape(symbol.shape), True)
