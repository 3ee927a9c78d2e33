"""Graphs of immutable, shared nodes.

Equal nodes are one node: nodes are interned, so equality is identity and common subexpressions are
found for free. Graphs get deep, therefore nothing here or in the modules that walk a graph recurses on
depth.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any


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


def topological(
    roots: Iterable[Node], is_terminal: Callable[[Node], bool] = lambda node: not node.args
) -> Iterator[Node]:
    """Every node below the roots once, arguments before the calls on them.

    Nothing below a terminal node is visited.
    """
    done: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, arguments_done = stack.pop()
        if id(node) in done:
            continue
        if arguments_done or is_terminal(node):
            done.add(id(node))
            yield node
        else:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args) if id(arg) not in done)
