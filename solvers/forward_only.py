"""Numbers that are differentiated forward only: to differentiate them backward is an error that says so."""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

_forward_only = Primitive("modia_py_forward_only")
_forward_only.def_impl(lambda value, *, advice: value)
_forward_only.def_abstract_eval(lambda value, *, advice: value)
batching.defvectorized(_forward_only)
mlir.register_lowering(_forward_only, lambda _, value, *, advice: [value])


def _backward(cotangent: Any, value: Any, *, advice: str) -> Any:
    raise NotImplementedError(advice)


ad.deflinear2(_forward_only, _backward)


def forward_only(value: jax.Array, advice: str) -> jax.Array:
    """The value. Where it is a derivative that is to go backward, NotImplementedError with the advice."""
    return _forward_only.bind(value, advice=advice)
