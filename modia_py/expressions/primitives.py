"""The functions that expressions are made of, and what is known about them.

Every function is JAX's own: a `Primitive` is its name, the callable, and in which of its operands it
is linear. That last fact is all the calculus there is: linear functions commute with `der`, products
follow Leibniz, and everything else is differentiated by `jax.jvp`.
"""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from ..errors import ModelError
from .surroundings import surroundings
from .traces import Trace, trace

JOINT = "joint"  # linear in all operands together: add, concatenate, sum
EACH = "each"  # linear in each operand, the others held: multiply, matmul, cross

MOST_REMEMBERED = 10_000
"""Shapes and derivatives of functions: more than any model has. A function of the user that is another one
in each trace must not be kept for ever."""

# Arguments that only say how a linear function is arranged. With any other keyword (np.sum has an
# `initial` value, np.diff a `prepend`) a function counts as not linear, which is always safe.
STRUCTURAL_KEYWORDS = frozenset(
    "axis axes keepdims offset k axis1 axis2 shape newshape order source destination repeats reps "
    "shift n subscripts indices indices_or_sections".split()
)


WITHOUT_LAPACK = frozenset(
    f"linalg.{name}"
    for name in "cross diagonal matmul matrix_transpose norm outer trace vecdot vector_norm".split()
)


@dataclass(frozen=True, eq=False)
class Primitive:
    """A JAX function, by identity.

    `linear` is JOINT, EACH, the set of operands it is jointly linear in while the others are held, or
    None. `operands` counts the leading arguments that are arrays even where a plain number was given;
    With more than `most_positional` positional arguments a function counts as not linear either.
    `sequence` says that the first argument is a sequence of arrays. `elementwise` functions map each
    element alone, with numpy's broadcasting. `derivative_of` is set on directional derivatives: the
    primitive and the signature that were differentiated, with `active` as its moving arguments. A function
    of the user is `traced` anew by each call in an equation; `use` says which call a `trace` was made for.
    One that `calls_lapack` factorizes a matrix: see `lanes`. One that `calls_python` while it runs may
    return something else in the next run.
    """

    name: str
    evaluate: Callable[..., Any]
    linear: str | frozenset[int] | None = None
    operands: int = 0
    sequence: bool = False
    most_positional: int = 3
    elementwise: bool = False
    derivative_of: tuple[Primitive, Signature] | None = None
    active: tuple[bool, ...] = ()
    traced: bool = False
    use: FunctionUse | None = None
    calls_lapack: bool = False
    calls_python: bool = False
    trace: Trace | None = None

    @property
    def known_name(self) -> str:
        """The name, by which something is known of a function of numpy's; empty for one of the user, who
        may have taken any name."""
        return self.name if self.use is None and not self.traced else ""

    def __repr__(self) -> str:
        return self.name


def _table() -> dict[str, dict[str, Any]]:
    facts: dict[str, dict[str, Any]] = {}

    def state(names: str, **fact: Any) -> None:
        facts.update(dict.fromkeys(names.split(), fact))

    state("add subtract", linear=JOINT, operands=2, elementwise=True)
    state("negative positive", linear=JOINT, operands=1, elementwise=True)
    state("multiply", linear=EACH, operands=2, elementwise=True)
    state("divide", linear=frozenset({0}), operands=2, elementwise=True)
    state("where", linear=frozenset({1, 2}), operands=3, elementwise=True)
    state("matmul dot cross outer inner vdot vecdot kron tensordot convolve", linear=EACH, operands=2)
    state("einsum", linear=EACH, most_positional=99)
    state(
        "diff reshape ravel transpose matrix_transpose squeeze expand_dims swapaxes "
        "moveaxis rollaxis broadcast_to roll flip flipud fliplr rot90 tile repeat diag diagonal "
        "diagflat trace tril triu split array_split hsplit vsplit",
        linear=JOINT,
        operands=1,
    )
    state("sum mean cumsum", linear=JOINT, operands=1, most_positional=2)  # then dtype, out, initial
    state("take take_along_axis", linear=frozenset({0}), operands=1)
    state("linalg.solve", linear=frozenset({1}), operands=2)
    state("concatenate concat stack hstack vstack dstack column_stack", linear=JOINT, sequence=True)
    return facts


_FACTS = _table()


