"""The special index-1 form as data: what x holds, which equation is which row, and the check of both.

How it is found, and the notation: see `index1`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from .cycles import assignment_stages, evaluation_order
from .distinct import distinct
from .matching import Graph, match
from .relaxing import RelaxedLoop
from .structure import NONE, Integers, Structure
from .tearing import Tearing, check_assignments


class Slot(IntEnum):
    """What a slot of x holds.

    Attributes
    ----------
    STATE
        A variable that is differentiated; xdot is its derivative.
    ALGEBRAIC
        A variable; xdot is not used.
    LAMBDA
        The integral of a variable, which is xdot.
    MU
        The integral of a multiplier that is zero in the exact solution.
    """

    STATE = 0
    ALGEBRAIC = 1
    LAMBDA = 2
    MU = 3


@dataclass(frozen=True, eq=False)
class Index1Form:
    """The special index-1 form: what x holds, which equation is which row, what is assigned locally.

    Attributes
    ----------
    structure : Structure
        With all derivatives.
    kind : array of int
        A `Slot` for each slot of x.
    value, derivative : array of int
        The variable in slot k of x, and the one in slot k of xdot; -1 if there is none.
    residual : array of int
        The equation that a mu belongs to; -1 for other slots.
    chain_slot, chain_variable : array of int
        Chain row k is `xdot[chain_slot[k]] - chain_variable[k] = 0`.
    fd, fc : array of int
        Equations that are rows with derivatives, and rows that are constraints.
    local_equations, local_variables : array of int
        `local_equations[k]` is evaluated for `local_variables[k]`, in this order.
    dropped : array of int
        Equations that are implied by others.
    levels : tuple of Tearing
        How each level was torn, the lowest first.
    loops : tuple of RelaxedLoop
        Loops that are solved as a whole, by elimination in a sequence.
    """

    structure: Structure
    kind: Integers
    value: Integers
    derivative: Integers
    residual: Integers
    chain_slot: Integers
    chain_variable: Integers
    fd: Integers
    fc: Integers
    local_equations: Integers
    local_variables: Integers
    dropped: Integers
    levels: tuple[Tearing, ...]
    loops: tuple[RelaxedLoop, ...] = ()

    def slot_size(self) -> Integers:
        """Give the number of scalars in each slot of x.

        Returns
        -------
        array of int
            As many as there are slots.
        """
        sizes = self.structure.variable_size
        named = np.where(self.value != NONE, self.value, self.derivative)
        of_residual = self.structure.equation_size[self.residual]
        return np.where(self.kind == Slot.MU, of_residual, sizes[named])

    def assignments(self) -> list[tuple[Integers, Integers]]:
        """List what is computed from x and xdot, each from those before.

        Returns
        -------
        list of pairs of arrays of int
            Equations, and the variables they are solved for: one of each, or those of a loop.
        """
        stage, loop_stage = self.stages()
        single = zip(self.local_equations, self.local_variables, strict=True)
        found = [
            ((s, k), (np.array([e]), np.array([v])))
            for k, (s, (e, v)) in enumerate(zip(stage, single, strict=True))
        ]
        found += [
            ((s, k), (loop.equations, loop.variables))
            for k, (s, loop) in enumerate(zip(loop_stage, self.loops, strict=True))
        ]
        return [pair for _, pair in sorted(found, key=lambda each: each[0])]

    def stages(self) -> tuple[Integers, Integers]:
        """Tell which assignments can be made at the same time.

        Returns
        -------
        tuple of arrays of int
            The stage, from 1, of each local assignment, and of each loop.
        """
        start, variables, equations, assigned = condensed(
            self.structure, self.local_equations, self.local_variables, self.loops
        )
        count = self.structure.variable_count
        order = evaluation_order(start, variables, count, equations, assigned)
        assert len(order) == len(equations), "assignments depend on each other in a cycle"
        stage = np.zeros(len(equations), np.int64)
        stage[order] = assignment_stages(start, variables, count, equations[order], assigned[order])
        return stage[: len(self.local_equations)], stage[len(self.local_equations) :]

    @property
    def size(self) -> int:
        """The number of scalars in x."""
        return int(self.slot_size().sum())

    @property
    def row_count(self) -> int:
        """The number of scalar rows: chain, fd and fc."""
        sizes = self.structure.equation_size
        chain = self.structure.variable_size[self.chain_variable].sum()
        return int(chain + sizes[self.fd].sum() + sizes[self.fc].sum())

    def __str__(self) -> str:
        counts = np.bincount(self.kind, minlength=len(Slot))
        slots = ", ".join(f"{counts[slot]} {slot.name.lower()}" for slot in Slot if counts[slot])
        return (
            f"x: {self.size} scalars in {len(self.kind)} slots ({slots}); rows: {len(self.chain_slot)} "
            f"chain, {len(self.fd)} fd, {len(self.fc)} fc; {len(self.local_equations)} local assignments"
        )

    def slot_name(self, slot: int) -> str:
        """Tell what a slot of x holds, in the names of the structure.

        Parameters
        ----------
        slot : int
            Its number.

        Returns
        -------
        str
            Such as "s" or "integral(f)".
        """
        kind = Slot(int(self.kind[slot]))
        if kind is Slot.MU:
            return f"integral(mu of {self.structure.equation_name(int(self.residual[slot]))})"
        if kind is Slot.LAMBDA:
            return f"integral({self.structure.variable_name(int(self.derivative[slot]))})"
        return self.structure.variable_name(int(self.value[slot]))


def condensed(
    structure: Structure, equations: Integers, variables: Integers, loops: tuple[RelaxedLoop, ...]
) -> tuple[Integers, Integers, Integers, Integers]:
    """Assignments of single variables, and then of loops by their first variable: incidence in compressed
    form, the numbers of the rows in it, and what they are solved for."""
    if not loops:
        return structure.start, structure.variables, equations, variables
    stands_for = np.arange(structure.variable_count)
    for loop in loops:
        stands_for[loop.variables] = loop.variables[0]
    rows = [structure.variables_of(e) for e in equations]
    rows += [np.concatenate([structure.variables_of(e) for e in loop.equations]) for loop in loops]
    rows = [distinct(stands_for[row]) for row in rows]
    start = np.cumsum([0, *map(len, rows)])
    firsts = np.array([loop.variables[0] for loop in loops], np.int64)
    return start, np.concatenate(rows), np.arange(len(rows)), np.append(variables, firsts)


def check_index1(form: Index1Form) -> None:
    """Check that every equation has its place, every variable its value, and that the counts agree.

    Parameters
    ----------
    form : Index1Form
        What `special_index1` has returned.

    Raises
    ------
    AssertionError
        If something is wrong.
    """
    structure = form.structure
    assert form.size == form.row_count
    solved = [loop.equations for loop in form.loops]
    placed = np.concatenate([form.fd, form.fc, form.local_equations, form.dropped, *solved])
    assert len(distinct(placed)) == len(placed), "an equation is used twice"
    assert len(placed) == structure.equation_count, "an equation is not used"
    assert (structure.equation_derivative[form.dropped] == NONE).all()
    known = np.zeros(structure.variable_count, bool)
    for held in (form.value, form.derivative):
        held = held[held != NONE]
        assert not known[held].any(), "a variable has two values"
        known[held] = True
    assigned = np.concatenate([form.local_variables, *(loop.variables for loop in form.loops)])
    assert not known[assigned].any(), "a variable is assigned and in x"
    position = np.full(structure.variable_count, NONE)
    position[assigned] = np.arange(len(assigned))
    assert (known | (position != NONE)).all(), "a variable has no value"
    if not form.loops:
        check_assignments(structure, form.local_equations, form.local_variables)
    follows = structure.variable_derivative[form.value[form.chain_slot]]
    assert (form.chain_variable == follows).all(), "a chain row ties a variable to another one"
    integral = structure.integral_of_equation()
    mu = form.residual[form.kind == Slot.MU]
    expected = form.fc[integral[form.fc] != NONE]
    assert (np.sort(mu) == np.sort(expected)).all(), "mu for other constraints than the differentiated ones"
    _check_rank(form)
    # fc does not depend on xdot: no highest derivative and no lambda below it
    moving = np.zeros(structure.variable_count, bool)
    moving[form.derivative[form.derivative != NONE]] = True
    for equations, variables in form.assignments():
        used = np.concatenate([structure.variables_of(equation) for equation in equations])
        moving[variables] = moving[used[~np.isin(used, variables)]].any()
    for equation in form.fc:
        assert not moving[structure.variables_of(equation)].any(), "a constraint depends on xdot"


LARGEST_CHECKED = 2000  # slots; the check below is meant for tests and small models


def _check_rank(form: Index1Form) -> None:
    """[dfd/dxdot; dfc/dx] has full structural rank, seen through the local assignments."""
    structure, slots = form.structure, len(form.kind)
    if slots > LARGEST_CHECKED:
        return
    by_x = np.zeros((structure.variable_count, slots), bool)
    by_xdot = np.zeros((structure.variable_count, slots), bool)
    for table, held in ((by_x, form.value), (by_xdot, form.derivative)):
        table[held[held != NONE], np.flatnonzero(held != NONE)] = True
    for equations, variables in form.assignments():
        used = np.concatenate([structure.variables_of(equation) for equation in equations])
        for table in (by_x, by_xdot):
            table[variables] = table[used[~np.isin(used, variables)]].any(axis=0)
    rows = [np.arange(slots) == slot for slot in form.chain_slot]
    sizes = [structure.variable_size[variable] for variable in form.chain_variable]
    rows += [by_xdot[structure.variables_of(equation)].any(axis=0) for equation in form.fd]
    rows += [by_x[structure.variables_of(equation)].any(axis=0) for equation in form.fc]
    # mu reaches the chain rows of the variables that the integral of its constraint contains
    integral = structure.integral_of_equation()
    for slot in np.flatnonzero(form.kind == Slot.MU):
        contained = by_x[structure.variables_of(integral[form.residual[slot]])].any(axis=0)
        for place, chained in enumerate(form.chain_slot):
            if contained[chained]:
                rows[place] = rows[place] | (np.arange(slots) == slot)
    sizes += list(structure.equation_size[np.concatenate([form.fd, form.fc])])
    if rows:
        row, column = np.nonzero(np.stack(rows))
        matching = match(Graph(row, column, np.array(sizes), form.slot_size()))
        assert matching.is_complete(), "the matrix of the form is structurally singular"
