"""`fast_jit`: jax.jit with options of XLA that suit a loop of many small operations.

On a CPU, XLA compiles each fused operation by one of two generators of code. The newer one takes twice as
long for a loop like this one; what it makes is faster only where vectors are long. Library calls for sums
and products are handed to other threads, which costs more than it gains where vectors are short. Where XLA
does not know an option, it is left out.

Nothing is compiled once more with other options behind a run's back: a run that goes over to another
program, or whose repetition does, would not give the same numbers to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax

from .shared_programs import ProgramWithData

LONG = 2000
"""Length of vectors from which on XLA's own choices are better."""

_WANTED: dict[str, bool | str | int] = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_experimental_ynn_fusion_type": "",
}
_LEVEL = "xla_backend_optimization_level"


@cache
def options() -> dict[str, bool | str | int]:
    """The wanted options that are known here; none where there is no CPU to compile for."""
    return {name: value for name, value in _known_options().items() if name in _WANTED}


def options_for_few_calls(size: int) -> dict[str, bool | str | int]:
    """Little optimization: compiling takes longer than all calls together. Without any, long vectors take
    several times as long as with a little."""
    known = _known_options()
    return {**known, _LEVEL: 1} if _LEVEL in known and size >= LONG else known


@cache
def _known_options() -> dict[str, bool | str | int]:
    if jax.default_backend() != "cpu":
        return {}
    everything = {**_WANTED, _LEVEL: 0}
    if _is_known(everything):  # one question, as a rule: each of them compiles a program
        return everything
    return {name: value for name, value in everything.items() if _is_known({name: value})}


def _is_known(option: dict[str, Any]) -> bool:
    try:
        jax.jit(lambda x: x).lower(0.0).compile(compiler_options=option)
    except RuntimeError:
        return False
    return True


def fast_jit(function: Callable[..., Any], size: int) -> Callable[..., Any]:
    """A compiled function that works on vectors of this length."""
    return ProgramWithData(function, options() if size < LONG else {})


def quick_jit(function: Callable[..., Any], size: int) -> Callable[..., Any]:
    """The same for a function that is called a few times only."""
    return ProgramWithData(function, options_for_few_calls(size))
