"""Blocks of lanes spread over threads, or over the workers of an executor; they come as they are finished.

Compiled code runs without Python's lock, so threads of this process are enough for the cores of a machine;
a thread that has finished a block takes the next one, and none waits for another. Executors of
`concurrent.futures` and clients of Dask are given tasks that carry the model; which worker runs what, and
what happens when one is lost, is theirs.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from ..errors import ModelError, SimulationError
from .lane_runs import Block, BlockTask, run_block

MOST_WAITING = 256
"""Blocks that an executor is given before the first of them is back."""


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_blocks(
    sim: Any, tasks: Sequence[BlockTask], executor: Any, done: Callable[[int], Any]
) -> Iterator[Block]:
    """The blocks of all tasks, in the order in which they are finished; `done` is told of lanes."""
    if executor is None:
        return _in_threads(sim, tasks, done)
    if isinstance(executor, ThreadPoolExecutor):
        return _by_futures(executor, sim, tasks, done, _ready)
    if isinstance(executor, Executor):
        sim.check_sendable(to_new_interpreters=False)
        return _by_futures(executor, sim, tasks, done, _ready)
    if hasattr(executor, "submit") and hasattr(executor, "scheduler"):
        sim.check_sendable(to_new_interpreters=True)
        return _by_futures(executor, sim, tasks, done, _ready_in_dask, pure=False)
    raise ModelError(
        f"executor is one of concurrent.futures or a client of Dask, not {type(executor).__name__}."
    )


def _in_threads(sim: Any, tasks: Sequence[BlockTask], done: Callable[[int], Any]) -> Iterator[Block]:
    stop, results = threading.Event(), queue.SimpleQueue[Block | BaseException | None]()
    left = iter(tasks)
    lock = threading.Lock()

    def work() -> None:
        try:
            while not stop.is_set():
                with lock:
                    task = next(left, None)
                if task is None:
                    break
                block = run_block(sim, task, stop.is_set, lambda: done(1))
                if block is not None:
                    results.put(block)
        except BaseException as error:  # raised where the ensemble was asked for
            stop.set()
            results.put(error)
        finally:
            results.put(None)

    # What the first block compiles, the others find: it is run alone.
    first = next(left, None)
    if first is None:
        return
    block = run_block(sim, first, done=lambda: done(1))
    assert block is not None
    yield block
    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(cores(), len(tasks)))]
    try:
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            found = results.get()
            if isinstance(found, BaseException):
                raise found
            if found is None:
                running -= 1
            else:
                yield found
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _by_futures(
    executor: Any,
    sim: Any,
    tasks: Sequence[BlockTask],
    done: Callable[[int], Any],
    ready: Callable[[set[Any]], tuple[set[Any], set[Any]]],
    **options: Any,
) -> Iterator[Block]:
    left, waiting = iter(tasks), set[Any]()
    try:
        while True:
            while len(waiting) < MOST_WAITING and (task := next(left, None)) is not None:
                waiting.add(executor.submit(run_block, sim, task, **options))
            if not waiting:
                return
            finished, waiting = ready(waiting)
            for future in finished:
                try:
                    block = future.result()
                except BrokenProcessPool as error:
                    raise SimulationError(
                        f"{sim.name}: a worker of the executor has died, and with it the executor. What "
                        f"was finished is in the store, if there is one: call again with a new executor."
                    ) from error
                done(block.count)
                yield block
    finally:
        for future in waiting:
            future.cancel()


def _ready(waiting: set[Any]) -> tuple[set[Any], set[Any]]:
    finished, left = wait(waiting, return_when=FIRST_COMPLETED)
    return set(finished), set(left)


def _ready_in_dask(waiting: set[Any]) -> tuple[set[Any], set[Any]]:
    from distributed import wait as wait_in_dask

    finished, left = wait_in_dask(waiting, return_when="FIRST_COMPLETED")
    return set(finished), set(left)
