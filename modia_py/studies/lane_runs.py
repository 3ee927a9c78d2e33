"""Runs of some lanes, one after the other: what is the same for all of them is checked once.

A lane does what `simulate` does with its values, its certificate included, but for where its start is
looked for: from that with the declared values, which is near. So it does not depend on other lanes, to the
last bit. What fails in a lane is its status and message, and its values are NaN.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import ModelError, SimulationError, UnknownNameError
from ..program.signals import make_signals
from ..results.result import Result
from ..simulation.outputs import Outputs
from ..simulation.request import RunRequest
from ..start.values import resolve_variable
from .lanes import Lanes

NOT_RUN, WRONG_VALUE, NO_START = "NOT_RUN", "WRONG_VALUE", "NO_START"
"""How a lane may end, besides the names of `solvers.Status`: no run at all."""
SUCCESSFUL = ("SUCCESS", "TERMINATED")
LINE = re.compile(r" \((?:[^()\s]+:\d+|<unknown>)\)")
"""Where a value was given: in a lane, that is a line of this package."""


@dataclass(frozen=True, eq=False)
class Block:
    """What some lanes have given: values by name, (lane, time, ...), and how each lane ended."""

    first: int
    values: dict[str, np.ndarray]
    status: np.ndarray
    message: np.ndarray
    steps: np.ndarray

    @property
    def count(self) -> int:
        return len(self.status)


@dataclass(frozen=True)
class Output:
    """A quantity that is kept of each lane."""

    name: str
    shape: tuple[int, ...]
    unit: str | None = None


@dataclass(frozen=True, eq=False)
class BlockTask:
    """Some lanes to be run: all that a worker needs besides the model."""

    first: int
    lanes: Lanes
    asked: RunRequest
    outputs: tuple[Output, ...]
    times: np.ndarray

    def empty(self) -> Block:
        """A block in which no lane has run."""
        n, nt = self.lanes.count, len(self.times)
        values = {out.name: np.full((n, nt, *out.shape), np.nan) for out in self.outputs}
        status, message = np.full(n, NOT_RUN, object), np.full(n, "", object)
        return Block(self.first, values, status, message, np.zeros(n, np.int64))


def run_block(
    sim: Any,
    task: BlockTask,
    stopped: Callable[[], bool] = lambda: False,
    done: Callable[[], Any] = lambda: None,
) -> Block | None:
    """Run the lanes of a task in turn; None if it was stopped in between."""
    block = task.empty()
    sim._renew()
    near = sim._declared_start(task.asked) if task.asked.start == "init" else None
    task = replace(task, asked=replace(task.asked, near=near))
    for lane in range(task.lanes.count):
        if stopped():
            return None
        run_lane(sim, task, lane, block)
        done()
    return block


def run_lane(sim: Any, task: BlockTask, lane: int, block: Block) -> None:
    """Run a lane, and write down what it gives."""
    params, init = task.lanes.values(lane)
    asked = replace(task.asked, params=params, init=init)
    try:
        run, program, arguments, point, seconds = sim._run(asked)
    except ModelError as error:
        block.status[lane], block.message[lane] = WRONG_VALUE, LINE.sub("", str(error))
        return
    except SimulationError as error:
        block.status[lane], block.message[lane] = NO_START, str(error)
        return
    block.status[lane], block.message[lane] = run.status.name, run.message
    block.steps[lane] = run.work.steps
    if run.status.failed:
        return
    result = sim._result(program, arguments, point, run, seconds)
    rows = result.output_rows
    for out in task.outputs:
        block.values[out.name][lane, : len(rows)] = result[out.name][rows]


def checked_outputs(sim: Any, asked: RunRequest, names: Any) -> tuple[tuple[Output, ...], np.ndarray]:
    """What is kept of each lane, and at which times; an error for a name, an option or an input that is
    wrong for every lane."""
    options = asked.checked()
    shapes = names_and_shapes(sim, asked)
    if isinstance(asked.atol, dict):
        for name in asked.atol:
            resolve_variable(sim.flat, name)
    if isinstance(names, str):
        raise ModelError(f"outputs are names in a list, [{names!r}], not one text.")
    found = []
    for name in sim._variables if names is None else names:
        selection = shapes.find(name)
        if selection.constant or name == "time":
            raise UnknownNameError(f"{name!r} does not depend on time: it is no output of an ensemble.")
        found.append(Output(name, selection.elements.shape, selection.unit))
    if not found:
        raise ModelError("outputs names nothing: give the variables to keep, ['c.u'].")
    if len({out.name for out in found}) < len(found):
        raise ModelError("outputs names a variable twice.")
    return tuple(found), options.times


def names_and_shapes(sim: Any, asked: RunRequest) -> Result:
    """What a run would give, without a point in time. An error for inputs that are wrong."""
    options = asked.checked()
    sim._renew()
    signals = make_signals(sim.flat, asked.inputs, options.start, options.stop)
    return empty_result(sim, sim.translation.program(signals))


def empty_result(sim: Any, program: Any) -> Result:
    """A result without a point in time: it knows names, shapes and units."""
    outputs = Outputs(sim.flat, program, [])

    def read(name: str, order: int) -> np.ndarray | None:
        if sim._variables[name].is_discrete:
            return np.zeros((0, *sim._variables[name].shape)) if order == 0 else None
        return outputs.read(name, order)

    return Result(
        sim.name,
        np.zeros(0),
        sim._variables,
        read,
        parameters={p.name: np.zeros(p.shape) for p in sim.flat.parameters},
    )
