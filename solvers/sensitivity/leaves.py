"""The part of the parameters that a derivative is taken by: arrays of floating-point numbers.

Flags and integers among the parameters have no derivative, and travel beside them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Leaves(NamedTuple):
    """Parameters taken apart: those that can move, and how to put all of them together again."""

    moving: tuple[Any, ...]
    others: tuple[Any, ...]
    is_moving: tuple[bool, ...]
    tree: Any

    def join(self, moving: Any, others: Any = None) -> Any:
        """The parameters with other values of what can move."""
        first, second = iter(moving), iter(self.others if others is None else others)
        leaves = [next(first) if moves else next(second) for moves in self.is_moving]
        return jax.tree.unflatten(self.tree, leaves)


def take_apart(p: Any, may_move: Any = None) -> Leaves:
    """The leaves of p; those that may move are flags in a tree of the same form, all if it is not given."""
    leaves, tree = jax.tree.flatten(p)
    allowed = [True] * len(leaves) if may_move is None else jax.tree.leaves(may_move)
    is_moving = tuple(
        bool(may) and jnp.issubdtype(jnp.result_type(leaf), jnp.floating)
        for leaf, may in zip(leaves, allowed, strict=True)
    )
    moving = tuple(leaf for leaf, moves in zip(leaves, is_moving, strict=True) if moves)
    others = tuple(leaf for leaf, moves in zip(leaves, is_moving, strict=True) if not moves)
    return Leaves(moving, others, is_moving, tree)
