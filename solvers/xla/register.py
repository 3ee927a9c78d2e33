"""Native functions made known to XLA, if it is one that they are made for."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax

PATIENCE = 2.0
"""Seconds after which a user is told that native code is compiled."""

Handlers = Mapping[str, Any]
"""Functions compiled by numba, by the name under which XLA knows them."""


@cache
def why_not(load: Callable[[], Handlers]) -> str:
    """Make the native functions that `load` imports known to XLA. Why they cannot be used; empty if they
    can."""
    return _unknown_structures() or _register(load)


@cache
def _unknown_structures() -> str:
    """Why no native function can be used: what XLA calls them with is something else than they expect."""
    if jax.default_backend() != "cpu":
        return f"they are for CPUs, and JAX runs on {jax.default_backend()}"
    reason = _register(_probe)
    if reason:
        return reason
    from .probe import what_is_wrong

    try:
        wrong = what_is_wrong()
    except RuntimeError as error:
        wrong = str(error)
    return f"XLA has another interface for foreign functions ({wrong})" if wrong else ""


def _probe() -> Handlers:
    from .probe import HANDLERS

    return HANDLERS


def _register(load: Callable[[], Handlers]) -> str:
    try:
        with _sentence():
            handlers = load()
    except ImportError as error:
        return f"numba is not there ({error})"
    except RuntimeError as error:  # no place for what numba compiles
        return str(error)
    try:
        for name, handler in handlers.items():
            jax.ffi.register_ffi_target(name, _capsule(handler.address), platform="cpu")
    except RuntimeError as error:
        return f"XLA has another interface for foreign functions ({error})"
    return ""


@contextmanager
def _sentence() -> Iterator[None]:
    """Where native code is found, that is a matter of a moment; where it is not, a user waits for numba."""
    text = "modia_py is compiling its native code: this is done once for an installation."
    timer = threading.Timer(PATIENCE, lambda: _tell(text))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@cache
def _tell(text: str) -> None:
    """Once in a process."""
    print(text, file=sys.stderr, flush=True)


def _capsule(address: int) -> Any:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(address, None, None)
