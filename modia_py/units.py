"""Units as text, such as "kg.m2/s": their dimension, factor and zero in SI.

A small table instead of a package: pint takes 0.3 s to import, and four more packages, for what is a
dictionary here. Syntax is that of Modelica and UCUM: factors joined by "." (or "*", or a blank), exponents
behind a name (`m2`, `s-1`, `m^2`, `m**2`), and what follows a "/" divides.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from typing import Any

Dimension = tuple[float, ...]
BASE = ("kg", "m", "s", "A", "K", "mol", "cd")
SAME = 1e-9
"""Factors that differ by less are the same."""


@dataclass(frozen=True)
class Unit:
    """A quantity of x in this unit is `factor * x + offset` in SI units of its dimension."""

    dimension: Dimension
    factor: float = 1.0
    offset: float = 0.0

    def __mul__(self, other: Unit) -> Unit:
        sums = tuple(a + b for a, b in zip(self.dimension, other.dimension, strict=True))
        return Unit(sums, self.factor * other.factor)

    def __truediv__(self, other: Unit) -> Unit:
        return self * other**-1

    def __pow__(self, exponent: float) -> Unit:
        return Unit(tuple(exponent * d for d in self.dimension), self.factor**exponent)

    def equals(self, other: Unit) -> bool:
        """Whether numbers in both mean the same."""
        return (
            self.converts_to(other)
            and math.isclose(self.factor, other.factor, rel_tol=SAME)
            and self.offset == other.offset
        )

    def converts_to(self, other: Unit) -> bool:
        """Whether both are of one dimension."""
        pairs = zip(self.dimension, other.dimension, strict=True)
        return all(abs(a - b) < SAME for a, b in pairs)

    def converted(self, values: Any, to: Unit) -> Any:
        """Numbers in this unit as numbers in another one of the same dimension."""
        return (self.factor * values + (self.offset - to.offset)) / to.factor

    def __str__(self) -> str:
        known = _NAME_OF.get(self.dimension)
        scale = "" if math.isclose(self.factor, 1.0, rel_tol=SAME) else f"{self.factor:.6g} "
        if self.offset:
            return next(name for name, unit in _PLAIN.items() if unit == self)
        if known is not None:
            return scale + known
        up = [_power_text(name, d) for name, d in zip(BASE, self.dimension, strict=True) if d > 0]
        down = [_power_text(name, -d) for name, d in zip(BASE, self.dimension, strict=True) if d < 0]
        below = "" if not down else f"/{down[0]}" if len(down) == 1 else f"/({'.'.join(down)})"
        return f"{scale}{'.'.join(up) or '1'}{below}"


def _power_text(name: str, exponent: float) -> str:
    return name if exponent == 1 else f"{name}{exponent:g}"


def _unit(factor: float, *, offset: float = 0.0, **exponents: float) -> Unit:
    return Unit(tuple(float(exponents.get(name, 0)) for name in BASE), factor, offset)


ONE = _unit(1.0)
SECOND = _unit(1.0, s=1)
KELVIN = _unit(1.0, K=1)

_PREFIXES = {
    "Y": 1e24, "Z": 1e21, "E": 1e18, "P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "h": 1e2,
    "da": 1e1, "d": 1e-1, "c": 1e-2, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9,
    "p": 1e-12, "f": 1e-15, "a": 1e-18,
}  # fmt: skip

_SCALED = {  # may have a prefix
    "m": _unit(1, m=1), "g": _unit(1e-3, kg=1), "s": SECOND, "A": _unit(1, A=1), "K": KELVIN,
    "mol": _unit(1, mol=1), "cd": _unit(1, cd=1), "rad": ONE, "Hz": _unit(1, s=-1),
    "N": _unit(1, kg=1, m=1, s=-2), "Pa": _unit(1, kg=1, m=-1, s=-2), "J": _unit(1, kg=1, m=2, s=-2),
    "W": _unit(1, kg=1, m=2, s=-3), "C": _unit(1, A=1, s=1), "V": _unit(1, kg=1, m=2, s=-3, A=-1),
    "F": _unit(1, kg=-1, m=-2, s=4, A=2), "Ohm": _unit(1, kg=1, m=2, s=-3, A=-2),
    "S": _unit(1, kg=-1, m=-2, s=3, A=2), "Wb": _unit(1, kg=1, m=2, s=-2, A=-1),
    "T": _unit(1, kg=1, s=-2, A=-1), "H": _unit(1, kg=1, m=2, s=-2, A=-2), "lm": _unit(1, cd=1),
    "lx": _unit(1, cd=1, m=-2), "kat": _unit(1, mol=1, s=-1), "L": _unit(1e-3, m=3), "l": _unit(1e-3, m=3),
    "bar": _unit(1e5, kg=1, m=-1, s=-2), "eV": _unit(1.602176634e-19, kg=1, m=2, s=-2),
    "Wh": _unit(3600, kg=1, m=2, s=-2),
    "t": _unit(1e3, kg=1), "VA": _unit(1, kg=1, m=2, s=-3), "var": _unit(1, kg=1, m=2, s=-3),
}  # fmt: skip
_SCALED["ohm"] = _SCALED["Ω"] = _SCALED["Ohm"]

_PLAIN = {
    "1": ONE, "%": _unit(1e-2), "ppm": _unit(1e-6),
    "wk": _unit(604800.0, s=1), "yr": _unit(31557600.0, s=1),
    "mmHg": _unit(133.322387415, kg=1, m=-1, s=-2), "deg": _unit(math.pi / 180), "rev": _unit(2 * math.pi),
    "rpm": _unit(2 * math.pi / 60, s=-1), "min": _unit(60.0, s=1), "h": _unit(3600.0, s=1),
    "d": _unit(86400.0, s=1), "ha": _unit(1e4, m=2), "atm": _unit(101325.0, kg=1, m=-1, s=-2),
    "degC": _unit(1.0, K=1, offset=273.15), "degF": _unit(5 / 9, K=1, offset=459.67 * 5 / 9),
    "degR": _unit(5 / 9, K=1), "in": _unit(0.0254, m=1), "ft": _unit(0.3048, m=1),
    "mi": _unit(1609.344, m=1), "lb": _unit(0.45359237, kg=1),
    "psi": _unit(6894.757293168, kg=1, m=-1, s=-2), "cal": _unit(4.184, kg=1, m=2, s=-2),
}  # fmt: skip
_PLAIN["°C"] = _PLAIN["deg C"] = _PLAIN["degC"]
_PLAIN["°F"] = _PLAIN["deg F"] = _PLAIN["degF"]

_NAME_OF = {
    _SCALED[name].dimension: name for name in ("S", "F", "H", "Wb", "Ohm", "V", "W", "J", "Pa", "N")
}
_COUNTED = re.compile(r"\{[^{}]*\}")
_FACTOR = re.compile(r"([^\d\s.*/^()+-]+|1|%)(?:(?:\^|\*\*)?([+-]?\d+))?")


@functools.lru_cache(maxsize=4096)
def parse_unit(text: str) -> Unit | None:
    """The unit of a text, or None if it is none that is known.

    What is counted stands in braces, as in UCUM.

    >>> print(parse_unit("kg.m2/s3"), parse_unit("mm"), parse_unit("apples"), parse_unit("{apples}/s"))
    W 0.001 m None 1/s
    """
    found, divides = ONE, False
    rest = _COUNTED.sub("1", text.strip().replace("·", "."))
    alone = rest in _PLAIN  # an offset is that of a unit alone
    if alone:
        return _PLAIN[rest]
    if not rest:
        return None
    while rest:
        if rest[0] in ". *()":
            rest = rest[1:]
        elif rest[0] == "/":
            divides, rest = True, rest[1:]
        elif (match := _FACTOR.match(rest)) is not None and (own := _single(match[1])) is not None:
            exponent = float(match[2] or 1) * (-1 if divides else 1)
            found, rest = found * own**exponent, rest[match.end() :]
        else:
            return None
    return found


def _single(name: str) -> Unit | None:
    for table in (_PLAIN, _SCALED):
        if name in table:
            return table[name]
    for length in (2, 1):
        prefix, base = name[:length], name[length:]
        if prefix in _PREFIXES and base in _SCALED:
            unit = _SCALED[base]
            return Unit(unit.dimension, _PREFIXES[prefix] * unit.factor)
    return None


_SPELT = {
    "meter": "m", "metre": "m", "second": "s", "sec": "s", "minute": "min", "hour": "h", "day": "d",
    "hr": "h", "kilogram": "kg", "gram": "g", "ampere": "A", "amp": "A", "volt": "V", "watt": "W",
    "newton": "N", "pascal": "Pa", "joule": "J", "kelvin": "K", "celsius": "degC", "degree": "deg",
    "radian": "rad", "hertz": "Hz", "farad": "F", "henry": "H", "coulomb": "C", "tesla": "T",
    "mps": "m/s", "kph": "km/h", "kmh": "km/h", "mph": "mi/h", "liter": "L", "litre": "L",
    "ohms": "Ohm", "percent": "%", "barg": "bar", "kg": "kg", "none": "1", "-": "1", "": "1",
}  # fmt: skip


def near_unit(text: str) -> str | None:
    """What an unknown unit may mean: a unit that is spelt out, or in other letters.

    >>> near_unit("Kg/sec"), near_unit("volts"), near_unit("Nm"), near_unit("apples")
    ('kg/s', 'V', 'N.m', None)
    """

    def replaced(match: re.Match[str]) -> str:
        word = match[0]
        if _single(word) is not None:
            return word
        if word.lower() in _SPELT:
            return _SPELT[word.lower()]
        for k in range(1, len(word)):  # Nm
            if _single(word[:k]) is not None and _single(word[k:]) is not None:
                product = f"{word[:k]}.{word[k:]}"
                return f"({product})" if text[: match.start()].endswith("/") else product
        low = word.lower()
        for candidate in (low, low.removesuffix("s"), low.upper(), low.capitalize()):
            if candidate in _SPELT:
                return _SPELT[candidate]
            if _single(candidate) is not None:
                return candidate
        return word

    near = _SPELT.get(text.strip()) or re.sub(r"[^\W\d_]+", replaced, text)
    return near if parse_unit(near) is not None else None
