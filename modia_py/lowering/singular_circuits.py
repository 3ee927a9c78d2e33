"""What a singular structure means for connected components: sources in parallel or in series, closed loops.

The over-determined part of the structure names equations. Where connections are among them, the reason is
one that an engineer has a name for.
"""

from __future__ import annotations

from typing import Any

from ..arrays.transform import SingularStructure
from ..expressions.expression import Leaf
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import FlatEquation
from ..language.model import Connector
from .model_structure import ModelStructure

LISTED = 6
Given = tuple[bool, str, FlatEquation]
"""Whether it is a quantity of a connector, its name, and the equation that gives it."""


def circuit_hint(model: ModelStructure, singular: SingularStructure) -> str:
    """A sentence for each over-determined part that is a matter of connections; else nothing."""
    texts = []
    if singular.simplified is not None:
        # It shows only in what is left without the equations that follow from others.
        numbers = model.equation_of[singular.simplified.redundant_equations].tolist()
        twice = [model.flat.equations[number] for number in dict.fromkeys(numbers)]
        joins = [equation for equation in model.flat.equations if _is_connection(equation)]
        texts = [_loop_text([each], joins) for each in twice if _is_connection(each) and not _flows(each)]
        return f"\n{texts[0]}" if texts and texts[0] else ""
    for part in singular.diagnosis.over:
        numbers = dict.fromkeys(model.equation_of[part.equations].tolist())
        equations = [model.flat.equations[number] for number in numbers]
        joins = [equation for equation in equations if _is_connection(equation)]
        if joins:
            texts.append(_short_text(joins) or _sources_text(equations, joins) or _loop_text(joins, joins))
        texts.append(_unconnected_text(model, equations))
    return "".join(f"\n{text}" for text in dict.fromkeys(texts) if text)


def _variables(equation: FlatEquation) -> list[Leaf]:
    return [leaf for leaf in equation.equation.leaves if leaf.kind is SymbolKind.VARIABLE]


def _is_connection(equation: FlatEquation) -> bool:
    """Whether all variables are those of connectors, of two at least."""
    owners = {id(leaf.symbol.component): leaf.symbol.component for leaf in _variables(equation)}
    is_source = len(equation.equation.leaves) > len(_variables(equation))
    return len(owners) > 1 and not is_source and all(isinstance(o, Connector) for o in owners.values())


def _sources_text(equations: list[FlatEquation], joins: list[FlatEquation]) -> str:
    """Components that each give the same quantity."""
    given: dict[str, Given] = {}
    for equation in equations:
        variables = _variables(equation)
        if len(variables) == 1 and variables[0].order == 0 and equation.owner.path:
            is_reference = isinstance(variables[0].symbol.component, Connector)
            given.setdefault(equation.owner.name, (is_reference, variables[0].symbol.name, equation))
    sources = {name: entry for name, entry in given.items() if not entry[0]} or given
    if len(sources) < 2 <= len(given) - len(sources):
        return _held_text(sources, {name: entry for name, entry in given.items() if entry[0]})
    if len(sources) < 2:
        return ""
    listed, what = _names(sources)
    if any(map(_flows, joins)):
        return (
            f"{listed} are connected in series: each of them gives its {what}, and the same flows through "
            f"all. Leave one out, or connect something in parallel to it that takes the difference."
        )
    return (
        f"{listed} are connected in parallel, or in a loop: each of them gives its {what}, one too many. "
        f"Leave one out, or put something in between, such as a small resistance."
    )


def _unconnected_text(model: ModelStructure, equations: list[FlatEquation]) -> str:
    """Connectors whose flows are zero because nothing is connected to them."""
    names = []
    for equation in equations:
        leaves = equation.equation.leaves
        declarations = [getattr(leaf.symbol, "declaration", None) for leaf in leaves if _flows(equation)]
        if [equation.equation.source] == [getattr(each, "source", None) for each in declarations]:
            connector, _, _ = model.flat.resolve(leaves[0], equation.owner).name.rpartition(".")
            names.append(connector)
    names = list(dict.fromkeys(names))
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return (
        f"Nothing is connected to {', '.join(names[:LISTED])}{more}, so no flow is there." if names else ""
    )


