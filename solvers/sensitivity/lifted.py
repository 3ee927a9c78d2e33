"""Compiled functions that come with their derivatives.

First derivatives of a run are chains of linear maps. Second ones are derivatives of the same chains: each
link is given a tangent for all that it depends on, and gives one of what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


class Lifted:
    """A function of constants and variables, compiled; and its derivative by the variables."""

    def __init__(self, function: Callable[..., Any], jit: Callable[..., Any]):
        def tangent(constants: Any, variables: Any, tangents: Any) -> Any:
            return jax.jvp(lambda *own: function(constants, *own), variables, tangents)

        self._function, self._tangent = jit(function), jit(tangent)

    def __call__(self, constants: Any, variables: Any, tangents: Any = None) -> tuple[Any, Any]:
        """The value and its tangent; None without tangents of the variables."""
        if tangents is None:
            return self._function(constants, *variables), None
        return self._tangent(constants, variables, tangents)


class Jets:
    """The derivatives of a function of constants and variables, forward and backward, lifted.

    forward     tangents of the variables -> those of what the function returns
    backward    gradients by what it returns -> those by the variables

    Both have an axis of directions in front, and further variables before the last one: where they are
    taken.
    """

    def __init__(self, function: Callable[..., Any], jit: Callable[..., Any]):
        def forward(constants: Any, at: Any, tangents: Any) -> Any:
            def push(tangent: Any) -> Any:
                return jax.jvp(lambda *own: function(constants, *own), at, tangent)[1]

            return jax.vmap(push)(tangents)

        def backward(constants: Any, at: Any, gradients: Any) -> Any:
            _, pull = jax.vjp(lambda *own: function(constants, *own), *at)
            return jax.vmap(pull)(gradients)

        self.forward, self.backward = Lifted(forward, jit), Lifted(backward, jit)
