"""Fixtures of many tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

os.environ.setdefault("MODIA_PY_CACHE", "off")  # tests compile what they test

MOST_MAPS = 20_000
"""Linux lets a process map 65530 pieces of memory, and every program that XLA has compiled takes some."""


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
