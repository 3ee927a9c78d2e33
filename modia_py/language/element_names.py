"""Names of elements as text, wherever names are given: `der2(c[3].u)`, `c[::10].p.v`, `der(r)[2]`.

Such a text means what it means in equations. An index on the path selects of a component array; an
index at the end selects of all axes that are left, those of component arrays first: `c.r[:, 2]` is the
third element of the r of every c, `c[5].r[2]` of one.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Keys = tuple[Any, ...]  # indices, applied one after the other
DER = re.compile(r"der(\d*)")


@dataclass(frozen=True)
class TrajectoryName:
    """A dotted name, the indices on each of its segments, and how often it is differentiated."""

    name: str
    keys: tuple[Keys, ...]
    order: int = 0


def parse(text: str) -> TrajectoryName | None:
    """The wanted a text stands for, or None if it cannot be the name of anything."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        segments, order = _segments(node)
    except (SyntaxError, ValueError):
        return None
    return TrajectoryName(
        ".".join(name for name, _ in segments), tuple(keys for _, keys in segments), order
    )


def _segments(node: ast.expr) -> tuple[list[tuple[str, Keys]], int]:
    """From the last segment to the first, as Python's grammar nests them."""
    order = 0
    reversed_segments: list[tuple[str, Keys]] = []
    keys: Keys = ()
    while True:
        if isinstance(node, ast.Subscript):
            keys = (_index(node.slice), *keys)
            node = node.value
        elif isinstance(node, ast.Call) and not reversed_segments:
            order += _der_order(node)
            node = node.args[0]
        elif isinstance(node, ast.Attribute):
            reversed_segments.append((node.attr, keys))
            node, keys = node.value, ()
        elif isinstance(node, ast.Name):
            return [*reversed([*reversed_segments, (node.id, keys)])], order
        else:
            raise ValueError("not a name")


def _der_order(call: ast.Call) -> int:
    match = DER.fullmatch(call.func.id) if isinstance(call.func, ast.Name) else None
    if match is None or len(call.args) != 1 or call.keywords:
        raise ValueError("only der(...) can be applied to a name")
    return int(match[1] or "1")


def _index(node: ast.expr | None) -> Any:
    if isinstance(node, ast.Slice):
        return slice(
            *(None if part is None else _index(part) for part in (node.lower, node.upper, node.step))
        )
    if isinstance(node, ast.Tuple):
        return tuple(_index(member) for member in node.elts)
    assert node is not None
    value = ast.literal_eval(node)
    whole = [*value] if isinstance(value, list) else [value]
    if not all(type(member) is int or member is Ellipsis for member in whole):
        raise ValueError("an index is made of integers")
    return value


def readings(wanted: TrajectoryName, is_known: Callable[[str], bool]) -> Iterator[TrajectoryName]:
    """What the wanted may mean among known names, with as many indices as possible in the name.

    Members of Python lists have their number in their name (`l[0].x`); copies in an array have not.
    """
    names = wanted.name.split(".")
    choices = [range(_literal(keys), -1, -1) for keys in wanted.keys]
    for taken in itertools.product(*choices):
        parts = [
            name + "".join(f"[{key}]" for key in keys[:count])
            for name, keys, count in zip(names, wanted.keys, taken, strict=True)
        ]
        if is_known(name := ".".join(parts)):
            left = (keys[count:] for keys, count in zip(wanted.keys, taken, strict=True))
            yield TrajectoryName(name, tuple(left), wanted.order)


def _literal(keys: Keys) -> int:
    """How many leading indices are plain integers."""
    return len([*itertools.takewhile(lambda key: isinstance(key, int), keys)])


def take(
    values: np.ndarray, wanted: TrajectoryName, arrays: tuple[int, ...] | None, outer: int
) -> np.ndarray:
    """The elements a wanted selects, of values with `outer` axes (time) before those of the variable.

    `arrays` numbers the segments of the name that are component arrays. If that is not known, the
    indices on the path go to the component axes in their order.
    """
    axis = outer
    for position, keys in enumerate(wanted.keys[:-1]):
        if arrays is not None and position not in arrays:
            if keys:
                raise IndexError(f"{wanted.name.split('.')[position]} is not a component array")
            continue
        has_axis = arrays is not None or bool(keys)
        for key in keys:
            if isinstance(key, tuple) or not has_axis:
                raise IndexError("a component array has one axis")
            if key is not Ellipsis:
                values = values[(slice(None),) * axis + (key,)]
            has_axis = not isinstance(key, int)
        axis += has_axis
    for key in wanted.keys[-1]:
        values = values[(slice(None),) * outer + (key if isinstance(key, tuple) else (key,))]
    return values
