"""Small arrays put together, for the way between Python and compiled functions.

A call pays one to two microseconds for every array it takes or returns, however small. A state has thirty
of them, most of them single numbers: joined, all numbers of one type are one vector. Long arrays stay as
they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

FEW = 16
"""Elements up to which an array is put together with others."""


class Place(NamedTuple):
    """Where a leaf is: in which array, and from where to where; it is all of that if `begin` is None."""

    array: int
    begin: int | None
    end: int
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Layout:
    """One for each kind of tree, so that to compare two of them is to look whether they are the same."""

    structure: Any
    types: tuple[np.dtype, ...]
    """Of the vectors of small arrays, which come before the long ones."""
    places: tuple[Place, ...]


@jax.tree_util.register_pytree_node_class
class Joined:
    """A tree of arrays: its small ones in one vector for each type, and its long ones."""

    def __init__(self, arrays: tuple[Any, ...], layout: Layout):
        self.arrays, self.layout = arrays, layout
        self._on_host: Any = None

    def tree_flatten(self) -> tuple[tuple[Any, ...], Layout]:
        return self.arrays, self.layout

    @classmethod
    def tree_unflatten(cls, layout: Layout, arrays: tuple[Any, ...]) -> Joined:
        return cls(arrays, layout)

    def split(self) -> Any:
        """The tree, inside of a compiled function."""
        return self._split(self.arrays, self.arrays)

    def on_host(self) -> Any:
        """The tree with numbers of Python and small arrays of numpy; long ones stay where they are."""
        if self._on_host is None:
            many = len(self.layout.types)
            small = [np.asarray(array) for array in self.arrays[:many]]
            self._on_host = self._split((*small, *self.arrays[many:]), [array.tolist() for array in small])
        return self._on_host

    def _split(self, arrays: Any, numbers: Any) -> Any:
        leaves = []
        for array, begin, end, shape in self.layout.places:
            if begin is None:
                leaves.append(arrays[array])
            elif shape:
                leaves.append(arrays[array][begin:end].reshape(shape))
            else:
                leaves.append(numbers[array][begin])
        return self.layout.structure.unflatten(leaves)

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
    return leaves, _layout(structure, tuple((leaf.dtype, leaf.shape, leaf.size) for leaf in leaves))


@cache
def _layout(structure: Any, leaves: tuple[tuple[np.dtype, tuple[int, ...], int], ...]) -> Layout:
    types = tuple(dict.fromkeys(kind for kind, _, size in leaves if size <= FEW))
    filled, arrays, places = [0] * len(types), len(types), []
    for kind, shape, size in leaves:
        if size > FEW:
            places.append(Place(arrays, None, size, shape))
            arrays += 1
        else:
            vector = types.index(kind)
            places.append(Place(vector, filled[vector], filled[vector] + size, shape))
            filled[vector] += size
    return Layout(structure, types, tuple(places))


def _put_together(leaves: list[Any], layout: Layout, library: Any) -> Joined:
    small: list[list[Any]] = [[] for _ in layout.types]
    long = []
    for leaf, (array, begin, _, _) in zip(leaves, layout.places, strict=True):
        if begin is None:
            long.append(leaf)
        else:
            small[array].append(library.ravel(library.asarray(leaf, layout.types[array])))
    return Joined((*(library.concatenate(parts) for parts in small), *long), layout)
