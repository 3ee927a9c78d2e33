"""The structure of array equations: who occurs where, at which derivative order.

A node is an array equation or an array variable with a size; a derivative is a variable (or an
equation) of its own, linked to what it is the derivative of. By convention every element of an
equation depends on every element of every variable in it (conceptual scalarization): nobody has to
write the elements out, and all passes count with sizes instead.

Everything is numpy arrays of integers, so that 10^6 nodes are no burden. Indices are 0-based; -1 means
none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .indices import ranges, starts_of

Integers = np.ndarray
Naming = Callable[[int], str] | Sequence[str] | None
NONE = -1


@dataclass(frozen=True, eq=False)
class Structure:
    """Array equations and variables, incidence, derivative links, and what may be solved for what.

    `variables[start[e]:start[e + 1]]` are the variables of equation e. `make_structure` makes one from
    lists.

    Attributes
    ----------
    equation_size, variable_size : array of int
        The number of elements of each.
    start, variables : array of int
        Incidence in compressed form.
    solvable : array of bool
        In the places of `variables`: whether the equation can be solved for the variable without dividing
        by what may vanish.
    variable_derivative, equation_derivative : array of int
        The variable, or equation, that is the derivative of this one; -1 if there is none.
    equation_names, variable_names : sequence of str or callable, optional
        For messages; e0, e1, ... and v0, v1, ... if not given.
    """

    equation_size: Integers
    variable_size: Integers
    start: Integers
    variables: Integers
    solvable: Integers
    variable_derivative: Integers
    equation_derivative: Integers
    equation_names: Naming = None
    variable_names: Naming = None

    @property
    def equation_count(self) -> int:
        """The number of array equations."""
        return len(self.equation_size)

    @property
    def variable_count(self) -> int:
        """The number of array variables, derivatives included."""
        return len(self.variable_size)

    def variables_of(self, equation: int) -> Integers:
        """Give the variables of an equation.

        Parameters
        ----------
        equation : int
            Its number.

        Returns
        -------
        array of int
            Their numbers.
        """
        return self.variables[self.start[equation] : self.start[equation + 1]]

    def equation_of_entry(self) -> Integers:
        """Give the equation of each entry of `variables`.

        Returns
        -------
        array of int
            As long as `variables`.
        """
        return np.repeat(np.arange(self.equation_count), np.diff(self.start))

    def integral_of_variable(self) -> Integers:
        """Give, for each variable, the one it is the derivative of.

        Returns
        -------
        array of int
            -1 where there is none.
        """
        return self._integrals[0]

    def integral_of_equation(self) -> Integers:
        """Give, for each equation, the one it is the derivative of.

        Returns
        -------
        array of int
            -1 where there is none.
        """
        return self._integrals[1]

    @functools.cached_property
    def _integrals(self) -> tuple[Integers, Integers]:
        return _inverse(self.variable_derivative), _inverse(self.equation_derivative)

    def highest_variables(self) -> Integers:
        """Find the variables without a derivative.

        Returns
        -------
        array of int
            Their numbers.
        """
        return np.flatnonzero(self.variable_derivative == NONE)

    def highest_equations(self) -> Integers:
        """Find the equations that were not differentiated.

        Returns
        -------
        array of int
            Their numbers.
        """
        return np.flatnonzero(self.equation_derivative == NONE)

    def variable_name(self, variable: int) -> str:
        """Name a variable, with `der` around it if a pass has added it.

        Parameters
        ----------
        variable : int
            Its number.

        Returns
        -------
        str
            Such as "x" or "der2(x)".
        """
        return _name(variable, self.variable_names, self.integral_of_variable(), "v")

    def equation_name(self, equation: int) -> str:
        """Name an equation, with `der` around it if a pass has added it.

        Parameters
        ----------
        equation : int
            Its number.

        Returns
        -------
        str
            Such as "e3" or "der(e3)".
        """
        return _name(equation, self.equation_names, self.integral_of_equation(), "e")

    def __str__(self) -> str:
        return (
            f"{self.equation_count} array equations ({int(self.equation_size.sum())} scalar), "
            f"{self.variable_count} array variables ({int(self.variable_size.sum())} scalar), "
            f"{len(self.variables)} entries"
        )


def _inverse(link: Integers) -> Integers:
    inverse = np.full(len(link), NONE)
    linked = np.flatnonzero(link != NONE)
    inverse[link[linked]] = linked
    return inverse


def _name(node: int, names: Naming, integral: Integers, letter: str) -> str:
    order = 0
    given = names is not None and not callable(names)
    while integral[node] != NONE and not (given and node < len(names)):  # type: ignore[arg-type]
        node = int(integral[node])
        order += 1
    if names is None:
        base = f"{letter}{node}"
    else:
        base = names(node) if callable(names) else names[node]
    return base if order == 0 else f"der({base})" if order == 1 else f"der{order}({base})"


def make_structure(
    incidence: Sequence[Iterable[int]],
    variable_count: int,
    *,
    variable_derivative: Sequence[int] | None = None,
    equation_derivative: Sequence[int] | None = None,
    equation_size: Any = 1,
    variable_size: Any = 1,
    solvable: Sequence[Iterable[int]] | bool = False,
    equation_names: Naming = None,
    variable_names: Naming = None,
) -> Structure:
    """Make a structure from lists, all numbers from 0.

    Parameters
    ----------
    incidence : sequence of iterables of int
        `incidence[e]` are the variables of equation e. A derivative is a variable of its own.
    variable_count : int
        The number of variables, derivatives included.
    variable_derivative : sequence of int, optional
        For each variable the one that is its derivative, -1 for none; all -1 if not given.
    equation_derivative : sequence of int, optional
        The same for equations.
    equation_size, variable_size : int or sequence of int
        The number of elements: of all, or of each.
    solvable : sequence of iterables of int, or bool
        For each equation the variables it can be solved for without dividing by what may vanish; or for
        all.
    equation_names, variable_names : sequence of str or callable, optional
        For messages.

    Returns
    -------
    Structure
        What all passes work on.

    Examples
    --------
    >>> from modia_py.arrays import make_structure
    >>> print(make_structure([[0, 1], [1]], 2))
    2 array equations (2 scalar), 2 array variables (2 scalar), 3 entries
    """
    rows = [np.fromiter(row, np.int64) for row in incidence]
    start = np.cumsum([0] + [len(row) for row in rows])
    variables = np.concatenate([*rows, np.zeros(0, np.int64)])
    if isinstance(solvable, bool):
        may_solve = np.full(len(variables), solvable)
    else:
        may_solve = np.concatenate(
            [np.isin(row, np.fromiter(s, np.int64)) for row, s in zip(rows, solvable, strict=True)]
        )
    count = len(rows)
    return Structure(
        np.broadcast_to(np.asarray(equation_size, np.int64), count).copy(),
        np.broadcast_to(np.asarray(variable_size, np.int64), variable_count).copy(),
        start,
        variables,
        may_solve,
        _links(variable_derivative, variable_count),
        _links(equation_derivative, count),
        equation_names,
        variable_names,
    )


def _links(given: Sequence[int] | None, count: int) -> Integers:
    return np.full(count, NONE) if given is None else np.asarray(given, np.int64)


def extend(
    structure: Structure,
    differentiated_variables: Integers,
    differentiated_equations: Integers,
    constant: Integers | None = None,
) -> Structure:
    """The structure with derivatives of these variables and equations.

    The derivative of an equation contains the variables of the equation and their derivatives. It can
    be solved for a derivative where the equation could be solved for the variable. What is constant has no
    derivative.
    """
    new_variables = structure.variable_count + np.arange(len(differentiated_variables))
    derivative = np.append(structure.variable_derivative, np.full(len(new_variables), NONE))
    derivative[differentiated_variables] = new_variables
    counts = np.diff(structure.start)[differentiated_equations]
    entries = _entries_of(structure, differentiated_equations)
    old, moved = structure.variables[entries], derivative[structure.variables[entries]]
    moves = moved != NONE
    known = np.zeros(len(old), bool) if constant is None else constant[old]
    assert (moves | known).all(), "every variable of a differentiated equation has a derivative"
    owner = np.repeat(np.arange(len(differentiated_equations)), counts)
    pairs = np.concatenate([np.stack([owner, old], 1), np.stack([owner, moved], 1)[moves]])
    flags = np.concatenate([np.zeros(len(old), bool), structure.solvable[entries][moves]])
    order = np.lexsort((~flags, pairs[:, 1], pairs[:, 0]))
    pairs, flags = pairs[order], flags[order]
    is_new = np.append(True, (np.diff(pairs, axis=0) != 0).any(axis=1))[: len(pairs)]
    pairs, flags = pairs[is_new], flags[is_new]
    new_equations = structure.equation_count + np.arange(len(differentiated_equations))
    equation_derivative = np.append(structure.equation_derivative, np.full(len(new_equations), NONE))
    equation_derivative[differentiated_equations] = new_equations
    per_equation = np.bincount(pairs[:, 0], minlength=len(new_equations))
    return replace(
        structure,
        equation_size=np.append(structure.equation_size, structure.equation_size[differentiated_equations]),
        variable_size=np.append(structure.variable_size, structure.variable_size[differentiated_variables]),
        start=np.append(structure.start, structure.start[-1] + np.cumsum(per_equation)),
        variables=np.append(structure.variables, pairs[:, 1]),
        solvable=np.append(structure.solvable, flags),
        variable_derivative=derivative,
        equation_derivative=equation_derivative,
    )


def _entries_of(structure: Structure, equations: Integers) -> Integers:
    """The places in `variables` that belong to these equations, one equation after the other."""
    counts = np.diff(structure.start)[equations]
    return ranges(structure.start[equations], counts)


def scalarize(structure: Structure) -> tuple[Structure, Integers, Integers]:
    """Write all elements out: the reference for passes that count with sizes.

    Parameters
    ----------
    structure : Structure
        Who occurs where, at which derivative order.

    Returns
    -------
    scalar : Structure
        With one node for each element.
    equation_of, variable_of : array of int
        The array node of each scalar node.

    Examples
    --------
    >>> from modia_py.arrays import make_structure, scalarize
    >>> scalar, equation_of, _ = scalarize(make_structure([[0]], 1, equation_size=3, variable_size=3))
    >>> scalar.equation_count, equation_of.tolist()
    (3, [0, 0, 0])
    """
    equation_of = np.repeat(np.arange(structure.equation_count), structure.equation_size)
    variable_of = np.repeat(np.arange(structure.variable_count), structure.variable_size)
    first_equation = starts_of(structure.equation_size)
    first_variable = starts_of(structure.variable_size)
    rows = [
        np.concatenate(
            [first_variable[v] + np.arange(structure.variable_size[v]) for v in structure.variables_of(e)]
            + [np.zeros(0, np.int64)]
        )
        for e in equation_of.tolist()
    ]

    def spread(link: Integers, first: Integers, owner: Integers) -> list[int]:
        element = np.arange(len(owner)) - first[owner]
        target = link[owner]
        return np.where(target == NONE, NONE, first[target] + element).tolist()

    scalar = make_structure(
        rows,
        len(variable_of),
        variable_derivative=spread(structure.variable_derivative, first_variable, variable_of),
        equation_derivative=spread(structure.equation_derivative, first_equation, equation_of),
    )
    return scalar, equation_of, variable_of


def extend_mask(mask: Integers, count: int) -> Integers:
    """A mask of the first nodes for all `count` of them; nodes added by passes are not in it."""
    extended = np.zeros(count, bool)
    extended[: len(mask)] = mask
    return extended
