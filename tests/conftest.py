"""Fixtures of many tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

_CACHE = Path(tempfile.mkdtemp(prefix="modia_py_tests_")) if "MODIA_PY_CACHE" not in os.environ else None
"""Compiled programs of these tests: empty at first, shared by their processes, deleted at the end."""

if _CACHE is not None:
    os.environ["MODIA_PY_CACHE"] = str(_CACHE)

MOST_MAPS = 20_000
"""Linux lets a process map 65530 pieces of memory, and every program that XLA has compiled takes some."""

QUICK = (
    "test_component_libraries",
    "test_estimate",
    "test_event_cases",
    "test_fuzz_small",
    "test_gradients",
    "test_gradients_told_apart",
    "test_linear_function",
    "test_no_derivative",
    "test_radau_gradients",
    "test_resolved_tangents",
    "test_sensitivities",
    "test_start_event_gradients",
    "test_steady_state",
)
"""Files whose programs XLA optimizes little, as it does where native code integrates few unknowns.
Compiling takes most of the time of these tests, a third of it for optimizing what runs for milliseconds."""


def pytest_unconfigure() -> None:
    if _CACHE is not None:
        shutil.rmtree(_CACHE, ignore_errors=True)


@pytest.fixture(params=["native", "jax"])
def loop(request):
    """Which loop makes the steps: what `solve` promises, both keep."""
    return request.param


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """As in a terminal: a process started in the background of a script ignores interrupts."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.fixture(autouse=True, scope="module")
def _forget_programs() -> Iterator[None]:
    """A file of tests does not pay for the programs of all files before it."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture(autouse=True, scope="module")
def _quick_compilation(request) -> Iterator[None]:
    from modia_py.solvers import compile_options  # not before it is known where its cache is

    with pytest.MonkeyPatch.context() as patch:
        if request.node.path.stem in QUICK:
            patch.setattr(compile_options, "options", lambda: compile_options.options_for_few_calls(0))
        yield
