"""Removal of singularities that the structure does not show, from integer-linear equations.

Among the equations ``sum_j c_ij v_j = 0`` with integer coefficients (connections, mostly) some may say the
same twice, leave a variable free, or constrain states in secret: a circuit without a ground does the
first two, parallel capacitors the third. The incidence of the equations shows none of it. The method is
that of Otter and Elmqvist, "Transformation of Differential Algebraic Array Equations to Index One Form"
(Modelica Conference 2017), section on removing singularities. Variables are of three pivot classes:

    1  occur in no other equation of the model, and have no derivative
    2  other variables without a derivative
    3  potential states: variables with a derivative

With r1, r2, r3 the ranks of the columns of class 1, of 1 and 2, and of all: class-1 variables beyond r1 are
arbitrary and set to zero; rows between r2 and r3 constrain potential states only (hidden constraints);
rows beyond r3 vanish (redundant).

Where we differ. The paper eliminates dense rows in three passes. Any order of pivots gives the same
ranks if each is of the lowest class in its row, so we first use up rows with one or two variables
(`aliases`). Which variables are arbitrary depends on the columns of class 1 only, and which rows are
redundant or hidden does not depend on where class 1 ends: these are two separate, smaller problems.
In both, rows with a variable that is in no other row are independent and drop out without
arithmetic, and only what is left is eliminated (`elimination`). Rows that are neither redundant nor
hidden nor used up keep their sparse form: original, with aliases and zeros substituted.

Potential states are never replaced: ``x1 = x2`` and ``x = 0`` are hidden constraints, because their
derivatives matter. A caller marks as `differentiated` also what else must keep its identity, such as the
derivatives themselves. Aliases and zeros are those that short rows reveal, that parallel components
imply, or that the eliminated rows show; others that follow only from many sparse rows together stay
implied (the zero current of the only ground of a large circuit).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .aliases import ITSELF, ZERO, Reduction, simplify, subtract_parallel_rows
from .elimination import Row, SparseRows, eliminate, peel, shorten
from .integer_equations import Bools, IntegerEquations, Ints
from .singularity_result import Singularities, check_singularities

__all__ = ["Singularities", "check_singularities", "free_variables", "remove_singularities"]


def remove_singularities(
    equations: IntegerEquations, *, differentiated: NDArray, elsewhere: NDArray
) -> Singularities:
    """Find redundant rows, arbitrary and zero variables, aliases and hidden constraints.

    Parameters
    ----------
    equations : IntegerEquations
        The integer-linear equations of a model.
    differentiated : array of bool
        For each variable, does it have a derivative (a potential state)?
    elsewhere : array of bool
        For each variable, does it, or its derivative, occur in equations outside this set?

    Returns
    -------
    Singularities
        What was found, and the equations that remain.

    Raises
    ------
    ValueError
        If a mask is not as long as there are variables.

    Examples
    --------
    Parallel capacitors with voltages x1, x2 and potentials p, n, nothing else, no ground:

    >>> import numpy as np
    >>> from modia_py.arrays import IntegerEquations, remove_singularities
    >>> rows = [{0: 1, 2: -1, 3: 1}, {1: 1, 2: -1, 3: 1}]  # x1 = p - n,  x2 = p - n
    >>> equations = IntegerEquations.from_rows(rows, n_variables=4)
    >>> states = np.array([True, True, False, False])
    >>> found = remove_singularities(equations, differentiated=states, elsewhere=states)
    >>> found.hidden.text(0, ["x1", "x2", "p", "n"])
    '-x1 + x2 = 0'
    >>> found.warnings(["x1", "x2", "p", "n"])[0]
    'n was set to zero: nothing determines it; is a ground missing?'
    """
    states, elsewhere = np.asarray(differentiated, dtype=bool), np.asarray(elsewhere, dtype=bool)
    for mask in (states, elsewhere):
        if mask.shape != (equations.n_variables,):
            raise ValueError(f"{equations.n_variables} variables, but a mask of shape {mask.shape}")
    pivot_class = np.select((states, elsewhere), (3, 2), 1)
    only_here = np.zeros(equations.n_variables, dtype=bool)
    only_here[equations.variables] = pivot_class[equations.variables] == 1

    work = Reduction.of(equations)
    simplify(work, states, pivot_class)
    arbitrary = free_variables(work.rows, only_here & (work.target == ITSELF))
    work.target[arbitrary] = ZERO
    work.substitute()
    simplify(work, states, pivot_class)
    hidden = _drop_dependent_rows(work, states, pivot_class)
    simplify(work, states, pivot_class)
    while subtract_parallel_rows(work):
        simplify(work, states, pivot_class)

    found = _collect(equations, work, arbitrary, hidden, int(only_here.sum()))
    check_singularities(found, states)
    return found


def free_variables(rows: IntegerEquations, candidates: Bools) -> Ints:
    """Candidates without a pivot in their columns: the rows allow any value for them.

    Which ones is a choice. Variables in many rows are left free, such as the potential of the node
    with most pins, because setting them to zero simplifies most; of two, the later one, which is the
    negative pin of a component as a rule, so that the aliases are positive.
    """
    columns = rows.without_entries(~candidates[rows.variables])
    any_variable = np.ones(rows.n_variables, dtype=bool)
    occurrences = np.bincount(columns.variables, minlength=rows.n_variables)
    priority = occurrences * rows.n_variables + np.arange(rows.n_variables)
    work = Reduction.of(columns)
    simplify(work, ~any_variable, priority)
    peeling = peel(work.rows, any_variable)
    work.keep(peeling.left)
    core = eliminate(SparseRows(work.rows, work.numbers, any_variable))
    free = candidates & (work.target == ITSELF)
    free[peeling.pivots] = False
    free[list(core.pivots.values())] = False
    return np.flatnonzero(free)


def _drop_dependent_rows(work: Reduction, states: Bools, pivot_class: Ints) -> dict[int, Row]:
    """Take redundant and hidden rows out of the work; return the hidden ones, reduced to states.

    Where the eliminated rows, substituted backwards, reveal zeros and aliases, these are used up too.
    """
    peeling = peel(work.rows, ~states)
    core = eliminate(SparseRows(work.rows.select(peeling.left), work.numbers[peeling.left], ~states))
    among_states = _equations(core.rest, len(states))
    # To tell which of them are independent. Of each the shorter form is kept: it is sparser, and of two
    # constraints with the same highest derivatives, the one that is hidden behind the other comes out.
    constraints = eliminate(SparseRows(among_states, _numbers(core.rest), states))
    work.redundant.extend(constraints.rest)
    work.keep(~np.isin(work.numbers, _numbers(core.rest)))
    triangular = Reduction.of(_equations(core.reduced, len(states)), _numbers(core.reduced))
    simplify(triangular, states, pivot_class)
    work.adopt(triangular)
    return shorten(
        {
            number: min(core.rest[number], constraints.reduced[number], key=len)
            for number in constraints.pivots
        }
    )


def _equations(rows: dict[int, Row], n_variables: int) -> IntegerEquations:
    return IntegerEquations.from_rows(rows.values(), n_variables).normalized()


def _numbers(rows: dict[int, Row]) -> Ints:
    return np.array(list(rows), dtype=np.int64)


def _collect(
    equations: IntegerEquations, work: Reduction, arbitrary: Ints, hidden: dict[int, Row], n_only_here: int
) -> Singularities:
    zero = work.target == ZERO
    zero[arbitrary] = False
    redundant = np.sort(np.array(work.redundant, dtype=np.int64))
    hidden_rows = sorted(hidden)
    order = np.argsort(work.numbers)
    rank = equations.n_rows - len(redundant)
    n = equations.n_variables
    return Singularities(
        n_rows=equations.n_rows,
        n_variables=n,
        ranks=(n_only_here - len(arbitrary), rank - len(hidden), rank),
        redundant=redundant,
        arbitrary=arbitrary,
        zero=np.flatnonzero(zero),
        alias_of=np.where(work.target >= 0, work.target, -1),
        alias_sign=np.where(work.target >= 0, work.sign, 1),
        determined_by=work.determined_by,
        hidden_rows=np.array(hidden_rows, dtype=np.int64),
        hidden=IntegerEquations.from_rows((hidden[row] for row in hidden_rows), n).normalized(),
        remaining_rows=work.numbers[order],
        remaining=work.rows.select(order),
    )
