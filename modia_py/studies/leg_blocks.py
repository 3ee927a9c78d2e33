"""Legs of a run cut into blocks of one size, for the compiled sweeps; and a workspace for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..solvers.linear.contract import SingularMatrix
from ..solvers.loop.compiled import CompiledProblem
from ..solvers.matrix.jacobian import C_ZERO
from ..solvers.sensitivity.blocks import Constants, Place, Rows, Steps
from ..solvers.sensitivity.moves import Equations, Made, Point
from ..solvers.sensitivity.stages import StageMaps
from ..solvers.sensitivity.steps import Factors, MultistepMaps
from .linear_maps import LinearMaps, NoDerivative
from .recording import Leg, Recording


@dataclass(frozen=True, eq=False)
class Block:
    """A piece of a leg, in arrays of one size; those beyond the counts mean nothing."""

    steps: slice
    """Which steps of the leg,"""
    chosen: np.ndarray
    """which rows of the output,"""
    inside: slice
    """and which of those rows that lie within steps of the leg."""
    of_steps: Steps
    of_rows: Rows
    at_steps: tuple[np.ndarray, np.ndarray]
    at_rows: tuple[np.ndarray, np.ndarray]

    def known(self, workspace: Workspace) -> Constants:
        return Constants(
            workspace.tables, workspace.others, self.of_steps, self.of_rows, workspace.step_tables,
            workspace.factors,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Workspace:
    """Tables of linear solvers that nobody else uses meanwhile, first factors, and the data of a leg."""

    tables: Any
    step_tables: Any
    factors: Factors
    moving: Any
    others: Any

    def place(self, block: Block) -> Place:
        return Place(self.moving, block.at_steps, block.at_rows)


@contextmanager
def workspace_of(
    compiled: CompiledProblem, steps: MultistepMaps | StageMaps, maps: LinearMaps, leg: Leg
) -> Iterator[Workspace]:
    """A workspace for a leg with steps of one kind."""
    with compiled.workspaces.one() as workspace, ExitStack() as stack:
        solver = workspace.solver
        tables = compiled.tables._replace(solver=solver.tables)
        at = leg.start
        if isinstance(steps, StageMaps):
            c = C_ZERO  # for rows
        else:
            c = leg.made.h[0] / compiled.method.formula.leading[int(leg.made.order[0])]
        values = compiled.matrix(tables.gather, *maps.point(at), leg.arguments, c)
        moving, others = maps.parts(leg.arguments)
        try:
            factors = solver.prepare(values)
            step_tables: Any = ()
            of_steps = factors
            if isinstance(steps, StageMaps):
                own = maps.leaves._replace(moving=moving, others=others)
                first = Made(*(part[0] for part in leg.made))
                eq, points = Equations(compiled.method, tables, own), leg.points(slice(0, 1))
                stages = Point(leg.t[0], *(part[0] for part in points))
                step_tables, of_steps = stack.enter_context(steps.workspace(eq, stages, first))
        except SingularMatrix:
            raise NoDerivative(f"The equations are singular at time {float(at.t):.9g}.") from None
        yield Workspace(tables, step_tables, Factors(of_steps, factors), moving, others)


def blocks_of(recording: Recording, leg: Leg, size: int, backward: bool = False) -> Iterator[Block]:
    """The blocks of a leg, in order or in reverse."""
    inside = leg.step >= 0
    of_row, rows = leg.step[inside], leg.rows[inside]
    for steps, own in _pieces(leg, of_row, size, backward):
        chosen, made = rows[own], Made(*(_filled(part[steps], size, 1) for part in leg.made))
        at_steps, output = leg.points(steps), recording.output
        yield Block(
            steps,
            chosen,
            own,
            Steps(np.int32(steps.stop - steps.start), _filled(leg.t[steps], size), made),
            Rows(
                np.int32(len(chosen)),
                _filled(output.t[chosen], size),
                _filled(of_row[own] - steps.start, size, -1).astype(np.int32),
            ),
            (_filled(at_steps[0], size), _filled(at_steps[1], size)),
            (_filled(output.x[chosen], size), _filled(output.xdot[chosen], size)),
        )


def _pieces(leg: Leg, of_row: np.ndarray, size: int, backward: bool) -> list[tuple[slice, slice]]:
    """Steps and rows of the blocks: so many of each at the most. Rows of one step may fill more blocks than
    one: the first of them then has the step, and the others have rows at its end only."""
    found = []
    first = row = 0
    while first < leg.count:
        end = min(first + size, leg.count)
        stop = int(np.searchsorted(of_row, end))
        if stop - row > size:  # so many rows that the steps have to be fewer
            end = int(of_row[row + size])
            if end <= first:
                raise NoDerivative(f"More than {size} times of output lie within one step.")
            stop = int(np.searchsorted(of_row, end))
        found.append((slice(first, end), slice(row, stop)))
        first, row = end, stop
    return found[::-1] if backward else found


def filled(part: Any, size: int) -> Any:
    """An array with so many rows, for a block."""
    return _filled(np.asarray(part), size)


def _filled(part: np.ndarray, rows: int, last: float = 0.0) -> np.ndarray:
    """So many rows; those beyond mean nothing."""
    room = np.full((rows, *part.shape[1:]), last, part.dtype)
    room[: len(part)] = part
    return room


def row_of(points: Point, k: Any) -> Point:
    return Point(*(part[k] for part in points))
