"""`function`: any JAX function as a part of equations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .expression import Expr, call
from .primitives import Primitive


def function(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a JAX function usable in equations; to be used as a decorator.

    What the function reads from its surroundings may change: each `translate` and `simulate` looks at what
    the function does then, and compiles anew if it does something else.

    Parameters
    ----------
    f : callable
        A function that JAX can trace. Arguments that are expressions or arrays are passed as JAX arrays;
        strings, booleans and plain numbers are passed as they are. It may return an array or a tuple, list
        or dict of them.

    Returns
    -------
    callable
        The same function of expressions. Outside of equations it is the function itself.

    Raises
    ------
    ModelError
        When it is used in an equation: if the function fails for the shapes given, or returns numbers that
        are not of 64 bit.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from modia_py import Model, Var, function
    >>> @function
    ... def polar(x, y):
    ...     return jnp.hypot(x, y), jnp.arctan2(y, x)
    >>> class Point(Model):
    ...     r = Var(2)
    ...     radius = Var()
    ...     def equations(self):
    ...         return [self.radius == polar(self.r[0], self.r[1])[0]]
    >>> Point().equations()
    [radius == polar(r[0], r[1])[0]]
    """
    primitive = Primitive(getattr(f, "__name__", "function"), f, traced=True)

    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return call(primitive, *args, **kwargs) if _any_expression(args, kwargs) else f(*args, **kwargs)

    return wrapped


def _any_expression(args: tuple, kwargs: dict) -> bool:
    return any(
        isinstance(value, Expr) or (isinstance(value, np.ndarray) and value.dtype == object)
        for value in jax.tree_util.tree_leaves((args, kwargs))
    )
