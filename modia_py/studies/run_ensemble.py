"""An ensemble from its beginning to its end: lanes, blocks, those that are missing, what they give."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from os import PathLike
from typing import Any

import jax
import numpy as np
from tqdm import tqdm

from ..errors import ModelError, SimulationInterrupted
from ..expressions.traces import Trace
from ..interruptions import Interruptible, check_process
from ..program.signals import make_signals
from ..simulation.request import RunRequest
from .ensemble import Ensemble
from .ensemble_store import Description, EnsembleStore, digest_of_columns
from .execution import run_blocks
from .lane_runs import NOT_RUN, Block, BlockTask, Output, checked_outputs
from .lanes import Lanes, make_lanes, structural_arguments
from .model_digest import model_digest

MOST_BYTES = 4e9
"""Of values that are kept in memory."""
FEWEST_BLOCKS, MOST_LANES = 32, 50
"""An ensemble is cut into so many blocks at least; a block has so many lanes at most."""
PROGRESS_AFTER = 1.0


def run_ensemble(
    sim: Any,
    asked: RunRequest,
    params: Any,
    init: Any,
    outputs: Any,
    executor: Any,
    store: str | PathLike[str] | None,
    progress: bool | None,
) -> Ensemble:
    """See `CompiledModel.ensemble`."""
    check_process()
    sizes = structural_arguments(None if sim.recipe is None else sim.recipe.model_class)
    lanes = make_lanes(sim._values, params, init, sizes)
    chosen, times = checked_outputs(sim, asked, outputs)
    size = max(1, min(MOST_LANES, lanes.count // FEWEST_BLOCKS))
    kept = _Kept(sim.name, lanes, chosen, times) if store is None else None
    folder = None
    if store is not None:
        description = Description(
            sim.name, lanes.count, size, chosen, times, model_digest(sim.flat),
            digest_of_columns(lanes.columns), _options_text(sim, asked),
        )  # fmt: skip
        folder = EnsembleStore.begun(store, description, lanes.columns)
    firsts = range(0, lanes.count, size) if folder is None else folder.missing()
    tasks = [
        BlockTask(first, lanes.part(first, min(first + size, lanes.count)), asked, chosen, times)
        for first in firsts
    ]
    put = folder.put if folder is not None else kept.put  # type: ignore[union-attr]

    def ensemble() -> Ensemble:
        if folder is not None:
            return Ensemble.of_store(folder, lanes.columns)
        assert kept is not None
        return kept.ensemble()

    with _Bar(progress, lanes.count, lanes.count - sum(t.lanes.count for t in tasks)) as bar:
        _run_all(sim, tasks, executor, put, bar.done, ensemble)
    return ensemble()


def _run_all(
    sim: Any,
    tasks: list[BlockTask],
    executor: Any,
    put: Callable[[Block], None],
    done: Callable[[int], None],
    so_far: Callable[[], Ensemble],
) -> None:
    try:
        with Interruptible(f"The ensemble of {sim.name}"):
            for block in run_blocks(sim, tasks, executor, done):
                put(block)
    except SimulationInterrupted as interrupt:
        raise SimulationInterrupted(str(interrupt), so_far()) from interrupt


class _Kept:
    """Values of all lanes in memory."""

    def __init__(self, model: str, lanes: Lanes, outputs: tuple[Output, ...], times: np.ndarray):
        bytes_needed = 8 * lanes.count * len(times) * sum(int(np.prod(out.shape)) for out in outputs)
        if bytes_needed > MOST_BYTES:
            raise ModelError(
                f"The values of {lanes.count} lanes, {len(times)} times and {len(outputs)} outputs take "
                f"{bytes_needed / 1e9:.3g} GB of memory. Name fewer outputs=[...] or times=, or give "
                f"store=, a folder to which they are written."
            )
        shape = lanes.count, len(times)
        self.model, self.lanes, self.outputs, self.times = model, lanes, outputs, times
        self.values = {out.name: np.full((*shape, *out.shape), np.nan) for out in outputs}
        self.status = np.full(lanes.count, NOT_RUN, object)
        self.message = np.full(lanes.count, "", object)
        self.steps = np.zeros(lanes.count, np.int64)

    def put(self, block: Block) -> None:
        own = slice(block.first, block.first + block.count)
        for name, values in block.values.items():
            self.values[name][own] = values
        self.status[own], self.message[own], self.steps[own] = block.status, block.message, block.steps

    def ensemble(self) -> Ensemble:
        return Ensemble(
            self.model, self.times, self.outputs, self.values.__getitem__, parameters=self.lanes.columns,
            status=self.status, message=self.message, steps=self.steps,
        )  # fmt: skip


class _Bar:
    """A bar of finished lanes, after a second, which several threads may move."""

    def __init__(self, progress: bool | None, total: int, known: int):
        wanted = sys.stderr.isatty() if progress is None else bool(progress)
        self.bar = tqdm(
            total=total, initial=known, unit="lane", delay=PROGRESS_AFTER, disable=not wanted, leave=False
        )
        self.lock = threading.Lock()

    def done(self, lanes: int) -> None:
        with self.lock:
            self.bar.update(lanes)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()


def _options_text(sim: Any, asked: RunRequest) -> str:
    """Options that results depend on, written out; of an input, what it is made of."""
    words = ("start_time", "stop_time", "rtol", "atol", "method", "linear_solver", "max_steps", "start")
    parts = [f"{word}={getattr(asked, word)!r}" for word in words]
    for signal in make_signals(
        sim.flat, asked.inputs, float(asked.start_time), float(asked.stop_time)
    ).each:
        traced = isinstance(signal.key, Trace)
        kind = f"function {signal.key.lasting_digest}" if traced else f"{signal.key}"
        data = enumerate(jax.tree.leaves((signal.data, signal.breaks)))
        values = digest_of_columns({str(k): np.asarray(own) for k, own in data})
        parts.append(f"inputs[{signal.entry.name}]={kind} {values}")
    return ", ".join(parts)
