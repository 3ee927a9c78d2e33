"""Expressions.

An expression is a constant, a leaf (a variable, a parameter, an input, the time; with a derivative
order), or a call of a primitive on other expressions. It has a shape, found when it is written, so that
what does not fit is an error at the line where it stands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..errors import ModelError
from ..source import user_source
from .array_interface import ArrayInterface, LogicalOperators, holds_expression, is_number_list
from .indexing import Index, Shape, make_index
from .misfits import shape_reason
from .nodes import Node, intern_node, topological
from .primitives import (
    DYNAMIC,
    GETITEM,
    FunctionUse,
    Primitive,
    Signature,
    from_numpy,
    mixes_relations,
    named,
    positional,
    result_shapes,
)
from .symbol_kinds import SymbolKind

ORDERS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
COMBINATIONS = ("logical_and", "logical_or")


class Expr(Node, ArrayInterface):
    """A node with a value: an array of known shape and dtype."""

    __slots__ = ("dtype", "shape")
    shape: Shape
    dtype: str

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def _apply(self, operator: str, *operands: Any) -> Any:
        if operator == "equal":
            from .equation import Equation  # it has two expressions as its sides

            return Equation(*operands)
        if operator == "getitem":
            return _getitem(*operands)
        if operator == "len":
            if not self.shape:
                raise TypeError(f"{self} is a scalar and has no length")
            return self.shape[0]
        if operator == "power" and _is_integer(operands[1]):
            # A static integer exponent: JAX turns it into products, exact at zero and for x < 0.
            return call(named("power"), operands[0], int(operands[1]))
        if operator in ORDERS:
            _refuse_truth_values(operator, operands)
        primitive = named(operator)
        args = tuple(map(as_operand if operator.startswith("logical") else as_expr, operands))
        if mixes_relations(operator, [arg.dtype for arg in args]):
            args = tuple(call(named("where"), a, 1.0, 0.0) if a.dtype == "bool" else a for a in args)
        try:
            return apply(primitive, positional(len(args)), args)
        except (TypeError, ValueError) as error:
            raise ModelError(_misfit_text(primitive, args, error)) from None

    def _apply_numpy(self, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        if function in (np.shape, np.ndim):
            return self.shape if function is np.shape else self.ndim
        if function is np.size and len(args) == 1:
            return self.size
        return call(from_numpy(function), *args, **kwargs)

    def _refuse(self, wanted: str, advice: str) -> Any:
        raise ModelError(f"The expression `{self}` cannot become {wanted} ({user_source()}). {advice}")

    def __str__(self) -> str:
        from .printing import expression_text  # printing reads nodes: it comes after them

        return expression_text(self)

    __repr__ = __str__


class Constant(Expr):
    """A number or an array of numbers in the text of an equation."""

    __slots__ = ("value",)
    value: np.ndarray


class Leaf(Expr):
    """A symbol of a model at a derivative order, seen through `lead` axes of component arrays."""

    __slots__ = ("lead", "order", "symbol")
    symbol: Any
    lead: Shape
    order: int

    @property
    def kind(self) -> SymbolKind:
        return self.symbol.kind


class Application(Node):
    """A primitive and how it is called; what it is called on are the `args`."""

    __slots__ = ()  # two bases with slots cannot be combined: the classes below have them
    primitive: Primitive
    signature: Signature

    @property
    def linear(self) -> str | frozenset[int] | None:
        """In which arguments this call is linear: see `Primitive`."""
        structural = self.signature.is_structural(self.primitive.most_positional)
        return self.primitive.linear if structural else None


class Call(Application, Expr):
    """A primitive applied to expressions."""

    __slots__ = ("primitive", "signature")


class Bundle(Application):
    """A primitive with several results, applied; each result is an `Item` of it."""

    __slots__ = ("primitive", "results", "signature")
    results: tuple[tuple[Shape, str], ...]


class Item(Expr):
    """One result of a bundle."""

    __slots__ = ("place",)
    place: int


_CONSTANT_DTYPES = {"i": "int64", "u": "int64", "f": "float64", "b": "bool"}


def constant(value: Any) -> Constant:
    array = np.asarray(value)
    dtype = _CONSTANT_DTYPES.get(array.dtype.kind)
    if dtype is None:
        hint = ""
        if hasattr(value, "_component") or hasattr(value, "_children"):
            hint = " A component is not a number: name a variable of it."
        elif callable(value):
            hint = " A function has to be called."
        raise ModelError(
            f"{value!r} cannot stand in an equation ({user_source()}): real numbers, arrays of them "
            f"and expressions can.{hint}"
        )
    if dtype == "float64" and np.isnan(array).any():
        raise ModelError(f"NaN stands in an equation ({user_source()}).")
    data = array.astype(dtype, copy=False).tobytes()
    digest = data if len(data) <= 64 else hashlib.blake2b(data).digest()
    array = np.frombuffer(data, dtype).reshape(array.shape)  # a copy nobody can write to
    key = (array.shape, dtype, digest)
    return intern_node(Constant, key, args=(), shape=array.shape, dtype=dtype, value=array)


def zeros(shape: Shape) -> Constant:
    return constant(np.zeros(shape))


def leaf(symbol: Any, lead: Shape = (), order: int = 0) -> Leaf:
    """The leaf of a symbol. A symbol is any object with a `shape`; it is held by identity."""
    return intern_node(
        Leaf,
        (id(symbol), lead, order),
        args=(),
        shape=lead + symbol.shape,
        dtype="float64",
        symbol=symbol,
        lead=lead,
        order=order,
    )


def as_expr(value: Any) -> Expr:
    """An expression from an expression, a number, or a nested sequence of either."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, ArrayInterface):  # a declaration: its own hook says what is wrong
        return value._apply("add", value, 0)
    if isinstance(value, LogicalOperators):
        raise ModelError(f"The equation `{value}` is used as a number ({user_source()}).")
    if isinstance(value, (list, tuple)) and holds_expression(value):
        return call(named("stack"), [as_expr(item) for item in value])
    if isinstance(value, np.ndarray) and value.dtype == object:
        if value.ndim == 0:
            return as_expr(value.item())
        return call(named("stack"), [as_expr(item) for item in value])
    return constant(value)