def _names(sources: dict[str, Given]) -> tuple[str, str]:
    """Components with their classes, and the quantities that they give."""
    names = [
        f"{name} ({type(entry[2].owner.component).__name__})"
        for name, entry in list(sources.items())[:LISTED]
    ]
    what = " and ".join(dict.fromkeys(entry[1] for entry in sources.values()))
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0], what


def _held_text(sources: dict[str, Given], references: dict[str, Given]) -> str:
    """A source between two references, each of which gives the potential of one end."""
    (source, difference), (ends, potential) = _names(sources), _names(references)
    return (
        f"{ends} each give their {potential}, and {source} gives its {difference} between them: one too "
        f"many. Leave one of them out."
    )


def _short_text(joins: list[FlatEquation]) -> str:
    """A component whose own connectors are connected with each other."""
    import networkx as nx  # takes long to import, and few models are singular

    graph = nx.Graph()
    for equation in joins:
        connectors = [leaf.symbol.component for leaf in _variables(equation)]
        if _flows(equation) or _is_inner(equation):
            continue
        nx.add_path(graph, map(_path, connectors))
        for connector in connectors:
            graph.nodes[_path(connector)]["owner"] = connector._parent
    for joined in nx.connected_components(graph):
        first: dict[int, str] = {}
        for name in sorted(joined):
            owner = graph.nodes[name]["owner"]
            if getattr(owner, "_parent", None) is not None and id(owner) in first:
                return (
                    f"{first[id(owner)]} and {name} are connected with each other, and both belong to "
                    f"{_path(owner)} ({type(owner).__name__}): a short circuit. Is one of them meant to go "
                    f"elsewhere?"
                )
            first[id(owner)] = name
    return ""


def _is_inner(equation: FlatEquation) -> bool:
    """Whether it says something of the own connectors of its component, and is no connection.

    Equal components share the text of their equations, and its symbols are those of the first of them.
    """
    owners = {id(leaf.symbol.component._parent) for leaf in _variables(equation)}
    return owners == {id(equation.owner.scope.component)}


def _flows(equation: FlatEquation) -> bool:
    return any(leaf.symbol.is_flow for leaf in _variables(equation))


def _loop_text(begins: list[FlatEquation], joins: list[FlatEquation]) -> str:
    """Components whose connections close a loop, around which something is given twice."""
    import networkx as nx  # takes long to import, and few models are singular

    graph = nx.Graph()
    owner: dict[str, str] = {}
    joins = [equation for equation in joins if not _flows(equation)]
    for equation in joins:
        connectors = [leaf.symbol.component for leaf in _variables(equation)]
        for connector in connectors:
            owner[_path(connector)] = _path(connector._parent)
            graph.add_edge(_path(connector), (_path(connector._parent),))
        graph.add_edge(*map(_path, connectors[:2]))
    for equation in begins:
        ends = [_path(leaf.symbol.component) for leaf in _variables(equation)][:2]
        if equation not in joins or not graph.has_edge(*ends):
            continue
        graph.remove_edge(*ends)
        around = nx.shortest_path(graph, *ends) if nx.has_path(graph, *ends) else []
        graph.add_edge(*ends)
        members = [*dict.fromkeys(owner[node] for node in around if node in owner)]
        if len(members) > 1:
            return _around(members, {leaf.symbol.name: leaf.symbol.shape for leaf in _variables(equation)})
    return ""


def _around(members: list[str], quantities: dict[str, Any]) -> str:
    matrices = [name for name, shape in quantities.items() if len(shape) > 1 or shape == (4,)]
    text = (
        f"The connections of {', '.join(members)} close a loop, around which {', '.join(quantities)} is "
        f"given once too often."
    )
    if matrices:
        text += (
            f" If the elements of {matrices[0]} depend on each other, as those of an orientation do, all "
            f"of them are given twice there: close the loop by a joint that states what is independent."
        )
    return text


def _path(component: Any) -> str:
    return ".".join(name for name, _ in component._segments()) or type(component).__name__
