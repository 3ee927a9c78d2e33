"""Systems that switch at known times: relays, resets, bounces, pulses, sampled control, friction, clutches.

A system alone, or a component array of several with numbers of their own; with or without counters, stored
times and integrals. Between events they are linear, so the exact solution is a list of closed forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import mode_events, state_events, time_events
from .parts import Deviation, Must, Part, largest_deviation, number
from .switching import Numbers, System

STOP = 1.0
SYSTEMS = (*state_events.SYSTEMS, *time_events.SYSTEMS, *mode_events.SYSTEMS)
"""For each a function that chooses how it is written, and one that draws its numbers."""


@dataclass(frozen=True)
class Hybrid:
    system: System
    copies: tuple[Numbers, ...]  # more than one: a component array
    kind: str = "hybrid"
    must: Must = "right"
    stop_time: float = STOP

    def source(self, name: str) -> str:
        if len(self.copies) == 1:
            return self._class_text(name)
        values = {key: [copy[key] for copy in self.copies] for key in self.copies[0]}
        arguments = "".join(f", {key}={number(value)}" for key, value in values.items())
        return "\n".join(
            [
                self._class_text(f"{name}Unit"),
                "",
                f"class {name}(Model):",
                f"    unit = {name}Unit.array({len(self.copies)}{arguments})",
                "",
            ]
        )

    def _class_text(self, name: str) -> str:
        system = self.system
        parameters = [f"    {key} = Par({value!r})" for key, value in self.copies[0].items()]
        variables = [*system.variables, *(extra.variable for extra in system.extras)]
        equations = [*system.equations, *(extra.equation for extra in system.extras)]
        lines = [f"class {name}(Model):  # {system.title}", *parameters]
        lines += [f"    {text}" for text in variables]
        lines += ["", "    def equations(self):", "        s = self"]
        lines += [f"        {text}" for text in system.before]
        lines += ["        return [", *(f"            {text}," for text in equations), "        ]", ""]
        return "\n".join(lines)

    def inputs(self) -> Mapping[str, Callable[[Any], Any]]:
        return {}

    def deviations(self, times: np.ndarray, values: Callable[[str], np.ndarray]) -> Iterator[Deviation]:
        prefix = "" if len(self.copies) == 1 else "unit."
        columns = {name: values(prefix + name).reshape(len(times), -1) for name in self.system.compared}
        for k, numbers in enumerate(self.copies):
            solution = self.system.solve(numbers, self.stop_time)
            for name, column in columns.items():
                value = np.asarray(column[:, k], float)
                right = solution.nearest(name, times, value)
                title = f"{prefix}{name}" + (f"[{k}]" if prefix else "")
                yield largest_deviation(title, times, value, right, solution.gain)

    def reductions(self) -> Iterator[Part]:
        if len(self.copies) > 1:
            yield from (replace(self, copies=(copy,)) for copy in self.copies)
        extras = self.system.extras
        for k in range(len(extras)):
            yield replace(self, system=replace(self.system, extras=extras[:k] + extras[k + 1 :]))


def hybrid(rng: np.random.Generator, draw: np.random.Generator) -> Part:
    make, numbers = SYSTEMS[rng.integers(len(SYSTEMS))]
    system = make(rng)
    extras = tuple(extra for extra in system.extras if rng.random() < 0.7)
    count = int(rng.choice([1, 2, 3, 5], p=[0.6, 0.2, 0.1, 0.1]))
    return Hybrid(replace(system, extras=extras), tuple(numbers(draw) for _ in range(count)))
