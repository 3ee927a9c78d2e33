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
derivatives themselves. Aliases are those that short rows reveal; implied ones that no row shows
(parallel resistors away from the ground) stay rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .aliases import ITSELF, ZERO, Reduction, simplify, subtract_parallel_rows
from .elimination import Row, SparseRows, eliminate, peel
from .integer_equations import Bools, IntegerEquations, Ints, Names, name_of

LISTED = 8  # how many of a kind a report names


@dataclass(frozen=True)
class Singularities:
    """What was found in integer-linear equations, and the equivalent equations that remain.

    Every row is one of: redundant; used up to determine a zero or an alias (`determined_by`); replaced by
    a hidden constraint; remaining. Every variable is at most one of: arbitrary, zero, alias.
    """

    n_rows: int
    n_variables: int
    ranks: tuple[int, int, int]
    redundant: Ints  # rows that follow from the others
    arbitrary: Ints  # variables that nothing determines: set to zero
    zero: Ints  # variables that are zero then
    alias_of: Ints  # per variable its representative, which is no alias and not zero; or -1
    alias_sign: Ints  # variable = sign * representative
    determined_by: Ints  # per zero or alias the row that was used up for it; else -1
    hidden_rows: Ints  # rows replaced ...
    hidden: IntegerEquations  # ... by these constraints among potential states
    remaining_rows: Ints  # the other rows ...
    remaining: IntegerEquations  # ... with zeros and aliases substituted

    @property
    def aliases(self) -> Ints:
        return np.flatnonzero(self.alias_of >= 0)

    @property
    def imbalance(self) -> int:
        """By how much (equations - unknowns) of the whole model has changed: arbitrary - redundant.

        Zero for a regular model, with or without a ground. Anything else says that the model itself has
        too few or too many equations somewhere, which the rows alone cannot mend.
        """
        return len(self.arbitrary) - len(self.redundant)

    def warnings(self, names: Names = None) -> list[str]:
        """One sentence for every arbitrary variable, and one if equations and variables do not balance."""
        texts = [
            f"{name_of(variable, names)} was set to zero: nothing determines it; is a ground missing?"
            for variable in self.arbitrary.tolist()
        ]
        if self.imbalance:
            texts.append(self._imbalance_text())
        return texts

    def _imbalance_text(self) -> str:
        redundant, arbitrary = len(self.redundant), len(self.arbitrary)
        found = f"{_count(redundant, 'equation')} redundant but {_count(arbitrary, 'variable')} arbitrary"
        if self.imbalance < 0:
            return (
                f"{found}: the model has {-self.imbalance} fewer of independent equations than it seems; "
                "is an equation written twice, or another one missing?"
            )
        return (
            f"{found}: {self.imbalance} more without an equation than there are equations to spare; "
            "is a variable declared that nothing uses?"
        )

    def report(self, names: Names = None) -> str:
        """Counts of everything, and the first few of each kind by name."""

        def listed(title: str, texts: list[str], total: int) -> list[str]:
            more = [f"    ... and {total - LISTED} more"] if total > LISTED else []
            return [f"  {title}: {total}", *(f"    {text}" for text in texts), *more]

        def rows(numbers: Ints, equations: IntegerEquations) -> list[str]:
            some = enumerate(numbers[:LISTED].tolist())
            return [f"row {number}:  {equations.text(at, names)}" for at, number in some]

        def variables(some: Ints) -> list[str]:
            return [name_of(variable, names) for variable in some[:LISTED].tolist()]

        aliases = [
            f"{name_of(v, names)} = {'-' if self.alias_sign[v] < 0 else ''}"
            f"{name_of(int(self.alias_of[v]), names)}"
            for v in self.aliases[:LISTED].tolist()
        ]
        redundant = [f"row {number}" for number in self.redundant[:LISTED].tolist()]
        hidden = rows(self.hidden_rows, self.hidden)
        return "\n".join(
            [
                f"{self.n_rows} integer-linear equations, ranks {', '.join(map(str, self.ranks))}",
                *listed("redundant equations", redundant, len(self.redundant)),
                *listed("arbitrary variables, set to zero", variables(self.arbitrary), len(self.arbitrary)),
                *listed("zero variables", variables(self.zero), len(self.zero)),
                *listed("aliases", aliases, len(self.aliases)),
                *listed("hidden constraints among potential states", hidden, len(self.hidden_rows)),
                f"  remaining equations: {len(self.remaining_rows)}",
                *([f"  {self._imbalance_text()}"] if self.imbalance else []),
            ]
        )

    def __str__(self) -> str:
        return self.report()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun} is" if number == 1 else f"{number} {noun}s are"


