"""Start values that cannot hold together: the smallest set of them, and the equations they are in.

All `init` values become soft rows: the nearest point then violates the contradictory ones, and no others.
Of these, one after the other is left out; what can be spared does not belong to the smallest set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import SimulationError
from ..solvers.roots.nearest import NearestRoot
from ..solvers.roots.nearest_problem import SMALL, Effort
from .dependent_equations import equation_nodes
from .errors import cannot_start
from .problem import StartProblem, StartSystem
from .values import StartValues
from .zero_parameters import zero_parameters

MOVED = 1e-12
"""`init` values that had to move by more than this, compared with their size, are noted."""
CONTRADICTS = 1e-7
"""`init` values given with rounding may be off by so much, compared with their size."""
MOST_TRIED = 60
LISTED = 8


def resolve_contradictions(
    start: StartProblem, failed: NearestRoot, tried: StartSystem, effort: Effort
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The start with all `init` values as soft rows, if they agree but for rounding, and a note; else an
    error."""
    if not len(start.init) and not start.init.flat.initial_equations:  # nothing can give way
        if failed.satisfied:
            return failed.z, ()
        raise cannot_start(start, failed, tried, effort)
    relaxed = _Relaxed(start, tried)
    everything = np.ones(len(start.init), bool)
    found = relaxed.solve(everything)
    if not relaxed.equations_hold(found):
        if failed.satisfied and start.agrees:
            return failed.z, ()
        raise cannot_start(start, failed, tried, effort)
    if not relaxed.any_violated(found):
        return found.z, _moves_text(start.init, found.residual[relaxed.is_init])
    raise SimulationError(relaxed.text(found, relaxed.violated(found, everything)))


def _moves_text(init: StartValues, off: np.ndarray) -> tuple[str, ...]:
    """A sentence about `init` values that were given with rounding, and do not hold to the last digit."""
    moved = np.flatnonzero(np.abs(off) > MOVED * np.maximum(np.abs(init.value), SMALL))
    moved = moved[np.argsort(-np.abs(off[moved]), kind="stable")]
    if not len(moved):
        return ()
    texts = [f"{init.label(int(k))} = {init.value[k]:.10g} by {off[k]:.2g}" for k in moved[:LISTED]]
    more = f" and {len(moved) - LISTED} more" if len(moved) > LISTED else ""
    return (f"`init` values were moved a little, so that all equations hold: {', '.join(texts)}{more}",)


