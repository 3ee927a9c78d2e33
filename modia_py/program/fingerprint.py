"""What a translation depends on: two flat models with equal fingerprints share one.

Values of parameters and start values are data, and not part of it. Sizes, names, equations, and whether a
variable has a start value or a parameter is nonzero, are.
"""

from __future__ import annotations

from typing import Any

from ..expressions.equation import Equation, Hint
from ..expressions.expression import Constant, Leaf
from ..expressions.symbol_kinds import SymbolKind
from ..expressions.templates import Pick, Template, make_template
from ..language.event_parts import Action, Relation
from ..language.flat_model import FlatModel, Scope


def fingerprint(flat: FlatModel) -> tuple[tuple, list[Any]]:
    """A hashable key, and what has to stay alive for it to keep its meaning."""
    alive: list[Any] = []
    written: dict[tuple[int, int], tuple] = {}

    def of_equation(equation: Equation, scope: Scope) -> tuple:
        known = written.get((id(equation), id(scope)))
        if known is None:
            template = make_template(equation.residual())
            alive.append(template)
            source = equation.source
            hints = tuple(_hint_key(hint, scope) for hint in equation.hints)
            known = (*_template_key(template, scope), source.file, source.line, source.label, hints)
            written[id(equation), id(scope)] = known
        return known

    def of_part(part: Any, scope: Scope) -> tuple:
        known = written.get((id(part), id(scope)))
        if known is None:
            templates = [make_template(expr) for expr in part.expressions()]
            alive.extend(templates)
            known = (*_part_key(part, scope), *(_template_key(template, scope) for template in templates))
            written[id(part), id(scope)] = known
        return known

    variables = tuple(
        (v.name, v.shape, v.lead, v.symbol.init is None, v.symbol.guess is None) for v in flat.variables
    )
    parameters = tuple((p.name, p.shape, p.symbol.nonzero) for p in flat.parameters)
    inputs = tuple((entry.name, entry.shape) for entry in flat.inputs)
    discretes = tuple((d.name, d.shape, d.lead, d.symbol.role, d.symbol.reason) for d in flat.discretes)
    equations = tuple(
        tuple((of_equation(e.equation, e.owner.scope), e.owner.name, e.owner.lead) for e in group)
        for group in (flat.equations, flat.initial_equations)
    )
    events = tuple(
        (of_part(entry.part, entry.owner.scope), entry.owner.name, entry.owner.lead)
        for group in (flat.relations, flat.samples, flat.left_limits, flat.actions)
        for entry in group
    )
    return (flat.name, variables, parameters, inputs, discretes, *equations, events), alive


def _template_key(template: Template, scope: Scope) -> tuple:
    return (id(template.root), *(_pick_key(pick, scope) for pick in template.picks))


def _hint_key(hint: Hint, scope: Scope) -> tuple:
    return (hint.kind, () if hint.piece is None else _pick_key(Pick((hint.piece,)), scope))


def _part_key(part: Any, scope: Scope) -> tuple:
    """What is not an expression in a part of the events: its target, its kind, its line."""
    own = (type(part), part.source.file, part.source.line)
    if isinstance(part, Action):
        return (*own, part.kind, _pick_key(Pick((part.piece,)), scope))
    return (*own, part.symbol.name, *((part.negated, part.kind) if isinstance(part, Relation) else ()))


def _pick_key(pick: Pick, scope: Scope) -> tuple:
    pieces: list[tuple] = []
    for piece in pick.pieces:
        node, where = piece.node, piece.positions
        selection = (
            (where.shape, where.offset, where.strides) if where.is_affine else where.to_array().tobytes()
        )
        if isinstance(node, Constant):
            pieces.append((id(node), selection))
            continue
        assert isinstance(node, Leaf)
        name = "time" if node.kind is SymbolKind.TIME else scope.names[id(node.symbol)]
        pieces.append((name, node.order, node.lead, selection))
    return (pick.stacked, *pieces)
