"""Why shapes do not fit, in the words of arrays and not in those of JAX."""

from __future__ import annotations

from .indexing import Shape


def shape_reason(function: str, shapes: list[Shape], failure: Exception) -> str:
    """A sentence about a call that failed on operands of these shapes.

    >>> shape_reason("matmul", [(3, 3), (2,)], TypeError())
    'the last axis of the first (3) has to be as long as the first axis of the second (2).'
    """
    reason = str(failure).strip().split("\n")[0]
    if function == "matmul" and len(shapes) == 2:
        return _product_reason(*shapes) or reason
    if "tracer value" in reason or "boolean indices must be concrete" in reason.lower():
        return (
            "what it returns has a shape that depends on values, which are not known before the run. "
            "np.where(condition, a, b) chooses by value."
        )
    if "broadcast" in reason and len(shapes) == 2:
        return f"axes are compared from the last one, and have to be equal or 1.{_axis_added(*shapes)}"
    return reason


def _product_reason(left: Shape, right: Shape) -> str:
    if not left or not right:
        return "@ multiplies vectors and matrices; a number is multiplied by *."
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] == inner:
        return ""  # then it is something else
    which = "last but one" if len(right) > 2 else "first"
    return (
        f"the last axis of the first ({left[-1]}) has to be as long as the {which} axis of the second "
        f"({inner})."
    )


def _axis_added(left: Shape, right: Shape) -> str:
    """What to write where one of two arrays belongs to the leading axes of the other."""
    for place, (small, large) in (("first", (left, right)), ("second", (right, left))):
        if 0 < len(small) < len(large) and large[: len(small)] == small:
            index = ", ".join([":"] * len(small) + ["None"] * (len(large) - len(small)))
            return f" Is the {place} one meant along the leading axes? Index it so: [{index}]."
    return ""
