"""The special index-1 form of array equations (Otter and Elmqvist 2017).

Target: `0 = [fd(xdot, x, t); fc(x, t)]` with `[dfd/dxdot; dfc/dx]` regular. In the notation of the
paper, block by block of the highest-derivative equations:

- E_n, V_n are the equations and variables of the block, E_(k-1), V_(k-1) what these are derivatives of.
- The lower levels are torn, lowest first, each beginning with the differentiated solved pairs of the
  level below. Solved pairs are local assignments (dummy states); residuals are constraints, in fc; tear
  variables are in x.
- On the highest level, derivatives of residuals are implied and dropped. What is left of all blocks is
  torn together. A derivative solved from an undifferentiated equation is not assigned: its equation is
  a row of fd, and its integral is in x.
- A tear variable of the highest level is in x itself, and its block in fc, where that needs no highest
  derivative. Else it is a lambda (its integral is in x, its value xdot), or a derivative (its integral is).
- A residual that is itself a derivative brings a mu, whose integral is in x: with the gradient of the
  residual it is added to the chain rows, and is zero in the exact solution.

Integrals below the lowest equations of a block follow their derivatives by chain rows. Rows are
[chain; fd; fc], as many as x has slots.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .blt import Blocks, blocks_of_nodes
from .cycles import evaluation_order
from .distinct import distinct, without
from .hints import Hints, within_loops, without_hinted_solutions
from .index1_form import Index1Form, Slot, check_index1, condensed
from .matching import reached
from .relaxing import RelaxedLoop, relaxed_loops
from .structure import NONE, Integers, Structure
from .tearing import Tearing, tear

__all__ = ["Index1Form", "Slot", "check_index1", "special_index1"]


class _Builder:
    """Collects slots, rows and assignments on the way through the levels."""

    def __init__(self, structure: Structure):
        self.structure = structure
        self.integral = structure.integral_of_variable()
        self.is_derivative_equation = structure.integral_of_equation() != NONE
        self.slots: list[tuple[Integers, ...]] = []
        self.fd: list[Integers] = []
        self.fc: list[Integers] = []
        self.pairs: list[tuple[Integers, Integers]] = []
        self.residuals: list[Integers] = []
        self.torn: list[Tearing] = []
        self.loops: tuple[RelaxedLoop, ...] = ()
        self.in_x = np.zeros(structure.variable_count, bool)

    def add_slots(self, kind: Slot, value: Integers, derivative: Integers, residual: Integers) -> None:
        self.slots.append((np.full(len(value), int(kind)), value, derivative, residual))

    def add_lower_level(self, tearing: Tearing) -> None:
        """Constraints, dummy states, and what is left of a level as x."""
        self.torn.append(tearing)
        self.fc.append(tearing.residuals)
        self.residuals.append(tearing.residuals)
        self.pairs.append((tearing.equations, tearing.variables))
        self.add_states(tearing.tears)
        stabilized = tearing.residuals[self.is_derivative_equation[tearing.residuals]]
        none = np.full(len(stabilized), NONE)
        self.add_slots(Slot.MU, none, none, stabilized)

    def add_states(self, variables: Integers) -> None:
        new = variables[~self.in_x[variables]]
        self.in_x[new] = True
        self.add_slots(Slot.STATE, new, self.structure.variable_derivative[new], np.full(len(new), NONE))


def special_index1(
    structure: Structure,
    blocks: Blocks,
    *,
    tearing: bool = True,
    keep: Integers | None = None,
    switched: Integers | None = None,
    hints: Hints | None = None,
    relaxed: Hints | None = None,
    reduce: bool = False,
) -> Index1Form:
    """Arrange a structure that `pantelides` has reduced as special index-1 form.

    Parameters
    ----------
    structure : Structure
        Who occurs where, at which derivative order.
    blocks : Blocks
        What `blt` has made of its highest equations and variables.
    tearing : bool
        Whether variables are assigned where they can be; else everything stays in x: the plain form.
    keep : array of bool, optional
        Marks variables that should remain in x if possible (those with a start value).
    switched : array of int, optional
        Equations that may become constraints at an event: unknowns of their blocks are lambdas.
    hints : Hints, optional
        Residue equations and tear variables that the user has named.
    relaxed : Hints, optional
        Variables, and the equations in which these are relaxed.
    reduce : bool
        Whether relaxed loops may leave something over, to be solved last: see `relaxing`.

    Returns
    -------
    Index1Form
        x, rows and local assignments.
    """
    given = structure
    structure, hinted = _with_hints(_solvable_within_blocks(structure, blocks, tearing), blocks, hints)
    keep = np.zeros(structure.variable_count, bool) if keep is None else keep
    builder = _Builder(structure)
    below: Tearing | None = None
    for equations, variables in _lower_levels(structure, blocks):
        below = _tear_level(structure, equations, variables, below, keep, hinted)
        builder.add_lower_level(below)
    switched = np.zeros(0, np.int64) if switched is None else switched
    if relaxed is not None and len(relaxed) and tearing:
        implied = _implied(builder)
        marked = np.zeros(structure.equation_count, bool)
        marked[np.append(implied, switched)] = True
        builder.loops = relaxed_loops(
            given, blocks, relaxed, Hints() if hints is None else hints, marked, reduce
        )
    _add_highest_level(builder, blocks, below, keep, switched, hinted)
    return _finish(builder)


def _with_hints(
    structure: Structure, blocks: Blocks, hints: Hints | None
) -> tuple[Structure, Integers | None]:
    """The structure without solutions that hints rule out, and the entries in loops they are about."""
    if hints is None or not len(hints):
        return structure, None
    hints, about = within_loops(hints, structure, blocks)
    block_of_equation, block_of_variable = blocks_of_nodes(structure, blocks)
    own = block_of_equation[structure.equation_of_entry()]
    same = np.isin(own, about) & (own == block_of_variable[structure.variables])
    structure = without_hinted_solutions(structure, hints)
    tears = hints.tears(structure.variable_count)[structure.variables]
    residues = hints.residues(structure.equation_count)[structure.equation_of_entry()]
    return structure, same & ~tears & ~residues


def _solvable_within_blocks(structure: Structure, blocks: Blocks, tearing: bool) -> Structure:
    """An equation may be solved only for variables of its own block, on every level.

    Across blocks it would be possible too, but could make a constraint depend on a derivative.
    """
    block_of_equation, block_of_variable = blocks_of_nodes(structure, blocks)
    same = block_of_equation[structure.equation_of_entry()] == block_of_variable[structure.variables]
    return replace(structure, solvable=structure.solvable & same & tearing)


def _lower_levels(structure: Structure, blocks: Blocks) -> list[tuple[Integers, Integers]]:
    """Equations and variables below the highest level, the lowest level of all blocks first."""
    integral_of_equation = structure.integral_of_equation()
    integral_of_variable = structure.integral_of_variable()
    equations, variables = blocks.equations, blocks.variables
    block_of_equation = np.repeat(np.arange(len(blocks)), np.diff(blocks.equation_start))
    block_of_variable = np.repeat(np.arange(len(blocks)), np.diff(blocks.variable_start))
    levels: list[tuple[Integers, Integers]] = []
    while True:
        has_lower = integral_of_equation[equations] != NONE
        equations, block_of_equation = (
            integral_of_equation[equations[has_lower]],
            block_of_equation[has_lower],
        )
        if not len(equations):
            return levels[::-1]
        # Only as far down as a block has equations; its variables may have more integrals.
        goes_on = np.zeros(len(blocks), bool)
        goes_on[block_of_equation] = True
        has_lower = (integral_of_variable[variables] != NONE) & goes_on[block_of_variable]
        variables, block_of_variable = (
            integral_of_variable[variables[has_lower]],
            block_of_variable[has_lower],
        )
        levels.append((equations, variables))


def _tear_level(
    structure: Structure,
    equations: Integers,
    variables: Integers,
    below: Tearing | None,
    keep: Integers,
    hinted: Integers | None,
) -> Tearing:
    fixed_equations, fixed_variables = _differentiated(structure, below)
    free = without(variables, fixed_variables)
    return tear(
        structure,
        without(equations, fixed_equations),
        [free[~keep[free]], free[keep[free]]],
        fixed_equations,
        fixed_variables,
        hinted,
    )


def _differentiated(structure: Structure, below: Tearing | None) -> tuple[Integers, Integers]:
    """The solved pairs of a level, one level up."""
    if below is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return structure.equation_derivative[below.equations], structure.variable_derivative[below.variables]


def _add_highest_level(
    builder: _Builder,
    blocks: Blocks,
    below: Tearing | None,
    keep: Integers,
    switched: Integers,
    hinted: Integers | None,
) -> None:
    structure = builder.structure
    none = np.zeros(0, np.int64)
    fixed_equations, fixed_variables = _differentiated(structure, below)
    implied = _implied(builder)
    eliminated = np.concatenate([none, *(loop.variables for loop in builder.loops)])
    outside = ~np.isin(fixed_variables, eliminated)
    fixed_equations, fixed_variables = fixed_equations[outside], fixed_variables[outside]
    left = without(without(blocks.equations, implied), fixed_equations)
    left = without(left, np.concatenate([none, *(loop.equations for loop in builder.loops)]))
    # In the order of the blocks, so that what is needed comes first.
    order = np.full(structure.equation_count, NONE)
    order[blocks.equations] = np.arange(len(blocks.equations))
    left = left[np.argsort(order[left])]
    free = without(without(blocks.variables, fixed_variables), eliminated)
    integral = builder.integral[free]
    kept = keep[free] | ((integral != NONE) & keep[integral])
    # A derivative whose integral is in x already is known as xdot: assigning it would need another row.
    already = (integral != NONE) & builder.in_x[integral]
    # Algebraic variables first: assigning them makes the system smaller.
    is_derivative = integral != NONE
    groups = [
        free[~is_derivative & ~kept],
        free[~is_derivative & kept],
        free[is_derivative & ~kept & ~already],
        free[is_derivative & kept | already],
    ]
    torn = tear(structure, left, groups, fixed_equations, fixed_variables, hinted)
    builder.torn.append(torn)
    free_derivatives = np.isin(torn.variables, free[is_derivative])
    is_row = free_derivatives & ~builder.is_derivative_equation[torn.equations]
    if len(switched):
        is_row &= ~_names_a_state(structure, torn.equations)
    builder.pairs.append((torn.equations[~is_row], torn.variables[~is_row]))
    builder.fd.append(torn.equations[is_row])
    builder.add_states(builder.integral[torn.variables[is_row]])
    pure = _purely_algebraic(structure, blocks, switched)
    block_of_equation = blocks.block_of_equation(structure.equation_count)
    block_of_variable = blocks.block_of_variable(structure.variable_count)
    in_pure = pure[block_of_equation[torn.residuals]]
    builder.fd.append(torn.residuals[~in_pure])
    builder.fc.append(torn.residuals[in_pure])
    tears = torn.tears
    derivative_tear = builder.integral[tears] != NONE
    builder.add_states(builder.integral[tears[derivative_tear]])
    others = tears[~derivative_tear]
    algebraic = others[pure[block_of_variable[others]]]
    multipliers = others[~pure[block_of_variable[others]]]
    nothing = np.full(len(algebraic), NONE)
    builder.add_slots(Slot.ALGEBRAIC, algebraic, nothing, nothing)
    nothing = np.full(len(multipliers), NONE)
    builder.add_slots(Slot.LAMBDA, nothing, multipliers, nothing)
    builder.residuals.append(implied)


def _implied(builder: _Builder) -> Integers:
    """Equations of the highest level that are derivatives of constraints."""
    structure = builder.structure
    implied = structure.equation_derivative[np.concatenate([np.zeros(0, np.int64), *builder.residuals])]
    return implied[structure.equation_derivative[implied] == NONE]


def _names_a_state(structure: Structure, equations: Integers) -> Integers:
    """Whether an equation says that a derivative is a state, w == der(phi), and nothing else.

    Assigned, der(phi) is w in every other equation, and phi follows by a chain row. Where an equation
    becomes a constraint of der(phi) at an event, it is one of states then.
    """
    entries = np.diff(structure.start)[equations]
    known = structure.variable_derivative[structure.variables] != NONE
    states = np.bincount(structure.equation_of_entry()[known], minlength=structure.equation_count)
    return (entries == 2) & (states[equations] == 1)


def _purely_algebraic(structure: Structure, blocks: Blocks, switched: Integers) -> Integers:
    """Blocks that depend on no highest derivative, not even through other blocks: functions of x and t, in
    every mode."""
    integral = structure.integral_of_variable()
    dynamic = (structure.variable_derivative == NONE) & (integral != NONE)
    needs = blocks.block_of_equation(structure.equation_count)[structure.equation_of_entry()]
    needed = blocks.block_of_variable(structure.variable_count)[structure.variables]
    directly = needs[(needs != NONE) & dynamic[structure.variables]]
    directly = np.append(directly, blocks.block_of_equation(structure.equation_count)[switched])
    directly = distinct(directly[directly != NONE])
    linked = (needs != NONE) & (needed != NONE)
    return ~reached(needed[linked], needs[linked], len(blocks), directly)


def _finish(builder: _Builder) -> Index1Form:
    structure = builder.structure
    none = np.zeros(0, np.int64)
    equations = np.concatenate([none, *(pair[0] for pair in builder.pairs)])
    variables = np.concatenate([none, *(pair[1] for pair in builder.pairs)])
    assigned = np.zeros(structure.variable_count, bool)
    assigned[variables] = True
    for loop in builder.loops:
        assigned[loop.variables] = True
    # Integrals below the lowest equations of their block: they only follow their derivatives.
    followers = (structure.variable_derivative != NONE) & ~builder.in_x & ~assigned
    builder.add_states(np.flatnonzero(followers))
    kind, value, derivative, residual = (
        np.concatenate([none, *(slots[column] for slots in builder.slots)]) for column in range(4)
    )
    # xdot of a state is its derivative, unless that has a value already: then a chain row ties them.
    tied = (kind == Slot.STATE) & (assigned | builder.in_x)[derivative]
    chain_slot = np.flatnonzero(tied)
    chain_variable = derivative[chain_slot]
    derivative = np.where(tied, NONE, derivative)
    rows = condensed(structure, equations, variables, builder.loops)
    order = evaluation_order(rows[0], rows[1], structure.variable_count, rows[2], rows[3])
    assert len(order) == len(rows[2]), "the assignments depend on each other in a cycle"
    order = order[order < len(equations)]
    form = Index1Form(
        structure,
        kind,
        value,
        derivative,
        residual,
        chain_slot,
        chain_variable,
        np.concatenate([none, *builder.fd]),
        np.concatenate([none, *builder.fc]),
        equations[order],
        variables[order],
        builder.residuals[-1],
        tuple(builder.torn),
        builder.loops,
    )
    assert form.size == form.row_count, f"{form.row_count} rows for {form.size} slots: {form}"
    return form