class _Relaxed:
    """The initial problem with all `init` values as soft rows, any of which can be left out."""

    def __init__(self, start: StartProblem, tried: StartSystem):
        self.start = start
        alone = tried.unknowns == start.n
        self.system = (start.of_values if alone else start.of_values_and_slopes)(start.init)
        self.effort = start.effort(self.system)
        first, m = self.system.first, self.system.rows
        self.fixed = np.zeros(2 * start.n, bool)
        self.fixed[: start.n] = start.program.layout.integrals
        self.is_init = np.zeros(m, bool)
        self.is_init[first : first + len(start.init)] = True
        # Initial equations are of the same rank as `init` values: they may be what contradicts.
        self.soft = np.arange(m) >= first

    def solve(self, chosen: np.ndarray, soft: np.ndarray | None = None) -> NearestRoot:
        active = np.ones(len(self.is_init), bool)
        active[self.is_init] = chosen
        z = self.start.z_guess if chosen.all() else self.start.nudged(chosen)
        options: dict[str, Any] = {
            "soft": self.soft if soft is None else soft,
            "active": active,
            "effort": self.effort,
        }
        found = self.system.solve(z, self.fixed, **options)
        if self.equations_hold(found):
            return found
        return self.system.solve(z, self.fixed, equal=True, **options)

    def equations_hold(self, found: NearestRoot) -> bool:
        return found.finite and not np.any(~self.soft[found.unsatisfied])

    def any_violated(self, found: NearestRoot) -> bool:
        """Whether an `init` value or an initial equation does not hold, beyond rounding of its terms."""
        return bool(np.any(found.relative[self.soft] > CONTRADICTS))

    def violated(self, found: NearestRoot, chosen: np.ndarray) -> np.ndarray:
        """`init` values that do not hold, by number; beside initial equations, all that give way."""
        off = found.relative[self.is_init]
        initial = found.relative[self.soft & ~self.is_init]
        least = 1e-3 * CONTRADICTS if np.any(initial > CONTRADICTS) else CONTRADICTS
        return np.flatnonzero(chosen & (off > least))

    def contradict(self, chosen: np.ndarray) -> bool:
        found = self.solve(chosen)
        return self.any_violated(found) or not self.equations_hold(found)

    def smallest(self, violated: np.ndarray, off: np.ndarray) -> np.ndarray:
        """A set of contradictory values of which none can be left out; those that are off most stay."""
        chosen = np.ones(len(self.start.init), bool)
        waiting = [np.argsort(off, kind="stable")]
        tried = 0
        while (
            waiting and tried < MOST_TRIED and self.effort.left
        ):  # halves first: most values have nothing to do with it
            group = waiting.pop()
            tried += 1
            chosen[group] = False
            if self.contradict(chosen):
                continue
            chosen[group] = True
            if len(group) > 1:
                middle = len(group) // 2
                waiting += [group[middle:], group[:middle]]
        found = np.flatnonzero(chosen)
        return violated if waiting and len(violated) < len(found) else found

    def text(self, found: NearestRoot, violated: np.ndarray) -> str:
        start = self.start
        chosen = self.smallest(violated, found.relative[self.is_init])
        lines = []
        for k in chosen[:LISTED].tolist():
            lines.append(f"    {start.init.label(k)} = {start.init.value[k]:g}")
        if len(chosen) > LISTED:
            lines.append(f"    ... and {len(chosen) - LISTED} more")
        texts = [self.system.row_text(int(row)) for row in self._equations(found)]
        assignments = self._assignments(chosen)
        texts += map(start.program.transformed.structure.equation_name, assignments)
        listed = "\n".join(f"    {text}" for text in dict.fromkeys(texts))
        with_equations = ("\ntogether with\n" if lines else "") + listed if listed else ""
        claim = "These `init` values contradict each other"
        if len(chosen) == 1:
            claim = "This `init` value cannot hold"
        if not len(chosen):
            claim = "These equations contradict each other"
        return (
            f"{claim} at the start:\n"
            + "\n".join(lines)
            + with_equations
            + self._zero_factors(found, assignments)
            + self._nearest(found, chosen)
            + "\nMake one of them a `guess`, or change it; or, if it is meant to jump, "
            'simulate(..., start="impulse").'
        )

    def _zero_factors(self, found: NearestRoot, assignments: list[int]) -> str:
        """Parameters that are zero, and with them what they multiply, in the equations that are named."""
        program = self.start.program
        rows = [
            self.system.form_row(row) for row in self._equations(found).tolist() if row < self.system.first
        ]
        nodes, _ = equation_nodes(program, np.array(rows, int))
        names = zero_parameters(
            program, [*nodes.tolist(), *assignments], np.asarray(self.start.arguments.p), factors=True
        )
        return f"\nIn these equations {', '.join(names)} is zero." if names else ""

    def _nearest(self, found: NearestRoot, chosen: np.ndarray) -> str:
        """The nearest values that agree, and how far they are, the farthest first."""
        if np.any(found.relative[self.soft & ~self.is_init] > CONTRADICTS):
            # Initial equations have given way, too, and values that leave them violated do not agree.
            found = self.solve(np.ones(len(self.start.init), bool), soft=self.is_init)
            if not found.finite or np.any(~self.is_init[found.unsatisfied]):
                return ""
        init, off = self.start.init, found.residual[self.is_init]
        chosen = chosen[np.argsort(-found.relative[self.is_init][chosen], kind="stable")]
        texts = [
            f"{init.label(k)} = {init.value[k] + off[k]:.10g} (off by {abs(off[k]):.3g})"
            for k in chosen.tolist()
            if off[k] != 0.0
        ]
        more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
        return f"\nThe nearest that agree: {', '.join(texts[:LISTED])}{more}." if texts else ""

    def _assignments(self, chosen: np.ndarray) -> list[int]:
        """The equations that variables in the set are solved from."""
        program = self.start.program
        values, form = program.functions.value_map, program.transformed.form
        local = {
            int(values.offset[v]): e
            for e, v in zip(form.local_equations, form.local_variables, strict=True)
        }
        firsts = np.sort(np.fromiter(local, int)) if local else np.zeros(0, int)
        found = []
        for place in self.start.init.place[chosen][:LISTED].tolist():
            if 2 * self.start.n <= place < values.zero:
                first = int(firsts[np.searchsorted(firsts, place, side="right") - 1])
                found.append(int(local[first]))
        return found

    def _equations(self, found: NearestRoot) -> np.ndarray:
        """The equations through which the violated values meet, and initial equations among them."""
        weight = np.where(self.is_init, 0.0, np.abs(found.multipliers))
        most = np.abs(found.multipliers).max(initial=0.0)
        rows = np.flatnonzero(weight > 1e-6 * most)
        return rows[np.argsort(-weight[rows], kind="stable")][:LISTED]
