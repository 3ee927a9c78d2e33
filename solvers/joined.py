"""Small arrays put together, for the way between Python and compiled functions.

A call pays one to two microseconds for every array it takes or returns, however small. A state has thirty
of them, most of them single numbers: joined, all numbers of one type are one vector. Long arrays stay as
they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

FEW = 16
"""Elements up to which an array is put together with others."""


class Leaf(NamedTuple):
    type: str
    shape: tuple[int, ...]
    size: int


class Layout(NamedTuple):
    structure: Any
    leaves: tuple[Leaf, ...]


@jax.tree_util.register_pytree_node_class
class Joined:
    """A tree of arrays: its small ones in one vector for each type, and the long ones."""

    def __init__(self, vectors: dict[str, Any], long: list[Any], layout: Layout):
        self.vectors, self.long, self.layout = vectors, long, layout
        self._on_host: Any = None

    def tree_flatten(self) -> tuple[tuple[Any, Any], Layout]:
        return (self.vectors, self.long), self.layout

    @classmethod
    def tree_unflatten(cls, layout: Layout, children: tuple[Any, Any]) -> Joined:
        return cls(*children, layout)

    def split(self) -> Any:
        """The tree, inside of a compiled function."""
        return self._split(self.vectors, self.vectors)

    def on_host(self) -> Any:
        """The tree with numbers of Python and small arrays of numpy; long ones stay where they are."""
        if self._on_host is None:
            arrays = {type_: np.asarray(vector) for type_, vector in self.vectors.items()}
            numbers = {type_: array.tolist() for type_, array in arrays.items()}
            self._on_host = self._split(arrays, numbers)
        return self._on_host

    def _split(self, arrays: dict[str, Any], numbers: dict[str, Any]) -> Any:
        ends, long, found = dict.fromkeys(arrays, 0), iter(self.long), []
        for type_, shape, size in self.layout.leaves:
            if size > FEW:
                found.append(next(long))
                continue
            begin, ends[type_] = ends[type_], ends[type_] + size
            found.append(
                arrays[type_][begin : begin + size].reshape(shape) if shape else numbers[type_][begin]
            )
        return self.layout.structure.unflatten(found)

    def changed_on_host(self, tree: Any) -> Joined:
        """Another tree of the same layout, whose numbers may be those of Python."""
        return _put_together(jax.tree.leaves(tree), self.layout, np)


def join(tree: Any) -> Joined:
    """The tree joined, inside of a compiled function."""
    return _put_together(*_laid_out(tree), jnp)


def join_on_host(tree: Any) -> Joined:
    """The tree joined, without JAX."""
    return _put_together(*_laid_out(tree), np)


def _laid_out(tree: Any) -> tuple[list[Any], Layout]:
    leaves, structure = jax.tree.flatten(tree)
    return leaves, Layout(
        structure, tuple(Leaf(str(leaf.dtype), leaf.shape, leaf.size) for leaf in leaves)
    )


def _put_together(leaves: list[Any], layout: Layout, library: Any) -> Joined:
    small: dict[str, list[Any]] = {}
    long = []
    for leaf, (type_, _, size) in zip(leaves, layout.leaves, strict=True):
        if size > FEW:
            long.append(leaf)
        else:
            small.setdefault(type_, []).append(library.ravel(library.asarray(leaf, type_)))
    vectors = {type_: library.concatenate(parts) for type_, parts in small.items()}
    return Joined(vectors, long, layout)
