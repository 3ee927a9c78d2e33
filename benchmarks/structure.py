"""How the structural passes grow: with array sizes (not at all), and with the number of nodes.

python benchmarks/structure.py
"""

from __future__ import annotations

import platform
import time as clock
from typing import Any

import numpy as np

from modia_py.arrays.blt import blt
from modia_py.arrays.index1 import special_index1
from modia_py.arrays.matching import match, structure_graph
from modia_py.arrays.pantelides import pantelides
from modia_py.arrays.structure import NONE, Structure
from modia_py.arrays.tearing import tear


def seconds(act: Any) -> tuple[float, Any]:
    start = clock.perf_counter()
    result = act()
    return clock.perf_counter() - start, result


def from_columns(
    columns: list[np.ndarray], variables: int, solvable: list[bool], **links: Any
) -> Structure:
    """A structure whose equation e contains columns[k][e] for each k; -1 is left out."""
    table = np.stack(columns, axis=1)
    present = table != NONE
    count = len(table)
    return Structure(
        links.get("equation_size", np.ones(count, np.int64)),
        links.get("variable_size", np.ones(variables, np.int64)),
        np.append(0, np.cumsum(present.sum(axis=1))),
        table[present],
        np.broadcast_to(np.array(solvable), table.shape)[present],
        links.get("variable_derivative", np.full(variables, NONE)),
        np.full(count, NONE),
    )


def chain(n: int) -> Structure:
    """Equation k contains x[k-1], x[k], x[k+1]: one block of n coupled equations."""
    k = np.arange(n)
    before, after = np.where(k > 0, k - 1, NONE), np.where(k < n - 1, k + 1, NONE)
    return from_columns([k, before, after], n, [True, True, True])


def pendulums(n: int, size: int = 2) -> Structure:
    """n point masses on rods, each hanging from the one before: constraints of index 3.

    r, v, der(r), der(v) are vectors, the rod force is a scalar:
    der(r) = v;  m der(v) = F(lam_k, lam_(k+1), r_(k-1), r_k, r_(k+1));  |r_k - r_(k-1)| = L.
    """
    k = np.arange(n)
    r, v, dr, dv, lam = (k + j * n for j in range(5))
    before = lambda x: np.where(k > 0, x - 1, NONE)  # noqa: E731
    after = lambda x: np.where(k < n - 1, x + 1, NONE)  # noqa: E731
    none = np.full(n, NONE)
    rows = [
        [dr, v, none, none, none, none],
        [dv, lam, after(lam), before(r), r, after(r)],
        [before(r), r, none, none, none, none],
    ]
    columns = [np.concatenate([row[j] for row in rows]) for j in range(6)]
    derivative = np.full(5 * n, NONE)
    derivative[r], derivative[v] = dr, dv
    sizes = np.full(5 * n, size)
    sizes[lam] = 1
    structure = from_columns(
        columns,
        5 * n,
        [True, False, False, False, False, False],
        variable_derivative=derivative,
        variable_size=sizes,
        equation_size=np.repeat([size, size, 1], n),
    )
    solvable = structure.solvable.copy()
    solvable[structure.start[2 * n] :] = False  # a length cannot be solved for a vector
    return Structure(**{**structure.__dict__, "solvable": solvable})


def sliding_mass(size: int) -> Structure:
    """The sliding mass of the examples, with vectors of any length."""
    s, r, v, f, u, ds, dr, dv = range(8)
    rows = [[r, s], [v, dr], [dv, f, u], [f], [u, s, ds]]
    width = max(map(len, rows))
    table = np.array([row + [NONE] * (width - len(row)) for row in rows])
    derivative = np.full(8, NONE)
    derivative[[s, r, v]] = ds, dr, dv
    sizes = np.full(8, size)
    sizes[[s, ds]] = 1
    structure = from_columns(
        list(table.T),
        8,
        [True, False, False],
        variable_derivative=derivative,
        variable_size=sizes,
        equation_size=np.array([size, size, size, 1, size]),
    )
    solvable = structure.solvable.copy()
    solvable[structure.start[3] : structure.start[4]] = False
    return Structure(**{**structure.__dict__, "solvable": solvable})


def index1(structure: Structure) -> Any:
    reduced = pantelides(structure)
    final = reduced.structure
    blocks = blt(final, reduced.flow, final.highest_equations(), final.highest_variables())
    return special_index1(final, blocks)


def matching_blt_tearing(structure: Structure) -> str:
    everything = np.arange(structure.equation_count)
    graph, entries = structure_graph(structure, everything, everything)
    matching, found = seconds(lambda: match(graph))
    flow = np.zeros(len(structure.variables), np.int64)
    flow[entries] = found.flow
    sorting, blocks = seconds(lambda: blt(structure, flow, everything, everything))
    tearing, torn = seconds(lambda: tear(structure, blocks.equations, [blocks.variables]))
    times = (matching, sorting, tearing, matching + sorting + tearing)
    return "".join(f"{spent:8.2f}" for spent in times) + f"   {len(blocks)} block(s), {torn}"


def main() -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    index1(pendulums(10))  # numba compiles
    tear(chain(10), np.arange(10), [np.arange(10)])
    print("\nsliding mass, vectors of length n: all passes, best of 30")
    lengths = (3, 10**6)
    rounds = [[seconds(lambda n=n: index1(sliding_mass(n)))[0] for n in lengths] for _ in range(30)]
    best = dict(zip(lengths, np.min(rounds, axis=0), strict=True))  # in turns, because machines are noisy
    for n, spent in best.items():
        print(f"{n:>9} {1e3 * spent:8.2f} ms")
    print(f"ratio {best[10**6] / best[3]:.2f}")
    print("\nchain of n coupled equations, seconds: matching, BLT, tearing, together")
    for n in (10**4, 10**5, 10**6):
        print(f"{n:>9} {matching_blt_tearing(chain(n))}")
    print("\nchain of n pendulums, index 3, seconds: all passes")
    for n in (10**3, 10**4, 10**5):
        spent, form = seconds(lambda n=n: index1(pendulums(n)))
        print(f"{n:>9} {spent:8.2f}   {form}")


if __name__ == "__main__":
    main()