def as_operand(value: Any) -> Expr:
    """An operand of `&`, `|` or `~`: an expression, or an equation, which is a relation there."""
    return value.relation() if hasattr(value, "relation") else as_expr(value)


def _refuse_truth_values(operator: str, operands: tuple[Any, Any]) -> None:
    """`x > 0 & d` is `x > (0 & d)` for Python."""
    for value in operands:
        if isinstance(value, Call) and value.primitive.name in COMBINATIONS:
            raise ModelError(
                f"`{value}` is compared by {ORDERS[operator]} ({user_source()}), and is a truth value: "
                "& and | bind more tightly than relations. Each relation needs its parentheses: (x > 0) & "
                "(y > 1)."
            )


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def apply_node(primitive: Primitive, signature: Signature, args: tuple[Any, ...]) -> tuple[Node, Any]:
    """The node of a call whose arguments are already taken apart, and the tree of its results."""
    tree: Any
    results: tuple[tuple[Shape, str], ...]
    if primitive.elementwise and primitive.linear and all(arg.dtype == "float64" for arg in args):
        # The common case (arithmetic), without asking JAX: one real result, broadcast.
        tree, results = None, ((np.broadcast_shapes(*(arg.shape for arg in args)), "float64"),)
    else:
        described = tuple((arg.shape, arg.dtype) for arg in args)
        tree, results = result_shapes(primitive, signature, described)
        for _, dtype in results:
            if dtype in ("float32", "float16", "bfloat16", "complex64"):
                raise ModelError(
                    f"{primitive.name} returns {dtype} ({user_source()}): models are computed in 64 bit."
                )
    key = (primitive, signature, *map(id, args))
    common = {"primitive": primitive, "signature": signature, "args": args}
    if tree is None or jax.tree_util.treedef_is_leaf(tree):
        shape, dtype = results[0]
        return intern_node(Call, key, shape=shape, dtype=dtype, **common), None
    return intern_node(Bundle, key, results=results, **common), tree


def apply(primitive: Primitive, signature: Signature, args: tuple[Expr, ...]) -> Any:
    """The value of a call: an expression, or several in the tree that the function returns."""
    node, tree = apply_node(primitive, signature, args)
    if not isinstance(node, Bundle):
        return node
    return jax.tree_util.tree_unflatten(tree, [item_of(node, k) for k in range(len(node.results))])


