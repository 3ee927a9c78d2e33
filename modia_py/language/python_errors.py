"""What to try where Python, numpy or JAX refuse something in `equations`, and their words put into ours."""

from __future__ import annotations

import re

from ..expressions.array_interface import PLAIN_SIZES
from ..expressions.expression import Expr
from ..expressions.printing import clip_text

NODES = r"(?:Leaf|Call|Constant|Item|Var|Par|Input|Discrete)"
CALLED = re.compile(rf"'{NODES}' object is not callable")
NODE_CLASS = re.compile(rf"<class 'modia_py\.expressions\.expression\.{NODES}'>")
NODE_OBJECT = re.compile(rf"'{NODES}' object")
NODE = re.compile(rf"'{NODES}'|\b{NODES}(?= doesn't define)")
OF_JAX = re.compile(r"not a valid JAX type|as a JAX value|as an abstract array")


def python_hint(error: Exception, reason: str, names: tuple[str, ...]) -> str:
    """A sentence that says what to write, beginning with a space; nothing if nobody knows.

    `names` are those that the failing functions use.
    """
    if isinstance(error, (TypeError, AttributeError)):
        return _hint_of_type(error, reason, names)
    if isinstance(error, IndexError) and "only integers" in reason:
        return f" {PLAIN_SIZES}"
    if isinstance(error, ValueError) and "array element with a sequence" in reason:
        return (
            " An array of numbers cannot hold expressions: collect them in a list, rates = [...], which "
            "stands for the array in equations; np.stack(rates) makes one of it."
        )
    if isinstance(error, ValueError) and "object arrays" in reason:
        return OWN_FUNCTION
    return ""


OWN_FUNCTION = (
    " Functions of numpy take expressions; functions of JAX do when they are made a function of the model: "
    "relu = function(jax.nn.relu), from modia_py import function. Others cannot be differentiated."
)


def _hint_of_type(error: TypeError | AttributeError, reason: str, names: tuple[str, ...]) -> str:
    if ("module" in reason or "builtin_function" in reason) and "time" in names:
        return " `time` is Python's module there: write `from modia_py import time`."
    if isinstance(error, AttributeError):
        if not isinstance(error.obj, Expr):
            return ""
        return (
            f" `{clip_text(error.obj)}` is an expression, not a component. What numpy does with arrays is "
            f"a function here, such as np.round(x)."
        )
    if CALLED.search(reason):
        return (
            " A variable, or the time, is no function: write time, not time(); a product needs its *. "
            "An element is x[0]."
        )
    if OF_JAX.search(reason):
        return OWN_FUNCTION
    if "not iterable" in reason:
        return " A statement is an equation `lhs == rhs`, or connect(a, b)."
    if "'list'" in reason or "'tuple'" in reason:
        return " A list is no array: np.array([...]) of numbers, np.stack([...]) of expressions."
    if reason.startswith("der() takes 1"):
        return " A second derivative is der(der(x))."
    if "ufunc" in reason:
        return " Functions of numpy take numbers, arrays and expressions."
    return ""


def in_words_of_the_language(reason: str) -> str:
    """A text of Python without the classes that expressions are made of.

    >>> in_words_of_the_language("'Leaf' object has no attribute 'copy'")
    "an expression has no attribute 'copy'"
    """
    reason = NODE_OBJECT.sub("an expression", NODE_CLASS.sub("'expression'", reason))
    return NODE.sub("an expression", reason)
