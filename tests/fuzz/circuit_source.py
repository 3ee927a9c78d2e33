"""The Python text of a circuit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .circuits import Circuit, Element

IMPORT = "from modia_py.models.electrical import Capacitor, Ground, Inductor, Resistor, TwoPin\n"

CLASSES = {
    "V": """\
class @SineVoltage(TwoPin):
    source = Par([0.0, 1.0, 1.0, 0.0])

    def equations(self):
        offset, amplitude, frequency, phase = (self.source[..., k] for k in range(4))
        return [*super().equations(), self.u == offset + amplitude * np.sin(frequency * time + phase)]
""",
    "I": """\
class @SineCurrent(TwoPin):
    source = Par([0.0, 1.0, 1.0, 0.0])

    def equations(self):
        offset, amplitude, frequency, phase = (self.source[..., k] for k in range(4))
        return [*super().equations(), self.i == offset + amplitude * np.sin(frequency * time + phase)]
""",
    "D": """\
class @Diode(TwoPin):
    saturation = Par(1e-6)
    thermal = Par(0.025, nonzero=True)
    leakage = Par(1e-6)

    def equations(self):
        e = self.u / self.thermal
        exponential = np.exp(np.minimum(e, 40.0)) * (1 + np.maximum(e - 40.0, 0.0))
        return [*super().equations(), self.i == self.saturation * (exponential - 1) + self.leakage * self.u]
""",
    "N": """\
class @Cubic(TwoPin):
    g = Par(1.0)
    cubic = Par(1.0)

    def equations(self):
        return [*super().equations(), self.i == self.g * self.u + self.cubic * self.u**3]
""",
    "S": """\
class @Saturating(TwoPin):
    g = Par(1.0)
    saturation = Par(1.0)
    steep = Par(1.0)

    def equations(self):
        law = self.g * self.u + self.saturation * np.tanh(self.steep * self.u)
        return [*super().equations(), self.i == law]
""",
}
NAMES = {
    "R": ("Resistor", ["R"]),
    "C": ("Capacitor", ["C"]),
    "L": ("Inductor", ["L"]),
    "V": ("@SineVoltage", ["source"]),
    "I": ("@SineCurrent", ["source"]),
    "D": ("@Diode", ["saturation", "thermal", "leakage"]),
    "N": ("@Cubic", ["g", "cubic"]),
    "S": ("@Saturating", ["g", "saturation", "steep"]),
}
STATE = {"C": "u", "L": "i"}


def _classes(circuit: Circuit, name: str) -> list[str]:
    letters = sorted({element.letter for element in circuit.elements} & set(CLASSES))
    return [IMPORT, *(CLASSES[letter].replace("@", name) for letter in letters)]


def _call(element: Element, name: str) -> str:
    cls, parameters = NAMES[element.letter]
    if element.letter in "VI":
        arguments = [f"source={list(element.values)}"]
    else:
        arguments = [
            f"{parameter}={value!r}" for parameter, value in zip(parameters, element.values, strict=True)
        ]
    if element.init and element.letter in STATE:
        arguments.append(f"{STATE[element.letter]}={element.start!r}")
    return f"{cls}({', '.join(arguments)})".replace("@", name)


def circuit_text(circuit: Circuit, name: str) -> str:
    """One component for each element; node 0 is grounded."""
    components = circuit.names()
    lines = [f"class {name}(Model):"]
    lines += [
        f"    {component} = {_call(element, name)}"
        for component, element in zip(components, circuit.elements, strict=True)
    ]
    pins: dict[int, list[str]] = {}
    for component, element in zip(components, circuit.elements, strict=True):
        pins.setdefault(element.a, []).append(f"self.{component}.p")
        pins.setdefault(element.b, []).append(f"self.{component}.n")
    if 0 in pins:
        lines.append("    ground = Ground()")
        pins[0].append("self.ground.p")
    connections = [
        f"            connect({', '.join(joined)})," for joined in pins.values() if len(joined) > 1
    ]
    lines += ["", "    def equations(self):", "        return [", *connections, "        ]", ""]
    return "\n\n".join([*_classes(circuit, name), "\n".join(lines)])


def _array_call(elements: tuple[Element, ...], name: str) -> str:
    cls, parameters = NAMES[elements[0].letter]
    arguments = [
        f"{parameter}={[element.values[k] for element in elements]}"
        for k, parameter in enumerate(parameters)
    ]
    if elements[0].letter in STATE and all(element.init for element in elements):
        arguments.append(f"{STATE[elements[0].letter]}={[element.start for element in elements]}")
    return f"{cls}.array({len(elements)}, {', '.join(arguments)})".replace("@", name)


def ladder_text(circuit: Circuit, name: str) -> str:
    """Series and shunt elements as component arrays."""
    n = circuit.ladder
    lines = [
        f"class {name}(Model):",
        f"    source = {_call(circuit.elements[0], name)}",
        f"    series = {_array_call(circuit.elements[1 : n + 1], name)}",
        f"    shunt = {_array_call(circuit.elements[n + 1 :], name)}",
        "    ground = Ground()",
        "",
        "    def equations(self):",
        "        return [",
        "            connect(self.source.p, self.series[0].p),",
        "            connect(self.series[:-1].n, self.series[1:].p),",
        "            connect(self.series.n, self.shunt.p),",
        "            connect(self.shunt.n, self.source.n, self.ground.p),",
        "        ]",
        "",
    ]
    return "\n\n".join([*_classes(circuit, name), "\n".join(lines)])