@functools.cache
def named(name: str) -> Primitive:
    """The primitive of a function of `jax.numpy`, by its dotted name."""
    evaluate: Any = jnp
    for part in name.split("."):
        evaluate = getattr(evaluate, part, None)
    if not callable(evaluate):
        raise ModelError(
            f"np.{name} has no counterpart in jax.numpy. Write it with other numpy functions, or wrap "
            f"a JAX function of your own with `function`."
        )
    ufunc = getattr(np, name, None)
    elementwise = isinstance(ufunc, np.ufunc) and ufunc.signature is None and ufunc.nout == 1
    calls_lapack = name.startswith("linalg.") and name not in WITHOUT_LAPACK
    facts = {"elementwise": elementwise, "calls_lapack": calls_lapack, **_FACTS.get(name, {})}
    return Primitive(name, evaluate, **facts)


def from_numpy(function: Callable[..., Any]) -> Primitive:
    """The primitive that stands for a function of numpy's, or of scipy.special's."""
    name = function.__name__
    if isinstance(function, np.ufunc) and getattr(np, name, None) is not function:
        return _special(function)
    folder = (getattr(function, "__module__", None) or "").removeprefix("numpy").removeprefix(".")
    # Internal homes such as numpy.lib._x belong to the top level.
    return named(f"{folder}.{name}" if folder in ("linalg", "fft") else name)


@functools.cache
def _special(ufunc: np.ufunc) -> Primitive:
    name = ufunc.__name__
    counterpart = getattr(jax.scipy.special, name, None)
    if getattr(scipy.special, name, None) is not ufunc or counterpart is None:
        raise ModelError(
            f"{name} has no counterpart in JAX. Wrap a JAX function of your own with `function`."
        )
    return Primitive(f"special.{name}", counterpart, elementwise=True)


def numpy_function(primitive: Primitive) -> Callable[..., Any] | None:
    """The function of numpy's or of scipy.special's that a primitive stands for; None if there is none."""
    name = primitive.known_name
    found: Any = None
    if name.startswith("special."):
        found = getattr(scipy.special, name.removeprefix("special."), None)
    elif name and _named_or_none(name) is primitive:
        found = np
        for part in name.split("."):
            found = getattr(found, part, None)
    return found if callable(found) else None


def _named_or_none(name: str) -> Primitive | None:
    try:
        return named(name)
    except ModelError:
        return None


def _getitem(array: Any, index: Any) -> Any:
    return array[index.items]


GETITEM = Primitive("getitem", _getitem, linear=JOINT, operands=1)


ARITHMETIC = frozenset("add subtract multiply divide negative power matmul".split())


def mixes_relations(operator: str, dtypes: list[str]) -> bool:
    """Whether relations stand beside numbers: there they are one or zero."""
    mixed = operator == "negative" or any(dtype != "bool" for dtype in dtypes)
    return operator in ARITHMETIC and "bool" in dtypes and mixed


class _Dynamic:
    """Marks the place of an expression among the arguments of a call."""

    def __repr__(self) -> str:
        return "·"


DYNAMIC = _Dynamic()