def item_of(bundle: Bundle, place: int) -> Item:
    shape, dtype = bundle.results[place]
    return intern_node(Item, (id(bundle), place), args=(bundle,), place=place, shape=shape, dtype=dtype)


def rebuild(node: Node, args: tuple[Node, ...]) -> Node:
    """The same call on other arguments of the same shapes."""
    if isinstance(node, Item):
        bundle = args[0]
        assert isinstance(bundle, Bundle)
        return item_of(bundle, node.place)
    assert isinstance(node, (Call, Bundle))
    key = (node.primitive, node.signature, *map(id, args))
    common = {"primitive": node.primitive, "signature": node.signature, "args": args}
    if isinstance(node, Bundle):
        return intern_node(Bundle, key, results=node.results, **common)
    return intern_node(Call, key, shape=node.shape, dtype=node.dtype, **common)


def call(primitive: Primitive, *args: Any, **kwargs: Any) -> Any:
    """Apply a primitive to whatever a user may write: expressions, arrays, numbers, options."""
    operands = primitive.operands
    if operands or primitive.sequence:
        args = tuple(
            [as_expr(member) for member in value]
            if place == 0 and primitive.sequence and not isinstance(value, Expr)
            else as_expr(value)
            if place < operands
            else value
            for place, value in enumerate(args)
        )
    try:
        return _call_as_written(primitive, args, kwargs)
    except ModelError:
        raise
    except Exception as error:
        failure = error
    try:  # JAX refuses lists where numpy takes them for arrays
        arrays = jax.tree_util.tree_map(_list_to_array, (args, kwargs), is_leaf=is_number_list)
        return _call_as_written(primitive, *arrays)
    except ModelError:
        raise
    except Exception:
        operands_given = tuple(v for v in jax.tree_util.tree_leaves((args, kwargs)) if isinstance(v, Expr))
        raise ModelError(_misfit_text(primitive, operands_given, failure)) from failure


def _call_as_written(primitive: Primitive, args: tuple, kwargs: dict) -> Any:
    leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
    dynamic: list[Expr] = []
    static: list[Any] = []
    for value in leaves:
        if isinstance(value, (ArrayInterface, np.ndarray, jax.Array)):
            dynamic.append(as_expr(value))
            static.append(DYNAMIC)
        else:
            static.append(value.item() if isinstance(value, np.generic) else value)
    signature = Signature(tree, tuple(static))
    if primitive.traced:
        described = tuple((arg.shape, arg.dtype) for arg in dynamic)
        primitive = FunctionUse(primitive, signature, described).traced_now()
    return apply(primitive, signature, tuple(dynamic))


def _list_to_array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, list) else value


def _misfit_text(primitive: Primitive, operands: tuple[Expr, ...], failure: Exception) -> str:
    described = ", ".join(f"`{operand}` of shape {operand.shape}" for operand in operands)
    reason = shape_reason(primitive.name, [operand.shape for operand in operands], failure)
    return f"{primitive.name} does not fit {described} ({user_source()}): {reason}"


_GETITEM_TREE = jax.tree_util.tree_structure(((DYNAMIC, DYNAMIC), {}))


def _getitem(array: Expr, raw: Any) -> Expr:
    try:
        if type(raw) is int and array.shape and -array.shape[0] <= raw < array.shape[0]:
            index, shape = Index((raw,)), array.shape[1:]  # x[k] in a loop: the common case
        else:
            index, shape = make_index(raw, array.shape)
    except (IndexError, TypeError) as error:
        reason = str(error).rstrip(".")
        if "out of bounds" in reason:
            reason += "; the first element is number 0"
        raise ModelError(
            f"`{array}` of shape {array.shape} cannot be indexed so ({user_source()}): {reason}."
        ) from None
    signature = Signature(_GETITEM_TREE, (DYNAMIC, index))
    return intern_node(
        Call,
        (GETITEM, signature, id(array)),
        primitive=GETITEM,
        signature=signature,
        args=(array,),
        shape=shape,
        dtype=array.dtype,
    )


def index_of(node: Node) -> Any:
    """The `Index` of a getitem call, else None."""
    if isinstance(node, Call) and node.primitive is GETITEM:
        return node.signature.leaves[1]
    return None


def leaves_of(*roots: Node) -> list[Leaf]:
    """The leaves below the roots, in order of first occurrence."""
    return [node for node in topological(roots) if isinstance(node, Leaf)]
