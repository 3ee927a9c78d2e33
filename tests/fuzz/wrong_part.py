"""A model that only an error is right for: what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .parts import Deviation, Must, Part

Draw = np.random.Generator


@dataclass(frozen=True)
class Wrong:
    title: str
    declarations: tuple[str, ...]
    equations: tuple[str, ...]
    before: str = ""  # classes
    kind: str = "wrong"
    must: Must = "error"
    stop_time: float = 1.0

    def source(self, name: str) -> str:
        lines = [
            f"class {name}(Model):  # {self.title}",
            *(f"    {text}" for text in self.declarations),
            "",
        ]
        lines += [
            "    def equations(self):",
            "        return [",
            *(f"            {text}," for text in self.equations),
        ]
        text = "\n".join([*lines, "        ]", ""])
        return f"{self.before}\n\n{text}" if self.before else text

    def inputs(self) -> Mapping[str, Callable[[Any], Any]]:
        return {}

    def deviations(self, times: np.ndarray, values: Callable[[str], np.ndarray]) -> Iterator[Deviation]:
        return iter(())

    def reductions(self) -> Iterator[Part]:
        return iter(())


def some_number(draw: Draw, low: float = 0.3, high: float = 2.5) -> float:
    return float(np.round(draw.uniform(low, high), 2))
