"""Processes that were forked after JAX was used.

`os.fork` copies memory and one thread. The threads of XLA are not there in the child, and a computation
waits for them for ever. So it is noted when JAX is first used, by us or by anybody who compiles something
after this was imported; in a child that was forked later it is an error to use it again. A child that was
forked before has a JAX of its own and may do everything.
"""

from __future__ import annotations

import os
from typing import Any

import jax.monitoring

COMPILED = "/jax/core/compile/backend_compile_duration"
"""What JAX tells listeners when it has compiled a program. Tracing alone needs no threads."""

ADVICE = (
    "This process was forked (from process {parent}) after JAX had been used there: the threads of JAX are "
    "missing here, and a simulation would wait for them for ever. Start processes afresh, with "
    '`multiprocessing.get_context("spawn")` (`ProcessPoolExecutor(mp_context=...)`); or use threads '
    "(`ThreadPoolExecutor`); or fork before the first simulation."
)


class ForkedProcess(RuntimeError):
    """JAX cannot be used in this process."""


class _Jax:
    """Whether JAX is in use here, and the process of which this is a copy that cannot use it."""

    in_use = False
    forked_from: int | None = None


def check_not_forked() -> None:
    """ForkedProcess if using JAX here would hang."""
    if _Jax.forked_from is not None:
        raise ForkedProcess(ADVICE.format(parent=_Jax.forked_from))


def use_jax() -> None:
    """To be called before JAX computes something: ForkedProcess if that would hang."""
    check_not_forked()
    _Jax.in_use = True


def _listen(event: str, duration_secs: float, **_: Any) -> None:
    if event == COMPILED:
        _Jax.in_use = True


def _in_child() -> None:
    if _Jax.in_use and _Jax.forked_from is None:
        _Jax.forked_from = os.getppid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
    jax.monitoring.register_event_duration_secs_listener(_listen)
