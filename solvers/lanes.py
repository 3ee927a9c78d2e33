"""Lanes of a `vmap`: one after the other on a CPU, together on accelerators.

On a CPU batched calls of LAPACK beside each other may wait for each other for ever; and in a batch XLA adds
up in another order, so that a run in a lane would not be the run alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def each(function: Callable[[Any], Any], rows: Any, one_by_one: bool) -> Any:
    """The function of each row, at once or one after the other."""
    return jax.lax.map(function, rows) if one_by_one else jax.vmap(function)(rows)


def one_by_one_on_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, but its lanes under `vmap` run one after the other on a CPU."""
    one_by_one = jax.custom_batching.sequential_vmap(function)
    lane = jax.custom_batching.custom_vmap(function)

    @lane.def_vmap
    def lanes(size: int, batched: Any, *arguments: Any) -> tuple[Any, Any]:
        axes = jax.tree.map(lambda is_batched: 0 if is_batched else None, tuple(batched))
        found = jax.lax.platform_dependent(
            *arguments, cpu=jax.vmap(one_by_one, axes), default=jax.vmap(function, axes)
        )
        return found, jax.tree.map(lambda _: True, found)

    return lane
