"""Graphs of immutable, shared nodes.

Equal nodes are one node: nodes are interned, so equality is identity and common subexpressions are
found for free. Graphs get deep, therefore nothing here or in the modules that walk a graph recurses on
depth.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar


class Node:
    """Anything an expression graph consists of. `args` are the nodes it is computed from."""

    __slots__ = ("__weakref__", "args")
    args: tuple[Node, ...]


_interned: weakref.WeakValueDictionary[tuple, Node] = weakref.WeakValueDictionary()


def intern_node(kind: type[Node], key: tuple, /, **fields: Any) -> Any:
    """The one node of this kind and key; `fields` are its attributes if it has to be made.

    Keys hold the ids of nodes and not the nodes: an entry must not keep its own arguments alive, and
    the node under the key already does.
    """
    full_key = (kind, key)
    node = _interned.get(full_key)
    if node is None:
        node = kind.__new__(kind)
        for name, value in fields.items():
            setattr(node, name, value)
        _interned[full_key] = node
    return node


T = TypeVar("T")


class WhileAlive(Generic[T]):
    """What is known of some nodes, by identity, as long as these are alive. It must not keep them alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Node], T]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, node: Node) -> T | None:
        known = self._known.get(id(node))
        return None if known is None else known[1]

    def put(self, node: Node, value: T) -> None:
        number, known = id(node), self._known
        known[number] = weakref.ref(node, lambda _: known.pop(number, None)), value


def topological(roots: Iterable[Node], is_terminal: Callable[[Node], bool] | None = None) -> Iterator[Node]:
    """Every node below the roots once, arguments before the calls on them.

    Nothing below a terminal node is visited.
    """
    done: set[int] = set()
    opened: set[int] = set()  # their arguments are on the stack, above them
    stack = list(roots)[::-1]
    while stack:
        node = stack[-1]
        number = id(node)
        if number in done:
            stack.pop()
        elif number in opened or (is_terminal is not None and is_terminal(node)) or not node.args:
            stack.pop()
            done.add(number)
            yield node
        else:
            opened.add(number)
            stack += node.args[::-1]
