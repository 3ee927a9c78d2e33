"""How often each array equation has to be differentiated (Pantelides 1988), on arrays.

The highest derivatives are matched with the equations of highest order. Whatever an unmatched equation
reaches along alternating paths is structurally singular and is differentiated as a whole, with its
variables; this is repeated until every equation is matched. The order in which singular sets are
treated does not matter: the numbers of differentiations are the smallest possible ones.

It cannot go on forever: it ends if and only if the equations can be matched when a variable and all its
derivatives count as one unknown, which is tested before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .constants import Constants
from .distinct import distinct
from .matching import Graph, match, reached_from_rows, structure_graph
from .structure import NONE, Integers, Structure, extend


@dataclass(frozen=True, eq=False)
class IndexReduction:
    """A structure with all the derivatives it needs, and the matching of its highest ones.

    Attributes
    ----------
    structure : Structure
        The given one, with derivatives of variables and equations added at the end.
    flow : array of int
        For entry k of `structure.variables`, how many elements are matched there.
    """

    structure: Structure
    flow: Integers

    def differentiations(self, count: int) -> Integers:
        """Count how often equations were differentiated.

        Parameters
        ----------
        count : int
            How many equations, from the first.

        Returns
        -------
        array of int
            For each of them.
        """
        order = np.zeros(self.structure.equation_count, np.int64)
        integral = self.structure.integral_of_equation()
        level, times = self.structure.highest_equations(), 0
        while len(level):
            order[level] = times
            level, times = integral[level][integral[level] != NONE], times + 1
        return order[:count]

    def __str__(self) -> str:
        times = self.differentiations(self.structure.equation_count)
        base = self.structure.integral_of_equation() == NONE
        counts = np.bincount(times[base])
        listed = ", ".join(
            f"{count} {['not at all', 'once', 'twice'][k] if k < 3 else f'{k} times'}"
            for k, count in enumerate(counts)
            if count
        )
        return f"array equations differentiated: {listed}"


def unknown_of_variable(structure: Structure) -> Integers:
    """The variable of lowest order that each variable is a derivative of."""
    integral = structure.integral_of_variable()
    unknown = np.arange(structure.variable_count)
    while True:
        lower = integral[unknown]
        if (lower == NONE).all():
            return unknown
        unknown = np.where(lower == NONE, unknown, lower)


def potential_graph(structure: Structure) -> tuple[Graph, Integers, Integers]:
    """Equations against unknowns, a variable and its derivatives being one; which both of these are."""
    equations = structure.highest_equations()
    unknown = unknown_of_variable(structure)
    unknowns = distinct(unknown)
    row_of = np.full(structure.equation_count, NONE)
    row_of[equations] = np.arange(len(equations))
    row = row_of[structure.equation_of_entry()]
    column = np.searchsorted(unknowns, unknown[structure.variables])
    kept = row != NONE
    pairs = np.unique(np.stack([row[kept], column[kept]], axis=1), axis=0)
    graph = Graph(
        pairs[:, 0], pairs[:, 1], structure.equation_size[equations], structure.variable_size[unknowns]
    )
    return graph, equations, unknowns


def is_solvable_by_differentiation(structure: Structure) -> bool:
    """Whether differentiating equations can ever make the highest derivatives determined."""
    return match(potential_graph(structure)[0]).is_complete()


def pantelides(structure: Structure, constants: Constants | None = None) -> IndexReduction:
    """Differentiate until the equations of highest order can be matched with the highest derivatives.

    The algorithm of C. C. Pantelides (1988), on arrays.

    Parameters
    ----------
    structure : Structure
        Who occurs where, at which derivative order.
    constants : Constants, optional
        Variables that do not change: their derivatives are zero, and no variables.

    Returns
    -------
    Reduction
        The structure with all derivatives, and a matching.

    Raises
    ------
    ValueError
        If no number of differentiations determines the structure: `diagnose` tells why.

    Examples
    --------
    A pendulum in Cartesian coordinates: the length is differentiated twice.

    >>> from modia_py.arrays import make_structure, pantelides
    >>> pendulum = make_structure(  # der(x) == v, der(v) == g - f*x, x @ x == 1
    ...     [[3, 1], [4, 2, 0], [0]],
    ...     5,
    ...     variable_derivative=[3, 4, -1, -1, -1],
    ...     equation_size=[2, 2, 1],
    ...     variable_size=[2, 2, 1, 2, 2],
    ...     solvable=[[3, 1], [4], []],
    ...     variable_names=["x", "v", "f", "der(x)", "der(v)"],
    ... )
    >>> pantelides(pendulum).differentiations(3).tolist()
    [1, 0, 2]
    """
    if not is_solvable_by_differentiation(structure):
        raise ValueError("the structure is singular: no number of differentiations determines it")
    flow = np.zeros(len(structure.variables), np.int64)
    while True:
        equations, variables = structure.highest_equations(), structure.highest_variables()
        hidden = None if constants is None else constants.hidden(structure)
        graph, entries = structure_graph(structure, equations, variables, hidden)
        matching = match(graph, flow[entries])
        flow[entries] = matching.flow
        if matching.is_complete():
            return IndexReduction(structure, flow)
        rows, columns = reached_from_rows(matching, matching.unmatched_rows())
        known = None if constants is None else constants.mask(structure)
        structure, flow = _differentiate(structure, flow, equations[rows], variables[columns], known)


def _differentiate(
    structure: Structure,
    flow: Integers,
    equations: Integers,
    variables: Integers,
    constant: Integers | None = None,
) -> tuple[Structure, Integers]:
    """The extended structure, and the matching of equations handed on to their derivatives."""
    extended = extend(structure, variables, equations, constant)
    old_entries = np.isin(structure.equation_of_entry(), equations)
    matched = np.flatnonzero(old_entries & (flow > 0))
    handed = np.zeros(len(extended.variables), np.int64)
    handed[: len(flow)] = np.where(old_entries, 0, flow)
    new_equation = extended.equation_derivative[structure.equation_of_entry()[matched]]
    new_variable = extended.variable_derivative[structure.variables[matched]]
    first = len(structure.variables)
    added = extended.equation_of_entry()[first:] * extended.variable_count + extended.variables[first:]
    order = np.argsort(added, kind="stable")
    wanted = new_equation * extended.variable_count + new_variable
    handed[first + order[np.searchsorted(added[order], wanted)]] = flow[matched]
    return extended, handed
