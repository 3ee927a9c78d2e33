"""All variables along a run, from what the integrator has kept of x and xdot.

Eliminated, alias and local variables are computed when first asked for, in one vmapped evaluation over the
times; for models so large that all values would not fit in memory, for the asked variable only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.structure import NONE
from ..expressions.symbol_kinds import DiscreteRole, SymbolKind
from ..interruptions import check_process
from ..language.flat_model import FlatModel, FlatSymbol
from ..program.program import Arguments, Program

MOST_BYTES_KEPT = 5e8
MOST_BYTES_AT_ONCE = 1e8


@dataclass(frozen=True, eq=False)
class Span:
    """Times, x and xdot of a run or of a part of it, and the data that hold there.

    A derivative may be off by `slack` times the tolerance of its variable: it is interpolated between steps
    of size 1 / slack; zero where it follows from the equations.

    `seen` are the times that the equations see: close to a stop of the integration they stay on their side.
    """

    t: np.ndarray
    x: np.ndarray
    xdot: np.ndarray
    slack: np.ndarray
    arguments: Arguments
    seen_times: np.ndarray | None = None
    discrete_rows: np.ndarray | None = None
    """Discrete values at each time, where there are any."""

    @property
    def seen(self) -> np.ndarray:
        return self.t if self.seen_times is None else self.seen_times

    @property
    def discretes(self) -> np.ndarray:
        return np.zeros((len(self.t), 0)) if self.discrete_rows is None else self.discrete_rows

    def rows(self, chosen: np.ndarray) -> Span:
        """Some of the times."""
        t, x, xdot, slack = (part[chosen] for part in (self.t, self.x, self.xdot, self.slack))
        return Span(t, x, xdot, slack, self.arguments, self.seen[chosen], self.discretes[chosen])


class Outputs:
    """Values of the variables and inputs of a model at the output times."""

    def __init__(self, flat: FlatModel, program: Program, spans: list[Span]):
        self.flat, self.program, self.spans = flat, program, spans
        self.symbols = {
            symbol.name: symbol for symbol in (*flat.variables, *flat.inputs, *declared_discretes(flat))
        }
        self.rows = sum(len(span.t) for span in spans)
        width = program.functions.value_map.zero + 1
        self.fits = 8 * width * self.rows <= MOST_BYTES_KEPT
        self.everything: np.ndarray | None = None

    def read(self, name: str, order: int) -> np.ndarray | None:
        """A variable differentiated some times, at all times; None if the equations do not have it."""
        symbol = self.symbols[name]
        elements = slice(symbol.offset, symbol.offset + symbol.size)
        if symbol.kind is SymbolKind.INPUT:
            return self._inputs(elements, order, symbol.shape)
        if symbol.kind is SymbolKind.DISCRETE:
            return self._discretes(symbol) if order == 0 else None
        where = self.program.functions.value_map
        if order >= where.orders or (where.place[order][elements] == NONE).any():
            return None
        place, sign = where.place[order][elements], where.sign[order][elements]
        values = self._all()[:, place] if self.fits else self._evaluate(place)
        if (sign != 1).any():
            values = sign * values
        return values.reshape(self.rows, *symbol.shape)

    def asked_rows(self, times: np.ndarray) -> np.ndarray:
        """The row for each time that was asked for and reached: at an event, the one after it."""
        t = np.concatenate([np.zeros(0), *(span.t for span in self.spans)])
        row = np.searchsorted(t, times, side="right") - 1
        found = row[row >= 0]
        return found[t[found] == np.asarray(times)[row >= 0]]

    def _discretes(self, symbol: FlatSymbol) -> np.ndarray:
        elements = slice(symbol.offset, symbol.offset + symbol.size)
        parts = [self._discrete_rows(span)[:, elements] for span in self.spans]
        values = np.concatenate([np.zeros((0, symbol.size)), *parts])
        return values.reshape(self.rows, *symbol.shape).astype(symbol.symbol.dtype)

    def _discrete_rows(self, span: Span) -> np.ndarray:
        """All discrete values at each time; without events they are as they were given."""
        if span.discrete_rows is not None:
            return span.discrete_rows
        first = self.flat.parameter_size
        given = np.asarray(span.arguments.p)[first : first + self.flat.discrete_size]
        return np.broadcast_to(given, (len(span.t), len(given)))

    def _all(self) -> np.ndarray:
        if self.everything is None:
            self.everything = self._evaluate(slice(None))
        return self.everything

    def _evaluate(self, places: Any) -> np.ndarray:
        check_process()
        width = self.program.functions.value_map.zero + 1
        values = np.empty((self.rows, len(np.arange(width)[places])))
        at_once, first = int(max(1, MOST_BYTES_AT_ONCE // (8 * width))), 0
        for span in self.spans:
            # As many rows as a power of two: runs with other numbers of times compile nothing new.
            rows = min(at_once, 1 << max(0, len(span.t) - 1).bit_length())
            for start in range(0, len(span.t), rows):
                chosen = slice(start, start + rows)
                count = len(span.t[chosen])
                vectors = (span.seen, span.x, span.xdot, span.discretes)
                t, x, xdot, d = (filled(part[chosen], rows) for part in vectors)
                found = np.asarray(self.program.output_values(t, x, xdot, d, span.arguments))
                values[first : first + count] = found[:count, places]
                first += count
        return values

    def _inputs(self, elements: slice, order: int, shape: tuple[int, ...]) -> np.ndarray | None:
        if order > self.program.functions.input_order:
            return None
        check_process()
        parts = [np.zeros((0, elements.stop - elements.start))]
        shift = order * self.program.functions.input_size
        for span in self.spans:
            u = self.program.output_inputs(span.seen, span.arguments)
            parts.append(np.asarray(u)[:, shift + elements.start : shift + elements.stop])
        return np.concatenate(parts).reshape(self.rows, *shape)


def declared_discretes(flat: FlatModel) -> list[FlatSymbol]:
    """The discrete variables that a user has declared."""
    return [own for own in flat.discretes if own.symbol.role is DiscreteRole.DECLARED]


def filled(part: np.ndarray, rows: int) -> np.ndarray:
    """As many rows as wanted: the last one again and again."""
    return np.concatenate([part, np.repeat(part[-1:], rows - len(part), axis=0)])
