"""Random circuits: resistors, inductors, capacitors, sources, nonlinear elements, any index up to two.

Well posed by construction: sources of voltage form no loop, and the circuit is connected without its
sources of current. Loops of capacitors and sources of voltage, and cut sets of inductors and sources of
current, are as welcome as loose ends and parts without ground. Judged by tableau.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import networkx as nx
import numpy as np

from .circuit_source import circuit_text, ladder_text
from .parts import Deviation, Must, Part
from .tableau import Descriptor, NoSolution, Trajectory, integrate

STOP = 1.0


@dataclass(frozen=True)
class Element:
    """One of R, L, C, V, I, D (diode), N (cubic conductor), S (saturating conductor), between two nodes."""

    letter: str
    a: int
    b: int
    values: tuple[
        float, ...
    ]  # R, L, C; offset, amplitude, frequency, phase; or what the law of the element needs
    start: float = 0.0
    init: bool = False


@dataclass(frozen=True)
class Circuit:
    elements: tuple[Element, ...]
    ladder: int = 0  # sections of a ladder of component arrays, or none
    kind: str = "circuit"
    must: Must = "right"
    stop_time: float = STOP

    def source(self, name: str) -> str:
        return ladder_text(self, name) if self.ladder else circuit_text(self, name)

    def inputs(self) -> Mapping[str, Callable[[Any], Any]]:
        return {}

    def names(self) -> list[str]:
        """The component of each element: `R0`, or a copy of an array."""
        if not self.ladder:
            return [f"{element.letter}{k}" for k, element in enumerate(self.elements)]
        n = self.ladder
        return ["source", *(f"series[{k}]" for k in range(n)), *(f"shunt[{k}]" for k in range(n))]

    def deviations(self, times: np.ndarray, values: Callable[[str], np.ndarray]) -> Iterator[Deviation]:
        voltages, currents, doubts = reference(self, tuple(times))
        for k, (element, name) in enumerate(zip(self.elements, self.names(), strict=True)):
            for word, right, doubt in (("u", voltages[k], doubts[0][k]), ("i", currents[k], doubts[1][k])):
                got = values(f"{name}.{word}")[1:]
                state = (element.letter, word) in {("C", "u"), ("L", "i")}
                row = int(np.argmax(np.where(np.isfinite(got), np.abs(got - right), np.inf)))
                size = max(float(np.max(np.abs(right))), 0.1)
                gain = 3.0 if state else 30.0
                yield Deviation(f"{name}.{word}", times[row + 1], got[row], right[row], size, gain, doubt)

    def reductions(self) -> Iterator[Part]:
        if self.ladder:
            return
        for k in range(len(self.elements)):
            fewer = replace(self, elements=self.elements[:k] + self.elements[k + 1 :])
            if is_well_posed(fewer.elements):
                yield with_starts(fewer)


def is_well_posed(elements: tuple[Element, ...]) -> bool:
    """No loop of sources of voltage, no cut set of sources of current."""
    nodes = {node for element in elements for node in (element.a, element.b)}
    graph, forest = nx.Graph(), nx.Graph()
    graph.add_nodes_from(nodes)
    forest.add_nodes_from(nodes)
    for element in elements:
        if element.letter == "V":
            if nx.has_path(forest, element.a, element.b):
                return False
            forest.add_edge(element.a, element.b)
        if element.letter != "I":
            graph.add_edge(element.a, element.b)
    everything = nx.Graph(graph)
    everything.add_edges_from((element.a, element.b) for element in elements)
    return len(elements) > 0 and nx.number_connected_components(graph) == nx.number_connected_components(
        everything
    )


def source_value(element: Element, t: float) -> float:
    offset, amplitude, frequency, phase = element.values
    return offset + amplitude * np.sin(frequency * t + phase)


def conduction(element: Element, u: float) -> tuple[float, float]:
    """Current and its derivative."""
    if element.letter == "R":
        return u / element.values[0], 1 / element.values[0]
    if element.letter == "D":
        saturation, thermal, leakage = element.values
        e = u / thermal
        # The exponential goes on as a straight line from an exponent of 40.
        grown = np.exp(min(e, 40.0))
        value = grown * (1 + max(e - 40.0, 0.0))
        return saturation * (value - 1) + leakage * u, saturation * grown / thermal + leakage
    if element.letter == "N":
        g, cubic = element.values
        return g * u + cubic * u**3, g + 3 * cubic * u**2
    g, saturation, steep = element.values
    return g * u + saturation * np.tanh(steep * u), g + saturation * steep / np.cosh(steep * u) ** 2


def descriptor(circuit: Circuit) -> tuple[Descriptor, dict[int, int], dict[int, int]]:
    """The equations of the nodes, with the places of potentials and of currents of branches."""
    elements = circuit.elements
    graph = nx.Graph((element.a, element.b) for element in elements)
    pinned = {min(component) for component in nx.connected_components(graph)}
    place = {node: k for k, node in enumerate(sorted(set(graph) - pinned))}
    branch = {k: 0 for k, element in enumerate(elements) if element.letter in "VL"}
    branch = {k: len(place) + i for i, k in enumerate(branch)}
    n = len(place) + len(branch)
    mass, linear, start = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)

    def stamp(matrix: np.ndarray, element: Element, value: float) -> None:
        for row, sign in ((element.a, 1), (element.b, -1)):
            for column, other in ((element.a, 1), (element.b, -1)):
                if row in place and column in place:
                    matrix[place[row], place[column]] += sign * other * value

    for k, element in enumerate(elements):
        if element.letter == "C":
            stamp(mass, element, element.values[0])
        if element.letter in "VL":
            row = branch[k]
            for node, sign in ((element.a, 1), (element.b, -1)):
                if node in place:
                    linear[place[node], row] -= sign
                    linear[row, place[node]] += sign
        if element.letter == "L":
            mass[branch[k], branch[k]] = element.values[0]
            start[branch[k]] = element.start
    nonlinear = [element for element in elements if element.letter in "RDNS"]

    def voltage(element: Element, z: np.ndarray) -> float:
        return sum(s * z[place[node]] for node, s in ((element.a, 1), (element.b, -1)) if node in place)

    def function(t: float, z: np.ndarray) -> np.ndarray:
        value = linear @ z
        for element in nonlinear:
            _inject(value, place, element, -conduction(element, voltage(element, z))[0])
        for k, element in enumerate(elements):
            if element.letter == "I":
                _inject(value, place, element, -source_value(element, t))
            if element.letter == "V":
                value[branch[k]] -= source_value(element, t)
        return value

    def jacobian(t: float, z: np.ndarray) -> np.ndarray:
        matrix = linear.copy()
        for element in nonlinear:
            stamp(matrix, element, -conduction(element, voltage(element, z))[1])
        return matrix

    # Potentials that give the capacitors their start values, as far as M sees them.
    capacitors = [element for element in elements if element.letter == "C"]
    if capacitors:
        rows = np.zeros((len(capacitors), n))
        for k, element in enumerate(capacitors):
            _inject(rows[k], place, element, 1.0)
        start[: len(place)] += np.linalg.lstsq(rows, np.array([e.start for e in capacitors]), rcond=None)[
            0
        ][: len(place)]
    return Descriptor(mass, function, jacobian, start), place, branch


def _inject(vector: np.ndarray, place: Mapping[int, int], element: Element, value: float) -> None:
    if element.a in place:
        vector[place[element.a]] += value
    if element.b in place:
        vector[place[element.b]] -= value


@lru_cache(maxsize=512)
def reference(circuit: Circuit, times: tuple[float, ...]) -> tuple[list, list, tuple[list, list]]:
    """Voltages and currents of all elements after the first time, and how far they can be trusted."""
    system, place, branch = descriptor(circuit)
    solution = integrate(system, np.array(times))
    voltages, currents, doubts = [], [], ([], [])
    for k, element in enumerate(circuit.elements):
        u, u_slope = (_difference(array, place, element) for array in (solution.z, solution.slope))
        u_doubt, slope_doubt = _doubt(solution, place, element)
        doubt = u_doubt
        if k in branch:
            i = solution.z[:, branch[k]]
            doubt = solution.z_error[branch[k]]
        elif element.letter == "C":
            i, doubt = element.values[0] * u_slope, element.values[0] * slope_doubt
        elif element.letter == "I":
            i, doubt = np.array([source_value(element, t) for t in times[1:]]), 0.0
        else:
            both = [conduction(element, value) for value in u]
            i = np.array([value for value, _ in both])
            doubt = u_doubt * max(slope for _, slope in both)
        voltages.append(u)
        currents.append(i)
        doubts[0].append(u_doubt)
        doubts[1].append(doubt)
    return voltages, currents, doubts


def _difference(array: np.ndarray, place: Mapping[int, int], element: Element) -> np.ndarray:
    zero = np.zeros(len(array))
    a, b = (array[:, place[node]] if node in place else zero for node in (element.a, element.b))
    return a - b


def _doubt(solution: Trajectory, place: Mapping[int, int], element: Element) -> tuple[float, float]:
    ends = [place[node] for node in (element.a, element.b) if node in place]
    return float(sum(solution.z_error[ends])), float(sum(solution.slope_error[ends]))


def with_starts(circuit: Circuit, draw: np.random.Generator | None = None) -> Circuit:
    """Consistent start values for all capacitors and inductors.

    Potentials fit the sources of voltage, currents fit the nodes. Those that others determine need no
    `init`; whether they have one is kept.
    """
    elements = circuit.elements
    nodes = sorted({node for element in elements for node in (element.a, element.b)})
    row = {node: k for k, node in enumerate(nodes)}
    draw = np.random.default_rng(0) if draw is None else draw
    incidence = np.zeros((len(nodes), len(elements)))
    for k, element in enumerate(elements):
        incidence[row[element.a], k], incidence[row[element.b], k] = 1.0, -1.0
    voltage = [k for k, e in enumerate(elements) if e.letter == "V"]
    current = [k for k, e in enumerate(elements) if e.letter == "I"]
    other = [k for k in range(len(elements)) if k not in current]
    potentials = draw.uniform(-1, 1, len(nodes))
    if voltage:
        wanted = np.array([source_value(elements[k], 0.0) for k in voltage])
        a = incidence[:, voltage].T
        potentials += np.linalg.lstsq(a, wanted - a @ potentials, rcond=None)[0]
    flows = draw.uniform(-1, 1, len(other))
    demand = -incidence[:, current] @ np.array([source_value(elements[k], 0.0) for k in current])
    flows += np.linalg.lstsq(incidence[:, other], demand - incidence[:, other] @ flows, rcond=None)[0]
    changed = list(elements)
    dependent = dependent_states(elements)
    for k, element in enumerate(elements):
        if element.letter in "CL":
            start = potentials @ incidence[:, k] if element.letter == "C" else flows[other.index(k)]
            changed[k] = replace(element, start=float(start), init=element.init or k not in dependent)
    return replace(circuit, elements=tuple(changed))


def dependent_states(elements: tuple[Element, ...]) -> set[int]:
    """Capacitors that close a loop with others and sources of voltage; inductors that span the cut sets."""
    found = set()
    loops = nx.utils.UnionFind()
    for element in elements:
        if element.letter == "V":
            loops.union(element.a, element.b)
    for k, element in enumerate(elements):
        if element.letter == "C":
            if loops[element.a] == loops[element.b]:
                found.add(k)
            loops.union(element.a, element.b)
    cuts = nx.utils.UnionFind()
    for element in elements:
        if element.letter not in "LI":
            cuts.union(element.a, element.b)
    for k, element in enumerate(elements):
        if element.letter == "L":
            if cuts[element.a] != cuts[element.b]:
                found.add(k)
            cuts.union(element.a, element.b)
    return found


def _values(letter: str, draw: np.random.Generator, stiff: bool) -> tuple[float, ...]:
    def between(low: float, high: float) -> float:
        return float(f"{np.exp(draw.uniform(np.log(low), np.log(high))):.3g}")

    if letter in "VI":
        return (
            between(0.1, 2.0) * float(draw.choice([-1, 0, 1])),
            between(0.3, 3.0),
            between(2.0, 12.0),
            between(0.1, 3.0),
        )
    return {
        "R": lambda: (between(1e-2, 1e3) if stiff else between(0.2, 5.0),),
        "C": lambda: (between(1e-3, 1.0) if stiff else between(0.05, 1.0),),
        "L": lambda: (between(1e-3, 1.0) if stiff else between(0.05, 1.0),),
        "D": lambda: (between(1e-9, 1e-5), between(0.025, 0.1), between(1e-6, 1e-3)),
        "N": lambda: (between(0.05, 2.0), between(0.05, 2.0)),
        "S": lambda: (between(0.05, 1.0), between(0.1, 1.0), between(1.0, 10.0)),
    }[letter]()


def circuit(rng: np.random.Generator, draw: np.random.Generator) -> Part:
    while True:
        candidate = _ladder(rng, draw) if rng.random() < 0.15 else _random(rng, draw)
        if is_well_posed(candidate.elements):
            candidate = with_starts(candidate, draw)
            try:
                reference(candidate, tuple(np.linspace(0, STOP, 61)))
            except NoSolution:
                continue
            return candidate


def _random(rng: np.random.Generator, draw: np.random.Generator) -> Circuit:
    """A tree of elements with more of them across it."""
    weights = {"R": 5, "C": 3, "L": 2, "V": 1.5, "I": 1, "D": 1.5, "N": 0.7, "S": 0.7}
    if rng.random() < 0.3:
        weights |= {"D": 0, "N": 0, "S": 0}
    probabilities = np.array(list(weights.values())) / sum(weights.values())
    count = int(rng.integers(3, 7))
    edges = [(int(rng.integers(node)), node) for node in range(1, count)]
    for _ in range(int(rng.integers(1, 5))):
        a, b = rng.choice(count, 2, replace=False)
        edges.append((int(a), int(b)))
    if rng.random() < 0.15:  # a second circuit without ground
        edges += [(100, 101), (101, 102), (100, 102)]
    letters = [str(letter) for letter in rng.choice(list(weights), len(edges), p=probabilities)]
    letters[int(rng.integers(len(edges)))] = "V"
    stiff = bool(rng.random() < 0.3)
    redundant = bool(rng.random() < 0.4)
    elements = []
    for (a, b), letter in zip(edges, letters, strict=True):
        a, b = (a, b) if rng.random() < 0.5 else (b, a)
        elements.append(Element(letter, a, b, _values(letter, draw, stiff), init=redundant))
    return Circuit(tuple(elements))


def _ladder(rng: np.random.Generator, draw: np.random.Generator) -> Circuit:
    """A source, n series elements of one kind, n shunt elements of another: two component arrays."""
    n = int(rng.integers(2, 7))
    series, shunt = (str(rng.choice(list(letters))) for letters in ("RRLND", "CRCNS"))
    if (series, shunt) == ("L", "R"):
        shunt = "C"
    elements = [Element("V", 1, 0, _values("V", draw, False))]
    elements += [Element(series, k + 1, k + 2, _values(series, draw, False)) for k in range(n)]
    elements += [Element(shunt, k + 2, 0, _values(shunt, draw, False)) for k in range(n)]
    return Circuit(tuple(elements), ladder=n)
