"""Traces: what a function of the user does, written down at one moment.

A function may read variables of its surroundings. JAX keeps compiled programs under the function object, so
a variable that changes later would go unnoticed. Here a function is traced whenever it may have changed;
the trace is what is compiled, and its digest tells whether a compiled program may be used again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxpr_as_fun

LAPACK = frozenset(
    "cholesky eig eigh geqp3 geqrf hessenberg householder_product lu ormqr qr schur svd sylvester "
    "symmetric_product triangular_solve tridiagonal tridiagonal_solve".split()
)
"""Primitives of JAX that work on matrices as a whole."""
RULES = ("jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd", "fwd")
"""Rules of custom derivatives: objects that are new in each trace. The derivative is traced instead."""
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""Of an object, which is another one in each process."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A function as JAX has recorded it. Equal digests: the same operations on the same constants."""

    program: ClosedJaxpr
    tree: Any
    digest: bytes
    alive: tuple[Any, ...] = field(repr=False)  # objects that the digest knows by their identity

    @cached_property
    def lasting_digest(self) -> str:
        """The same in every process: functions of Python that it calls are known by their code."""
        words = (ADDRESS.sub("", word) for word in _words(self.program, _code_word))
        return hashlib.blake2b("\n".join(words).encode(), digest_size=16).hexdigest()

    @cached_property
    def calls_lapack(self) -> bool:
        return any(name in LAPACK for name in _primitive_names(self.program.jaxpr))

    @cached_property
    def calls_python(self) -> bool:
        """What a callback returns may be something else in the next run."""
        return any("callback" in name for name in _primitive_names(self.program.jaxpr))

    def __call__(self, *arguments: Any) -> Any:
        return jax.tree_util.tree_unflatten(self.tree, jaxpr_as_fun(self.program)(*arguments))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def trace(function: Callable[..., Any], *shapes: jax.ShapeDtypeStruct) -> Trace:
    """What a function does now, for arguments of these shapes."""
    program, tree = _recorded(function, shapes)
    alive: list[Any] = []

    def identity(called: Any) -> str:
        alive.append(called)
        return f"object {id(called)}"

    words = list(_words(program, identity))
    if any(rule in words for rule in RULES):
        real = [k for k, shape in enumerate(shapes) if jnp.issubdtype(shape.dtype, jnp.floating)]

        def derivative(*values: Any) -> Any:
            moving = tuple(values[k] for k in real)

            def along(*moving: Any) -> Any:
                filled = list(values)
                for k, value in zip(real, moving, strict=True):
                    filled[k] = value
                return function(*filled)

            return jax.jvp(along, moving, moving)

        words += _words(_recorded(derivative, shapes)[0], identity)
    digest = hashlib.blake2b("\n".join(words).encode(), digest_size=32).digest()
    return Trace(program, tree, digest, tuple(alive))


def _recorded(function: Callable[..., Any], shapes: tuple[Any, ...]) -> tuple[ClosedJaxpr, Any]:
    inner = getattr(function, "__wrapped__", function) if isinstance(function, _JITTED) else function
    # A new function each time: JAX remembers what it has traced by the function object.
    program, results = jax.make_jaxpr(lambda *values: inner(*values), return_shape=True)(*shapes)
    return program, jax.tree_util.tree_structure(results)


_JITTED = type(jax.jit(lambda: 0))


def _primitive_names(program: Any) -> Iterator[str]:
    """The operations of a program, those inside of others included."""
    for equation in program.eqns:
        yield equation.primitive.name
        for value in equation.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(inner, (ClosedJaxpr, Jaxpr)):
                    yield from _primitive_names(inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner)


def _words(program: ClosedJaxpr | Jaxpr, of_object: Callable[[Any], str]) -> Iterator[str]:
    """The program as a sequence of words: exact, and the same for the same operations. Objects that nothing
    is known of have a word from outside."""
    inner: Any = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    numbers: dict[Any, int] = {}

    def name(variable: Any) -> str:
        if isinstance(variable, Literal):
            return f"{variable.aval.str_short()}{_array_word(variable.val)}"
        return f"{numbers.setdefault(variable, len(numbers))}:{variable.aval.str_short()}"

    yield "begin"
    if isinstance(program, ClosedJaxpr):
        yield from (_array_word(value) for value in program.consts)
    yield " ".join(name(v) for v in (*inner.constvars, *inner.invars))
    for equation in inner.eqns:
        yield f"{equation.primitive.name} {' '.join(map(name, equation.invars))}"
        for key in sorted(equation.params):
            yield key
            if key not in RULES:
                yield from _parameter_words(equation.params[key], of_object)
        yield " ".join(name(v) for v in equation.outvars)
    yield " ".join(name(v) for v in inner.outvars)
    yield "end"


def _parameter_words(value: Any, of_object: Callable[[Any], str]) -> Iterator[str]:
    if isinstance(value, (ClosedJaxpr, Jaxpr)):
        yield from _words(value, of_object)
    elif isinstance(value, (tuple, list)):
        yield f"({len(value)}"
        for part in value:
            yield from _parameter_words(part, of_object)
    elif isinstance(value, (np.ndarray, np.generic, jax.Array)):
        yield _array_word(value)
    elif callable(value) and not isinstance(value, type):
        # A callback to Python is called, not recorded.
        yield of_object(getattr(value, "callback_func", value))
    else:
        yield repr(value)


def _code_word(called: Any) -> str:
    code = getattr(called, "__code__", None)
    own = "" if code is None else f"{code.co_code.hex()} {code.co_names} {code.co_consts}"
    return (
        f"object {getattr(called, '__module__', '')}.{getattr(called, '__qualname__', type(called))} {own}"
    )


def _array_word(value: Any) -> str:
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.asarray(value)
    return f"{array.dtype}{array.shape}{hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()}"
