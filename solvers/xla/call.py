"""Foreign functions called from JAX, with arrays by name."""

from __future__ import annotations

from typing import Any

import jax

from .structures import Call


def call(
    function: Call, made: dict[str, jax.ShapeDtypeStruct] | None = None, /, **arrays: Any
) -> dict[str, jax.Array]:
    """What the function has changed or made, by name. What it changes is worked on in place; of what it
    makes, shapes and types are given."""
    given = [arrays[name] for name in function.given]
    changed = [arrays[name] for name in function.changed]
    shapes = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in changed]
    shapes += [(made or {})[name] for name in function.made]
    aliases = {len(given) + k: k for k in range(len(changed))}
    found = jax.ffi.ffi_call(function.target, shapes, input_output_aliases=aliases)(*given, *changed)
    return dict(zip((*function.changed, *function.made), found, strict=True))
