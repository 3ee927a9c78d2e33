"""Many copies or times at once: a `vmap`; one after the other where linear algebra is called.

XLA hands a batch of matrices to its threads, and the thread that did so waits for them. Two such calls on a
machine with two cores wait for each other for ever. A matrix at a time is computed where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax

from .expression import Application
from .nodes import Node, topological


def calls_lapack(roots: Iterable[Node]) -> bool:
    """Whether anything below the roots factorizes a matrix."""
    return any(isinstance(node, Application) and node.primitive.calls_lapack for node in topological(roots))


def calls_python(roots: Iterable[Node]) -> bool:
    """Whether anything below the roots calls back into Python while it runs: it may return something else
    in the next run."""
    return any(isinstance(node, Application) and node.primitive.calls_python for node in topological(roots))


def lanes(
    function: Callable[..., Any], axes: tuple[int | None, ...], one_by_one: bool
) -> Callable[..., Any]:
    """The function for all lanes: arguments have a leading axis where `axes` has zero."""
    if not one_by_one:
        return jax.vmap(function, axes)

    def mapped(*arguments: Any) -> Any:
        def lane(own: list[Any]) -> Any:
            left = iter(own)
            pairs = zip(arguments, axes, strict=True)
            return function(*(value if axis is None else next(left) for value, axis in pairs))

        return jax.lax.map(lane, [v for v, axis in zip(arguments, axes, strict=True) if axis is not None])

    return mapped
