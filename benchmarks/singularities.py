"""How long the removal of singularities takes on large circuits, with and without a ground.

    python benchmarks/singularities.py

A ladder of resistors and capacitors with a voltage source (one node with a pin of every capacitor), and a
square mesh of resistors with a voltage source from corner to corner. Only the integer-linear equations
are built: two pins, connections. In the mesh of capacitors every loop is a hidden constraint. Then a chain
of aliases, and a cascade of zeros that reveal each other one by one. Times are of one run.
"""

from __future__ import annotations

import platform
import sys
import time as clock
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from modia_py.arrays.integer_equations import IntegerEquations
from modia_py.arrays.singularities import remove_singularities
from tests.integer_circuits import circuit

Circuit = tuple[IntegerEquations, dict[str, Any]]


def ladder(sections: int, *, grounded: bool) -> Circuit:
    """Source from node 0 to 1; resistor k from node k to k + 1, capacitor k from node k + 1 to 0."""
    k = np.arange(1, sections + 1)
    p_node = np.concatenate((k, k + 1, [1]))
    n_node = np.concatenate((k + 1, 0 * k, [0]))
    return circuit(p_node, n_node, ground=0 if grounded else None, states=range(sections, 2 * sections))


def mesh(side: int, *, grounded: bool, capacitors: bool = False) -> Circuit:
    """Resistors between neighbours of a square grid of nodes, a source between two corners."""
    node = np.arange(side * side).reshape(side, side)
    p_node = np.concatenate((node[:, :-1].ravel(), node[:-1].ravel(), [0]))
    n_node = np.concatenate((node[:, 1:].ravel(), node[1:].ravel(), [side * side - 1]))
    states = range(len(p_node) - 1) if capacitors else ()
    return circuit(p_node, n_node, ground=0 if grounded else None, states=states)


def chain(links: int) -> Circuit:
    """v0 = v1 = v2 ... = 0: a single component of aliases, as long as it gets."""
    k = np.arange(links)
    indptr = np.append(np.arange(0, 2 * links + 1, 2), 2 * links + 1)
    variables = np.append(np.stack((k, k + 1), 1).ravel(), links)
    coefficients = np.append(np.tile((1, -1), links), 1)
    return _free(IntegerEquations(indptr, variables, coefficients, links + 1))


def cascade(links: int) -> Circuit:
    """v0 = 0, v1 = 2 v0, v2 = 2 v1, ...: each zero reveals the next."""
    k = np.arange(links)
    indptr = np.append(np.arange(0, 2 * links + 1, 2), 2 * links + 1)
    variables = np.append(np.stack((k, k + 1), 1).ravel(), 0)
    coefficients = np.append(np.tile((2, -1), links), 1)
    return _free(IntegerEquations(indptr, variables, coefficients, links + 1))


def _free(equations: IntegerEquations) -> Circuit:
    nowhere = np.zeros(equations.n_variables, dtype=bool)
    return equations, {"differentiated": nowhere, "elsewhere": ~nowhere}


def measure(title: str, case: Circuit) -> None:
    equations, known = case
    start = clock.perf_counter()
    found = remove_singularities(equations, **known)
    spent = clock.perf_counter() - start
    print(
        f"{title:<34}{equations.n_variables:>10}{equations.n_rows:>10}{spent:>8.1f} s"
        f"{len(found.arbitrary):>6}{len(found.redundant):>6}{len(found.hidden_rows):>6}"
        f"{len(found.zero):>9}{len(found.aliases):>9}{len(found.remaining_rows):>9}"
    )


def main() -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}\n")
    print(f"{'':<34} variables      rows      time  arb.  red.  hid.    zeros  aliases     left")
    for grounded in (True, False):
        how = "with ground" if grounded else "without ground"
        for sections in (1_000, 10_000, 100_000):
            measure(f"ladder {sections}, {how}", ladder(sections, grounded=grounded))
        for side in (20, 60, 200):
            measure(f"mesh {side} x {side}, {how}", mesh(side, grounded=grounded))
        measure(f"capacitors 200 x 200, {how}", mesh(200, grounded=grounded, capacitors=True))
    measure("chain of aliases", chain(1_000_000))
    measure("cascade of zeros", cascade(1_000_000))


if __name__ == "__main__":
    main()
