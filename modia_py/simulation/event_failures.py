"""Why a run stopped at an event, in the names of the model."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..expressions.symbol_kinds import DiscreteRole
from ..language.event_causes import ELEMENTARY
from ..program.program import Arguments, Program
from ..solvers import Solution, Status
from ..solvers.matrix.null_space import null_space
from ..solvers.roots.initialize import form_matrix
from ..start.dependent_equations import dependency
from .event_names import EventNames

LISTED = 8
LAST_EVENTS = 20
"""Events before the end of a run that tell which conditions accumulate."""
SWITCHING = (DiscreteRole.RELATION, DiscreteRole.CONDITION, DiscreteRole.DECLARED)


def termination_reason(program: Program, arguments: Arguments) -> str:
    """What was given to the `terminate` that has ended a run."""
    assert program.events is not None
    functions = program.events.functions
    now = np.asarray(functions.declared(arguments.p))
    reasons = [reason for place, reason in sorted(functions.terminations.items()) if now[place]]
    return "; ".join(dict.fromkeys(reasons))


def event_suspects(program: Program, arguments: Arguments, solution: Solution) -> list[str]:
    """What a failure at an event has to do with; `arguments` are those at the end, pre-values included."""
    match solution.status:
        case Status.CHATTERING:
            # Time may stand still although each single event settles: then the last events tell.
            return _chattering(program, arguments) or _accumulating(program, solution)
        case Status.ZENO:
            return _accumulating(program, solution)
        case Status.NO_RESTART:
            return [*_mode(program, arguments), *_dependent(program, arguments, solution)]
    return []


def _names(program: Program) -> EventNames:
    assert program.events is not None
    return EventNames(program.structure.flat, program.events.functions)


def _now_and_before(program: Program, arguments: Arguments) -> tuple[np.ndarray, np.ndarray]:
    """Discrete values of the last pass, and of the one before it."""
    assert program.events is not None
    functions = program.events.functions
    p = np.asarray(arguments.p)
    return np.asarray(functions.declared(p)), p[functions.parameter_size + functions.discrete_size :]


def _chattering(program: Program, arguments: Arguments) -> list[str]:
    names = _names(program)
    now, before = _now_and_before(program, arguments)
    roles = {place: names.discrete(place).symbol.role for place in np.flatnonzero(now != before).tolist()}
    # What is written is named; a condition that is one relation alone has its text and line.
    ordered = [place for role in SWITCHING for place, own in roles.items() if own is role]
    texts = list(dict.fromkeys(names.sentence(place) for place in ordered))
    return [_listing("These change in every pass:", texts)] if texts else []


def _accumulating(program: Program, solution: Solution) -> list[str]:
    names, records = _names(program), solution.events[-LAST_EVENTS:]
    counted: Counter[str] = Counter()
    for record in records:
        for place in sorted({*record.triggers.tolist(), *record.places.tolist()}):
            if names.discrete(place).symbol.role in ELEMENTARY:
                counted[names.sentence(place)] += 1
    if not counted:
        return []
    span = solution.t_last - records[0].time
    texts = [f"{text}: {count} times" for text, count in counted.most_common()]
    return [_listing(f"What has changed in the last {len(records)} events, within {span:.3g} s:", texts)]


def _mode(program: Program, arguments: Arguments) -> list[str]:
    """Relations and discrete variables as they are now, those first that have just changed."""
    names = _names(program)
    assert program.events is not None
    now, before = _now_and_before(program, arguments)
    places = program.events.functions.relations.place
    order = np.argsort(now[places] == before[places], kind="stable")
    texts = []
    for place in places[order].tolist():
        word = "holds" if now[place] else "does not hold"
        texts.append(
            f"{names.sentence(place)} {word}{', since now' if now[place] != before[place] else ''}"
        )
    return [_listing("The mode in which no values were found:", texts)] if texts else []


def _dependent(program: Program, arguments: Arguments, solution: Solution) -> list[str]:
    """Equations that depend on each other in the new mode."""
    xdot = np.where(np.isfinite(solution.xdot_last), solution.xdot_last, 0.0)
    matrix = form_matrix(program.problem, solution.t_last, solution.x_last, xdot, arguments)
    if not np.isfinite(matrix.data).all():
        return []
    rows, columns = null_space(matrix).involved()
    if not len(rows) and not len(columns):
        return []
    found = dependency(program, rows, columns, np.asarray(arguments.p))
    return [
        f"In this mode the equations do not determine all variables. {found}\nIs it a constraint of "
        f"positions that is switched on? Write that of velocities instead, its derivative."
    ]


def _listing(title: str, texts: list[str]) -> str:
    more = [f"    ... and {len(texts) - LISTED} more"] if len(texts) > LISTED else []
    return "\n".join([title, *(f"    {text}" for text in texts[:LISTED]), *more])
