"""Long chains of assignments, cut.

Assignments that do not depend on each other make one stage, and the program that evaluates them has a
piece for each stage. A chain of n assignments (a recursion along a grid, a train of bodies) would be a
program of n pieces. Where there are more than MOST_STAGES, every so many stages the equations stay
residuals, and what they would have been solved for goes into x: the iteration matrix is sparse, so this
costs little, and the program stays short.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .blt import Blocks, blocks_of_nodes
from .hints import Hints, within_loops
from .index1 import Index1Form, special_index1
from .structure import NONE, Integers, Structure

MOST_STAGES = 24
ASSIGNMENTS_AN_UNKNOWN = 4
"""In a longer chain that is not cut: see `chains_may_stay`."""
ALL_ASSIGNED = "what can be assigned is assigned"
BY_HINTS = "by hints, and where these leave a choice, what can be assigned is assigned"
TRIES = 4  # cutting may open other ways to assign, which are as long


def stages_of(form: Index1Form) -> Integers:
    """The stage, from 1, of each local assignment."""
    return form.stages()[0]


def chains_may_stay(form: Index1Form, blocks: Blocks, most: int = MOST_STAGES) -> bool:
    """Whether long chains of assignments are harmless to the numbers.

    In a chain that one unknown is sent through, to be found from what comes out at the end, errors may
    grow with each assignment: a ladder of resistors makes 10^40 of one in a hundred sections. In a tree of
    bodies each joint adds an unknown of its own. So a long chain may stay where its block has an unknown
    for every few assignments.
    """
    structure, stage = form.structure, stages_of(form)
    of_equation, of_variable = blocks_of_nodes(structure, blocks)
    block = of_equation[form.local_equations]
    known = block != NONE
    first, last = np.full(len(blocks), np.iinfo(np.int64).max), np.zeros(len(blocks), np.int64)
    np.minimum.at(first, block[known], stage[known])
    np.maximum.at(last, block[known], stage[known])
    held = np.where(form.value != NONE, form.value, form.derivative)
    mine = (held != NONE) & (of_variable[held] != NONE)
    unknowns = np.bincount(of_variable[held[mine]], form.slot_size()[mine], len(blocks))
    length = np.maximum(last - first + 1, 0)
    return bool(((length <= most) | (length <= ASSIGNMENTS_AN_UNKNOWN * unknowns)).all())


def index1_with_few_stages(
    structure: Structure,
    blocks: Blocks,
    keep: Integers | None,
    switched: Integers | None = None,
    hints: Hints | None = None,
    relaxed: Hints | None = None,
    reduce: bool = False,
    most: int = MOST_STAGES,
) -> tuple[Index1Form, str]:
    """The torn form, with chains of assignments cut, or the plain form where cutting does not help; and a
    sentence about it. Where loops are torn by hints, nothing is cut: there the user has decided."""
    form = special_index1(
        structure,
        blocks,
        tearing=True,
        keep=keep,
        switched=switched,
        hints=hints,
        relaxed=relaxed,
        reduce=reduce,
    )
    if form.loops or (hints is not None and len(within_loops(hints, structure, blocks)[1])):
        return form, BY_HINTS
    longest = int(stages_of(form).max(initial=0))
    note = ALL_ASSIGNED
    for _ in range(TRIES):
        stage = stages_of(form)
        if stage.max(initial=0) <= most:
            return form, note
        note = f"chains of up to {longest} assignments are cut, to {most} at most"
        cut = np.zeros(structure.equation_count, bool)
        cut[form.local_equations[stage % most == 0]] = True
        cut = _with_relatives(cut, structure.equation_derivative)
        may_solve = structure.solvable & ~cut[structure.equation_of_entry()]
        structure = replace(structure, solvable=may_solve)
        form = special_index1(structure, blocks, tearing=True, keep=keep, switched=switched)
    if stages_of(form).max(initial=0) <= most:
        return form, note
    note = f"nothing is assigned: chains would have up to {longest} assignments, and cutting does not help"
    return special_index1(structure, blocks, tearing=False, keep=keep, switched=switched), note


def _with_relatives(marked: Integers, derivative: Integers) -> Integers:
    """An equation, its derivatives, and what it is a derivative of, are cut together."""
    marked = marked.copy()
    linked = np.flatnonzero(derivative != NONE)
    while True:
        either = marked[linked] | marked[derivative[linked]]
        if (marked[linked] == either).all() and (marked[derivative[linked]] == either).all():
            return marked
        marked[linked] = either
        marked[derivative[linked]] |= either