def remove_singularities(
    equations: IntegerEquations, *, differentiated: NDArray, elsewhere: NDArray
) -> Singularities:
    """Find redundant rows, arbitrary and zero variables, aliases and hidden constraints.

    differentiated: per variable, does it have a derivative (a potential state)?
    elsewhere: per variable, does it, or its derivative, occur in equations outside this set?

    Parallel capacitors with voltages x1, x2 and potentials p, n, nothing else, no ground:

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
    only_here = pivot_class == 1
    only_here[np.setdiff1d(np.arange(equations.n_variables), equations.variables)] = False

    work = Reduction.of(equations)
    simplify(work, states, pivot_class)
    arbitrary = free_variables(work.rows, only_here & (work.target == ITSELF))
    work.target[arbitrary] = ZERO
    work.substitute()
    simplify(work, states, pivot_class)
    subtract_parallel_rows(work, only_here)
    simplify(work, states, pivot_class)
    hidden = _drop_dependent_rows(work, states, pivot_class)
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
    constraints = eliminate(SparseRows(among_states, _numbers(core.rest), states))
    work.redundant.extend(constraints.rest)
    work.keep(~np.isin(work.numbers, _numbers(core.rest)))
    triangular = Reduction.of(_equations(core.reduced, len(states)), _numbers(core.reduced))
    simplify(triangular, states, pivot_class)
    work.adopt(triangular)
    return constraints.reduced


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


def check_singularities(found: Singularities, states: Bools) -> None:
    """The model stays balanced: raise AssertionError if a row or a variable is lost or counted twice.

    Each row is redundant, or used up for exactly one zero or alias, or hidden, or remaining:

        rows = redundant + zeros + aliases + hidden + remaining

    so rows and unknowns disappear in pairs, except for redundant rows and arbitrary variables, and
    (equations - unknowns) of the whole model changes by exactly arbitrary - redundant (`imbalance`).
    """

    def claim(holds: bool | np.bool_, text: str) -> None:
        if not holds:
            raise AssertionError(f"removal of singularities is wrong: {text}")

    aliases, used = found.aliases, found.determined_by[found.determined_by >= 0]
    fates = np.concatenate((found.redundant, used, found.hidden_rows, found.remaining_rows))
    claim(len(fates) == found.n_rows, f"{found.n_rows} rows, but {len(fates)} accounted for")
    claim(np.all(np.bincount(fates, minlength=found.n_rows) == 1), "a row is accounted for twice")
    replaced = np.concatenate((found.zero, aliases))
    claim(len(used) == len(replaced), f"{len(used)} rows used up for {len(replaced)} variables")
    claim(np.all(found.determined_by[replaced] >= 0), "a zero or an alias has used up no row")
    gone = np.zeros(found.n_variables, dtype=np.int64)
    np.add.at(gone, np.concatenate((replaced, found.arbitrary)), 1)
    claim(gone.max(initial=0) <= 1, "a variable is removed twice")
    claim(not np.any(gone[states]), "a potential state is removed")
    claim(not np.any(gone[found.alias_of[aliases]]), "a representative is itself removed")
    claim(not np.any(gone[found.remaining.variables]), "a removed variable is in a remaining row")
    claim(np.all(states[found.hidden.variables]), "a hidden constraint is not about states only")
    claim(np.all(found.hidden.lengths > 0) and np.all(found.remaining.lengths > 0), "an empty row is kept")