@dataclass(frozen=True, eq=False)
class Signature:
    """How a call is written: its argument tree, with the expressions taken out."""

    tree: Any
    leaves: tuple[Any, ...]

    def bind(self, dynamic: tuple[Any, ...] | list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and keyword arguments with `dynamic` put back."""
        if self is positional(len(dynamic)):
            return tuple(dynamic), {}
        values = iter(dynamic)
        filled = [next(values) if leaf is DYNAMIC else leaf for leaf in self.leaves]
        return jax.tree_util.tree_unflatten(self.tree, filled)

    def is_structural(self, most_positional: int) -> bool:
        """Whether all options only arrange, so that a linear function stays linear."""
        args, kwargs = jax.tree_util.tree_unflatten(self.tree, self.leaves)
        return len(args) <= most_positional and kwargs.keys() <= STRUCTURAL_KEYWORDS

    # Python takes 1, 1.0 and True for equal, and 0.0 and -0.0; a function may not.

    def _exact(self) -> tuple[Any, ...]:
        return (
            self.tree,
            *((type(leaf), repr(leaf) if isinstance(leaf, float) else leaf) for leaf in self.leaves),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and self._exact() == other._exact()

    def __hash__(self) -> int:
        return hash((self.tree, self.leaves))


@functools.cache
def positional(count: int) -> Signature:
    """The signature f(·, ·, ...) of `count` expressions."""
    leaves, tree = jax.tree_util.tree_flatten(((DYNAMIC,) * count, {}))
    return Signature(tree, tuple(leaves))


@dataclass(frozen=True, eq=False)
class FunctionUse:
    """A call of a function of the user: how it is written, and for arguments of which shapes."""

    function: Primitive
    signature: Signature
    arguments: tuple[tuple[tuple[int, ...], str], ...]

    def traced_now(self) -> Primitive:
        """What the function does now: the same primitive as long as that has not changed."""
        read = surroundings(self.function.evaluate)
        known = _last.get((self.function, self.signature, self.arguments)) if read is not None else None
        if known is not None and known[0] == read:
            return known[1]
        found = trace(self._of_arrays, *(jax.ShapeDtypeStruct(s, np.dtype(d)) for s, d in self.arguments))
        key = (self.function, self.signature, self.arguments, found.digest)
        primitive = _traced.get(key)
        if primitive is None:
            signature = self.signature

            def evaluate(*args: Any, **kwargs: Any) -> Any:
                leaves = jax.tree_util.tree_leaves((args, kwargs))
                return found(
                    *(v for v, mark in zip(leaves, signature.leaves, strict=True) if mark is DYNAMIC)
                )

            primitive = _traced[key] = Primitive(
                self.function.name,
                evaluate,
                use=self,
                calls_lapack=found.calls_lapack,
                calls_python=found.calls_python,
                trace=found,
            )
        if read is not None:
            _remember((self.function, self.signature, self.arguments), (read, primitive))
        return primitive

    def _of_arrays(self, *dynamic: Any) -> Any:
        args, kwargs = self.signature.bind(dynamic)
        return self.function.evaluate(*args, **kwargs)


_traced: weakref.WeakValueDictionary[tuple, Primitive] = weakref.WeakValueDictionary()
_last: OrderedDict[tuple, tuple[Any, Primitive]] = OrderedDict()


def _remember(key: tuple, found: tuple[Any, Primitive]) -> None:
    _last[key] = found
    _last.move_to_end(key)
    if len(_last) > MOST_REMEMBERED:
        _last.popitem(last=False)


def renewed(primitive: Primitive) -> Primitive:
    """The primitive with functions of the user as they are now, itself if nothing has changed."""
    if primitive.use is not None:
        return primitive.use.traced_now()
    if primitive.derivative_of is None:
        return primitive
    base, signature = primitive.derivative_of
    now = renewed(base)
    return primitive if now is base else jvp_of(now, signature, primitive.active)


@functools.lru_cache(MOST_REMEMBERED)
def jvp_of(primitive: Primitive, signature: Signature, active: tuple[bool, ...]) -> Primitive:
    """The primitive that evaluates the directional derivative of another.

    Its arguments are those of `primitive`, then one tangent for each active argument; the rest are
    held. It is linear in the tangents.
    """
    count = len(active)

    def evaluate(*arguments: Any) -> Any:
        primals, tangents = arguments[:count], arguments[count:]

        def along(*moving: Any) -> Any:
            values = iter(moving)
            filled = [next(values) if moves else held for moves, held in zip(active, primals, strict=True)]
            args, kwargs = signature.bind(filled)
            return primitive.evaluate(*args, **kwargs)

        moving = tuple(value for value, moves in zip(primals, active, strict=True) if moves)
        return jax.jvp(along, moving, tangents)[1]

    tangent_places = frozenset(range(count, count + sum(active)))
    return Primitive(
        f"jvp[{primitive.name}]",
        evaluate,
        linear=tangent_places,
        elementwise=primitive.elementwise,
        derivative_of=(primitive, signature),
        active=active,
        calls_lapack=primitive.calls_lapack,
        calls_python=primitive.calls_python,
    )


@functools.lru_cache(MOST_REMEMBERED)
def result_shapes(
    primitive: Primitive, signature: Signature, arguments: tuple[tuple[tuple[int, ...], str], ...]
) -> tuple[Any, tuple[tuple[tuple[int, ...], str], ...]]:
    """Tree, shapes and dtypes of what a call returns, found by JAX without computing anything."""

    def call(*dynamic: Any) -> Any:
        args, kwargs = signature.bind(dynamic)
        return primitive.evaluate(*args, **kwargs)

    avals = [jax.ShapeDtypeStruct(shape, np.dtype(dtype)) for shape, dtype in arguments]
    results, tree = jax.tree_util.tree_flatten(jax.eval_shape(call, *avals))
    return tree, tuple((tuple(result.shape), str(result.dtype)) for result in results)
