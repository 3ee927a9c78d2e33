"""A function that Python evaluates, for JAX: five primitives, with the rules that make of them whatever
JAX wants.

    value(x)             y
    push(x, u)           y' u                 tangents, for many u at once
    pull(x, w)           y'^T w               gradients, for many w at once
    bend(x, u, v)        y''(u, v)            second derivatives: tangents of tangents,
    curve(x, v, w)       (w . y'')^T v        and of gradients

push and pull are transposed to each other, bend and curve to bend and curve. x is a vector, y an array; u,
v and w have an axis in front that counts directions.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir


class Host(Protocol):
    """What evaluates: arrays of numpy in and out."""

    @property
    def size(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    def value(self, x: np.ndarray) -> np.ndarray: ...
    def push(self, x: np.ndarray, u: np.ndarray) -> np.ndarray: ...
    def pull(self, x: np.ndarray, w: np.ndarray) -> np.ndarray: ...
    def bend(self, x: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray: ...
    def curve(self, x: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray: ...


def call(host: Host, x: Any) -> Any:
    """y(x), with all derivatives up to the second."""
    return _value.bind(x, host=host)


def call_on_host(function: Any, shape: tuple[int, ...], dtype: Any, *arguments: Any) -> Any:
    """A function of numpy arrays: at once where all is known, else when it is."""
    if not any(isinstance(each, jax.core.Tracer) for each in arguments):
        return jnp.asarray(function(*map(np.asarray, arguments)), dtype)

    def later(*given: Any) -> Any:
        return np.asarray(function(*map(np.asarray, given)), dtype)

    like = jax.ShapeDtypeStruct(shape, dtype)
    return jax.pure_callback(later, like, *arguments, vmap_method="sequential")


def _primitive(name: str, has_y: bool) -> Primitive:
    """One of the five; what it returns has the shape of y or that of x."""
    primitive = Primitive(f"simulation_{name}")

    def shape(host: Host, *arguments: Any) -> tuple[int, ...]:
        own = host.shape if has_y else (host.size,)
        return own if len(arguments) == 1 else (arguments[1].shape[0], *own)

    def run(*arguments: Any, host: Host) -> Any:
        found = shape(host, *arguments)
        return call_on_host(getattr(host, name), found, np.float64, *arguments)

    def abstract(*arguments: Any, host: Host) -> Any:
        return jax.core.ShapedArray(shape(host, *arguments), np.dtype(np.float64))

    primitive.def_impl(run)
    primitive.def_abstract_eval(abstract)
    mlir.register_lowering(primitive, mlir.lower_fun(run, multiple_results=False))
    batching.primitive_batchers[primitive] = partial(_batched, primitive)
    return primitive


def _batched(primitive: Primitive, arguments: Any, axes: Any, *, host: Host) -> tuple[Any, int]:
    """More directions are part of one call; other values of x are other simulations."""
    none = None
    size = next(a.shape[d] for a, d in zip(arguments, axes, strict=True) if d is not none)

    def front(argument: Any, axis: Any) -> Any:
        if axis is none:
            return jnp.broadcast_to(argument, (size, *argument.shape))
        return jnp.moveaxis(argument, axis, 0)

    if axes[0] is none:
        rest = [front(*each) for each in zip(arguments[1:], axes[1:], strict=True)]
        together = [part.reshape(-1, *part.shape[2:]) for part in rest]
        found = primitive.bind(arguments[0], *together, host=host)
        return found.reshape(size, -1, *found.shape[1:]), 0
    lanes = [front(*each) for each in zip(arguments, axes, strict=True)]
    if any(isinstance(lane, jax.core.Tracer) for lane in lanes):
        return jax.lax.map(lambda each: primitive.bind(*each, host=host), tuple(lanes)), 0
    return jnp.stack(
        [primitive.bind(*each, host=host) for each in zip(*map(np.asarray, lanes), strict=True)]
    ), 0


_value, _push, _bend = (_primitive(name, True) for name in ("value", "push", "bend"))
_pull, _curve = (_primitive(name, False) for name in ("pull", "curve"))


# Tangents --------------------------------------------------------------------------------------------


def _is_zero(tangent: Any) -> bool:
    return isinstance(tangent, ad.Zero)


def _total(like: Any, terms: list[Any]) -> Any:
    if not terms:
        return ad.Zero(jax.core.ShapedArray(like.shape, like.dtype))
    return sum(terms[1:], terms[0])


def _many(tangent: Any, like: Any) -> Any:
    """One direction of x for each of the others."""
    return jnp.broadcast_to(tangent, (like.shape[0], *tangent.shape))


def _value_rule(primals: Any, tangents: Any, *, host: Host) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    y = _value.bind(x, host=host)
    return y, _total(y, [] if _is_zero(dx) else [_push.bind(x, dx[None], host=host)[0]])


def _push_rule(primals: Any, tangents: Any, *, host: Host) -> tuple[Any, Any]:
    (x, u), (dx, du) = primals, tangents
    found = _push.bind(x, u, host=host)
    terms = [] if _is_zero(du) else [_push.bind(x, du, host=host)]
    if not _is_zero(dx):
        terms.append(_bend.bind(x, u, _many(dx, u), host=host))
    return found, _total(found, terms)


def _pull_rule(primals: Any, tangents: Any, *, host: Host) -> tuple[Any, Any]:
    (x, w), (dx, dw) = primals, tangents
    found = _pull.bind(x, w, host=host)
    terms = [] if _is_zero(dw) else [_pull.bind(x, dw, host=host)]
    if not _is_zero(dx):
        terms.append(_curve.bind(x, _many(dx, w), w, host=host))
    return found, _total(found, terms)


def _second_rule(primitive: Primitive, primals: Any, tangents: Any, *, host: Host) -> tuple[Any, Any]:
    (x, one, other), (dx, d_one, d_other) = primals, tangents
    if not _is_zero(dx):
        raise NotImplementedError("Simulations have first and second derivatives, and no third ones.")
    found = primitive.bind(x, one, other, host=host)
    terms = [] if _is_zero(d_one) else [primitive.bind(x, d_one, other, host=host)]
    if not _is_zero(d_other):
        terms.append(primitive.bind(x, one, d_other, host=host))
    return found, _total(found, terms)


ad.primitive_jvps[_value] = _value_rule
ad.primitive_jvps[_push] = _push_rule
ad.primitive_jvps[_pull] = _pull_rule
ad.primitive_jvps[_bend] = partial(_second_rule, _bend)
ad.primitive_jvps[_curve] = partial(_second_rule, _curve)


# Transposed ------------------------------------------------------------------------------------------


def _transposed(gradient: Any, *arguments: Any, host: Host, rule: Any) -> tuple[Any, ...]:
    """Gradients by the arguments that the function is linear in."""
    unknown = [isinstance(each, ad.UndefinedPrimal) for each in arguments]
    (which,) = (k for k, own in enumerate(unknown) if own)
    found: list[Any] = [None] * len(arguments)
    if _is_zero(gradient):
        found[which] = ad.Zero(arguments[which].aval)
    else:
        found[which] = rule(which, gradient, *arguments, host=host)
    return tuple(found)


def _of_push(which: int, gradient: Any, x: Any, u: Any, *, host: Host) -> Any:
    return _pull.bind(x, gradient, host=host)


def _of_pull(which: int, gradient: Any, x: Any, w: Any, *, host: Host) -> Any:
    return _push.bind(x, gradient, host=host)


def _of_bend(which: int, gradient: Any, x: Any, u: Any, v: Any, *, host: Host) -> Any:
    return _curve.bind(x, v if which == 1 else u, gradient, host=host)


def _of_curve(which: int, gradient: Any, x: Any, v: Any, w: Any, *, host: Host) -> Any:
    if which == 1:
        return _curve.bind(x, gradient, w, host=host)
    return _bend.bind(x, v, gradient, host=host)


for _primitive_of, _rule in ((_push, _of_push), (_pull, _of_pull), (_bend, _of_bend), (_curve, _of_curve)):
    ad.primitive_transposes[_primitive_of] = partial(_transposed, rule=_rule)
