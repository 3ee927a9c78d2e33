"""A growing set of assignments that stays free of cycles.

Bender, Fineman, Gilbert, Tarjan, "A New Approach to Incremental Cycle Detection and Related Problems",
ACM Trans. Algorithms 12 (2016), section 2. Each variable has a level, never below that of a variable it
depends on. A new dependence of v on w needs work only if the level of w is not below that of v: first a
backward search from w within its level, of limited length, then a forward search from v that raises
levels. One of them finds a cycle if there is one.

The graph is not stored: an assigned variable depends on the other unknowns of its equation. The
functions are compiled by numba, because there is a step for each pair of 10^6 equations; they are in one
file, because numba's cache notices changes of that file only.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from .structure import NONE, Integers, Structure


class Assignments(NamedTuple):
    """The graph so far. Equation e is solved for `variable_of[e]`; -1 for none."""

    start: Integers
    variables: Integers
    column_start: Integers
    column_equations: Integers
    unknown: Integers  # variables that count; all others are known
    variable_of: Integers
    equation_of: Integers
    level: Integers
    # work space
    mark: Integers
    queue: Integers
    touched: Integers
    old_level: Integers
    touch: Integers
    clock: Integers  # [search, trial]


def begin(
    structure: Structure, unknown: Integers, equations: Integers, variables: Integers, order: Integers
) -> Assignments:
    """`equations[k]` is solved for `variables[k]` from the beginning; `order` evaluates them."""
    by_variable = np.argsort(structure.variables, kind="stable")
    count = structure.variable_count
    graph = Assignments(
        structure.start,
        structure.variables,
        np.searchsorted(structure.variables[by_variable], np.arange(count + 1)),
        structure.equation_of_entry()[by_variable],
        unknown,
        np.full(structure.equation_count, NONE),
        np.full(count, NONE),
        np.ones(count, np.int64),
        mark=np.zeros(count, np.int64),
        queue=np.zeros(count, np.int64),
        touched=np.zeros(count, np.int64),
        old_level=np.zeros(count, np.int64),
        touch=np.zeros(count, np.int64),
        clock=np.zeros(2, np.int64),
    )
    graph.variable_of[equations] = variables
    graph.equation_of[variables] = equations
    _set_levels(graph, variables[order])
    return graph


@numba.njit(cache=True)
def _set_levels(graph, ordered):  # type: ignore[no-untyped-def]
    for v in ordered:
        e = graph.equation_of[v]
        for k in range(graph.start[e], graph.start[e + 1]):
            w = graph.variables[k]
            if w != v and graph.unknown[w]:
                graph.level[v] = max(graph.level[v], graph.level[w])


@numba.njit(cache=True)
def try_to_assign(graph, e, v):  # type: ignore[no-untyped-def]
    """Solve e for v if that makes no cycle; tells whether it did."""
    graph.clock[1] += 1
    changes = 0
    if not _is_used(graph, v):  # nothing depends on v, so there can be no cycle
        for k in range(graph.start[e], graph.start[e + 1]):
            w = graph.variables[k]
            if w != v and graph.unknown[w]:
                graph.level[v] = max(graph.level[v], graph.level[w])
        graph.variable_of[e] = v
        graph.equation_of[v] = e
        return True
    for k in range(graph.start[e], graph.start[e + 1]):
        w = graph.variables[k]
        if w == v or not graph.unknown[w] or graph.level[w] < graph.level[v]:
            continue
        found, complete = _search_backward(graph, w, v)
        if not found:
            if complete and graph.level[w] == graph.level[v]:
                continue
            new_level = graph.level[w] if complete else graph.level[w] + 1
            if not complete:  # only w itself is known to lie before v
                graph.clock[0] += 1
                graph.mark[w] = graph.clock[0]
            found, changes = _raise_forward(graph, v, new_level, changes)
        if found:
            for c in range(changes):
                graph.level[graph.touched[c]] = graph.old_level[c]
            return False
    graph.variable_of[e] = v
    graph.equation_of[v] = e
    return True


@numba.njit(cache=True)
def _is_used(graph, v):  # type: ignore[no-untyped-def]
    """Whether an assignment depends on v."""
    for k in range(graph.column_start[v], graph.column_start[v + 1]):
        if graph.variable_of[graph.column_equations[k]] != NONE:
            return True
    return False


@numba.njit(cache=True)
def _search_backward(graph, w, v):  # type: ignore[no-untyped-def]
    """Whether w depends on v within one level, and whether the search came to its end."""
    # The length that balances both searches.
    limit = min(len(graph.variables) ** 0.5, len(graph.level) ** (2.0 / 3.0)) + 1
    graph.clock[0] += 1
    now = graph.clock[0]
    graph.mark[w] = now
    graph.queue[0] = w
    visited, place, steps = 1, 0, 0
    while place < visited:
        x = graph.queue[place]
        place += 1
        e = graph.equation_of[x]
        if e == NONE:
            continue
        for k in range(graph.start[e], graph.start[e + 1]):
            y = graph.variables[k]
            if y == x or not graph.unknown[y] or graph.level[y] != graph.level[x]:
                continue
            if y == v:
                return True, True
            steps += 1
            if steps > limit:
                return False, False
            if graph.mark[y] != now:
                graph.mark[y] = now
                graph.queue[visited] = y
                visited += 1
    return False, True


@numba.njit(cache=True)
def _raise_forward(graph, v, new_level, changes):  # type: ignore[no-untyped-def]
    """Raise v and what depends on it; found if that meets what the backward search has marked."""
    now, trial = graph.clock[0], graph.clock[1]
    top = 1
    graph.queue[0] = v
    changes = _set_level(graph, v, new_level, trial, changes)
    while top > 0:
        top -= 1
        x = graph.queue[top]
        for k in range(graph.column_start[x], graph.column_start[x + 1]):
            y = graph.variable_of[graph.column_equations[k]]
            if y in (NONE, x):
                continue
            if graph.mark[y] == now:
                return True, changes
            if graph.level[y] < new_level:
                changes = _set_level(graph, y, new_level, trial, changes)
                graph.queue[top] = y
                top += 1
    return False, changes


@numba.njit(cache=True)
def _set_level(graph, x, new_level, trial, changes):  # type: ignore[no-untyped-def]
    """Set a level, and remember the old one once for each trial."""
    if graph.touch[x] != trial:
        graph.touch[x] = trial
        graph.touched[changes] = x
        graph.old_level[changes] = graph.level[x]
        changes += 1
    graph.level[x] = new_level
    return changes


@numba.njit(cache=True)
def assign_all(graph, solvable, equations, groups, group_of):  # type: ignore[no-untyped-def]
    """Solve each equation for the first free variable that makes no cycle, group after group."""
    for group in range(groups):
        for e in equations:
            if graph.variable_of[e] != NONE:
                continue
            for k in range(graph.start[e], graph.start[e + 1]):
                v = graph.variables[k]
                free = group_of[v] == group and graph.equation_of[v] == NONE
                if solvable[k] and free and try_to_assign(graph, e, v):
                    break


@numba.njit(cache=True)
def assign_forced(graph, solvable, equations, counted, group_of):  # type: ignore[no-untyped-def]
    """Solve each equation that has one unknown left for it, as long as there are such equations.

    Entries that are `counted` are unknown. There is no choice in this: what it ends with is the same in
    whatever order equations are taken.
    """
    left = np.zeros(len(graph.variable_of), np.int64)
    waiting = np.empty(len(equations), np.int64)
    listed = np.zeros(len(graph.variable_of), np.bool_)
    end = 0
    for e in equations:
        listed[e] = graph.variable_of[e] == NONE
        for k in range(graph.start[e], graph.start[e + 1]):
            left[e] += counted[k] and graph.equation_of[graph.variables[k]] == NONE
        if listed[e] and left[e] == 1:
            waiting[end] = e
            end += 1
    place = 0
    while place < end:
        e = waiting[place]
        place += 1
        for k in range(graph.start[e], graph.start[e + 1]):
            v = graph.variables[k]
            if not (counted[k] and graph.equation_of[v] == NONE):
                continue
            if not (solvable[k] and group_of[v] != NONE and try_to_assign(graph, e, v)):
                continue
            for c in range(graph.column_start[v], graph.column_start[v + 1]):
                other = graph.column_equations[c]
                if not listed[other] or graph.variable_of[other] != NONE:
                    continue
                for j in range(graph.start[other], graph.start[other + 1]):
                    if graph.variables[j] == v and counted[j]:
                        left[other] -= 1
                        if left[other] == 1:
                            waiting[end] = other
                            end += 1


@numba.njit(cache=True)
def evaluation_order(start, variables, variable_count, equations, assigned):  # type: ignore[no-untyped-def]
    """An order in which each assignment comes after those it uses; shorter if there is a cycle.

    Depth first, without recursion, and in the order given where that is possible.
    """
    pair_of = np.full(variable_count, NONE)
    for k in range(len(assigned)):
        pair_of[assigned[k]] = k
    state = np.zeros(len(equations), np.int8)  # 0 new, 1 open, 2 done
    next_entry = np.empty(len(equations), np.int64)
    order = np.empty(len(equations), np.int64)
    stack = np.empty(len(equations), np.int64)
    done = 0
    for root in range(len(equations)):
        if state[root] != 0:
            continue
        top = 0
        stack[0] = root
        state[root] = 1
        next_entry[root] = start[equations[root]]
        while top >= 0:
            k = stack[top]
            if next_entry[k] == start[equations[k] + 1]:
                state[k] = 2
                order[done] = k
                done += 1
                top -= 1
                continue
            needed = pair_of[variables[next_entry[k]]]
            next_entry[k] += 1
            if needed in (NONE, k) or state[needed] == 2:
                continue
            if state[needed] == 1:
                return order[:done]
            top += 1
            stack[top] = needed
            state[needed] = 1
            next_entry[needed] = start[equations[needed]]
    return order[:done]


@numba.njit(cache=True)
def assignment_stages(start, variables, variable_count, equations, assigned):  # type: ignore[no-untyped-def]
    """The stage of each assignment: one more than the highest of those it uses. They must be in order."""
    stage_of = np.zeros(variable_count, np.int64)
    stages = np.empty(len(equations), np.int64)
    for k in range(len(equations)):
        stage = 0
        for j in range(start[equations[k]], start[equations[k] + 1]):
            if variables[j] != assigned[k]:
                stage = max(stage, stage_of[variables[j]])
        stages[k] = stage + 1
        stage_of[assigned[k]] = stage + 1
    return stages
