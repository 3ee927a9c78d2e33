"""Tearing: which equations are assigned explicitly, and which remain residuals.

An equation is solved for a variable where that never divides by what may vanish (retained solution
space: the pair is `solvable`), and only if the assignments stay free of cycles. What is left over are
residual equations and tear variables. Equations are tried in the order given, variables group after
group: the last group keeps its variables as tear variables if it can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cycles import assign_all, assign_forced, begin, evaluation_order
from .distinct import distinct
from .structure import NONE, Integers, Structure


@dataclass(frozen=True, eq=False)
class Tearing:
    """Which equations are solved for which variables, and what is left over.

    Attributes
    ----------
    equations, variables : array of int
        `equations[k]` is solved for `variables[k]`, in this order.
    residuals, tears : array of int
        The equations and variables that are left over.
    """

    equations: Integers
    variables: Integers
    residuals: Integers
    tears: Integers

    def __str__(self) -> str:
        left = f"{len(self.residuals)} residuals, {len(self.tears)} tear variables"
        return f"{len(self.equations)} assigned, {left}"


def tear(
    structure: Structure,
    equations: Integers,
    groups: list[Integers],
    fixed_equations: Integers | None = None,
    fixed_variables: Integers | None = None,
    hinted: Integers | None = None,
) -> Tearing:
    """Tear equations for the variables of all groups.

    Parameters
    ----------
    structure : Structure
        Who occurs where, at which derivative order.
    equations : array of int
        Those to be torn, in the order in which they are tried.
    groups : list of array of int
        The variables; the last group keeps its variables as tear variables if it can.
    fixed_equations, fixed_variables : array of int, optional
        `fixed_equations[k]` is already solved for `fixed_variables[k]`; these pairs must be acyclic, and
        are part of the result.
    hinted : array of bool, optional
        Flags of entries in loops whose tear variables and residuals are given (`hints`): there, equations
        with one such unknown left are solved for it before anything is chosen.

    Returns
    -------
    Tearing
        Assignments in an order in which they can be evaluated, residuals and tear variables.

    Raises
    ------
    ValueError
        If the fixed pairs depend on each other in a cycle.

    Examples
    --------
    Two equations of two unknowns: one is assigned, the other is a residual.

    >>> import numpy as np
    >>> from modia_py.arrays import make_structure, tear
    >>> print(tear(make_structure([[0, 1], [0, 1]], 2, solvable=True), np.arange(2), [np.arange(2)]))
    1 assigned, 1 residuals, 1 tear variables
    """
    none = np.zeros(0, np.int64)
    fixed_equations = none if fixed_equations is None else fixed_equations
    fixed_variables = none if fixed_variables is None else fixed_variables
    unknowns = np.concatenate([*groups, none])
    unknown = np.zeros(structure.variable_count, bool)
    unknown[unknowns] = True
    unknown[fixed_variables] = True
    group_of = np.full(structure.variable_count, NONE)
    for number, group in enumerate(groups):
        group_of[group] = number
    fixed_order = assignment_order(structure, fixed_equations, fixed_variables)
    graph = begin(structure, unknown, fixed_equations, fixed_variables, fixed_order)
    fits = (
        structure.equation_size[structure.equation_of_entry()]
        == structure.variable_size[structure.variables]
    )
    if hinted is not None and hinted.any():
        counted = hinted & (group_of[structure.variables] != NONE)
        assign_forced(graph, structure.solvable & fits, equations, counted, group_of)
    assign_all(graph, structure.solvable & fits, equations, len(groups), group_of)
    all_equations = np.concatenate([fixed_equations, equations])
    solved = all_equations[graph.variable_of[all_equations] != NONE]
    order = assignment_order(structure, solved, graph.variable_of[solved])
    return Tearing(
        solved[order],
        graph.variable_of[solved[order]],
        equations[graph.variable_of[equations] == NONE],
        unknowns[graph.equation_of[unknowns] == NONE],
    )


def assignment_order(structure: Structure, equations: Integers, variables: Integers) -> Integers:
    """An order in which `equations[k]` can be evaluated for `variables[k]`; raises if there is none."""
    order = evaluation_order(
        structure.start, structure.variables, structure.variable_count, equations, variables
    )
    if len(order) < len(equations):
        raise ValueError("the assignments depend on each other in a cycle")
    return order


def check_tearing(
    structure: Structure,
    tearing: Tearing,
    equations_given: Integers | None = None,
    variables_given: Integers | None = None,
) -> None:
    """Check that pairs fit and are solvable, that assignments are in order, and that nothing is left out.

    Parameters
    ----------
    structure : Structure
        Who occurs where, at which derivative order.
    tearing : Tearing
        What `tear` has returned.
    equations_given, variables_given : array of int, optional
        What was to be torn, to check that nothing is left out.

    Raises
    ------
    AssertionError
        If something is wrong.
    """
    equations, variables = tearing.equations, tearing.variables
    row, may_solve = structure.equation_of_entry(), structure.solvable.astype(bool)
    possible = set(zip(row[may_solve].tolist(), structure.variables[may_solve].tolist(), strict=True))
    assert set(zip(equations.tolist(), variables.tolist(), strict=True)) <= possible, "not solvable"
    for given, solved, left in (
        (equations_given, equations, tearing.residuals),
        (variables_given, variables, tearing.tears),
    ):
        assert given is None or np.isin(given, np.concatenate([solved, left])).all(), (
            "something is left out"
        )
    assert len(distinct(equations)) == len(equations)
    assert len(distinct(variables)) == len(variables)
    assert (structure.equation_size[equations] == structure.variable_size[variables]).all()
    check_assignments(structure, equations, variables)
    assert not np.intersect1d(tearing.tears, variables).size
    assert not np.intersect1d(tearing.residuals, equations).size


def check_assignments(structure: Structure, equations: Integers, variables: Integers) -> None:
    """Each assignment contains its variable, and otherwise only what is assigned before or not at all."""
    position = np.full(structure.variable_count, NONE)
    position[variables] = np.arange(len(variables))
    turn = np.full(structure.equation_count, NONE)
    turn[equations] = np.arange(len(equations))
    entry_turn = turn[structure.equation_of_entry()]
    assigned = entry_turn != NONE
    used = position[structure.variables]
    assert (used[assigned] <= entry_turn[assigned]).all(), "an assignment uses a later one"
    own = distinct(entry_turn[assigned & (used == entry_turn)])
    assert len(own) == len(equations), "an assignment does not contain its variable"
