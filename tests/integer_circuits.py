"""Circuits as integer-linear equations, and exact rational elimination to check what is said of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from modia_py.arrays.integer_equations import IntegerEquations
from modia_py.arrays.singularities import check_singularities

PER_COMPONENT = 6  # u, i, p.v, p.i, n.v, n.i


def circuit(p_node, n_node, *, ground=None, states=()):
    """Integer-linear equations of two-pin components between nodes, and what is known of the variables.

    Component k has the variables 6 k + (0: u, 1: i, 2: p.v, 3: p.i, 4: n.v, 5: n.i); a ground has two more,
    v and i, and sits at the node given. u and i occur elsewhere (the law of the component); u of the
    components `states` is differentiated. Each node: equal potentials, pin by pin, and the sum of flows.
    """
    p_node, n_node = np.asarray(p_node), np.asarray(n_node)
    count = len(p_node)
    base = PER_COMPONENT * np.arange(count)
    potential = np.concatenate((base + 2, base + 4))
    node = np.concatenate((p_node, n_node))
    n = PER_COMPONENT * count
    if ground is not None:
        potential, node = np.append(potential, n), np.append(node, ground)
        n += 2
    order = np.argsort(node, kind="stable")
    potential, node = potential[order], node[order]
    same = np.flatnonzero(node[1:] == node[:-1])
    members = np.bincount(node)
    members = members[members > 0]

    ones = np.ones(count, dtype=np.int64)
    blocks = [  # lengths of rows, variables, coefficients
        (3 * ones, np.stack((base, base + 2, base + 4), 1), np.stack((-ones, ones, -ones), 1)),
        (2 * ones, np.stack((base + 3, base + 5), 1), np.stack((ones, ones), 1)),
        (2 * ones, np.stack((base + 1, base + 3), 1), np.stack((-ones, ones), 1)),
        (
            np.full(len(same), 2),
            np.stack((potential[same], potential[same + 1]), 1),
            np.tile((-1, 1), (len(same), 1)),
        ),
        (members, potential + 1, np.ones(len(potential), dtype=np.int64)),
    ]
    if ground is not None:
        blocks.append((np.array([1]), np.array([n - 2]), np.array([1])))
    lengths, variables, coefficients = (np.concatenate([b[k].ravel() for b in blocks]) for k in range(3))
    equations = IntegerEquations(np.append(0, np.cumsum(lengths)), variables, coefficients, n)
    differentiated, elsewhere = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    elsewhere[base], elsewhere[base + 1] = True, True
    differentiated[base[list(states)]] = True
    return equations, {"differentiated": differentiated, "elsewhere": elsewhere}


def names_of(components):
    fields = ("u", "i", "p.v", "p.i", "n.v", "n.i")
    return [f"{c}.{f}" for c in components for f in fields] + ["ground.v", "ground.i"]


def states_and_elsewhere(vector):
    """Masks of a published problem: occurrence outside eInt, and of derivatives, is elsewhere."""
    links = np.array(vector["A"])
    elsewhere = np.zeros(len(links), dtype=bool)
    for number, variables in enumerate(vector["G"], 1):
        if number not in vector["eInt"]:
            elsewhere[np.array(variables) - 1] = True
    elsewhere |= [link > 0 and elsewhere[link - 1] for link in links]
    return {"differentiated": links > 0, "elsewhere": elsewhere}


def dense_problem(vector):
    """Equations and masks of a published dense matrix with potential states ix and local variables iy."""
    matrix = np.array(vector["A"])
    n = matrix.shape[1]
    states, elsewhere = np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
    states[np.array(vector.get("ix", []), dtype=int) - 1] = True
    elsewhere[np.array(vector.get("iy", []), dtype=int) - 1] = False
    return from_matrix(matrix.tolist()), {"differentiated": states, "elsewhere": elsewhere}


def from_matrix(matrix):
    rows = [{j: c for j, c in enumerate(row) if c} for row in matrix]
    return IntegerEquations.from_rows(rows, len(matrix[0]))


def dense(equations):
    matrix = [[0] * equations.n_variables for _ in range(equations.n_rows)]
    for number, line in enumerate(matrix):
        for variable, coefficient in zip(*equations.row(number), strict=True):
            line[variable] += int(coefficient)
    return matrix


def echelon(matrix):
    """Reduced row echelon form over the rationals, without empty rows: the same for equal row spaces."""
    rows = [[Fraction(c) for c in row] for row in matrix]
    done = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((r for r in range(done, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        rows[done] = [c / rows[done][column] for c in rows[done]]
        for r, row in enumerate(rows):
            if r != done and row[column]:
                rows[r] = [c - row[column] * p for c, p in zip(row, rows[done], strict=True)]
        done += 1
    return rows[:done]


def rank(matrix):
    return len(echelon(matrix))


def unit(variable, n):
    return [int(j == variable) for j in range(n)]


def facts(found):
    """Everything the result says, as rows: zeros, aliases, hidden constraints, remaining rows."""
    n = found.n_variables
    rows = [unit(v, n) for v in found.zero]
    for v in found.aliases:
        row = unit(v, n)
        row[found.alias_of[v]] = -int(found.alias_sign[v])
        rows.append(row)
    return rows + dense(found.hidden) + dense(found.remaining)


def columns(matrix, mask):
    return [[c for c, chosen in zip(row, mask, strict=True) if chosen] for row in matrix]


def check_exactly(equations, found, differentiated, elsewhere):
    """All that is claimed, by rational elimination of the dense matrix."""
    check_singularities(found, differentiated)
    matrix, n = dense(equations), equations.n_variables
    mentioned = np.isin(np.arange(n), equations.variables)
    local = ~differentiated & ~elsewhere & mentioned
    r1, r2, r3 = rank(columns(matrix, local)), rank(columns(matrix, ~differentiated)), rank(matrix)
    assert found.ranks == (r1, r2, r3)
    assert len(found.redundant) == len(matrix) - r3
    assert len(found.hidden_rows) == r3 - r2
    # Redundant rows follow from the others; hidden constraints stand in for the rows they replace.
    gone = set(found.redundant.tolist()) | set(found.hidden_rows.tolist())
    others = [row for number, row in enumerate(matrix) if number not in gone]
    assert echelon(others + dense(found.hidden)) == echelon(matrix)
    # Arbitrary: whatever values they have, the other local variables can make up for it.
    assert np.all(local[found.arbitrary])
    assert len(found.arbitrary) == local.sum() - r1
    fixed = local.copy()
    fixed[found.arbitrary] = False
    assert rank(columns(matrix, fixed)) == r1
    # With these set to zero, the result says exactly what the equations say.
    zeros = [unit(v, n) for v in found.arbitrary]
    assert echelon(facts(found) + zeros) == echelon(matrix + zeros)
    assert len(facts(found)) == r3
