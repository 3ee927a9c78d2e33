"""Models from published netlists: components of Modelica's library by class, values and connections."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from modia_py import Guess, Model, connect
from modia_py.models import blocks, electrical, rotational, thermal, translational

LIBRARIES = {
    "Rotational": rotational,
    "Translational": translational,
    "Electrical": electrical,
    "Semiconductors": electrical,
    "HeatTransfer": thermal,
}
SHOWS = ("RealValue",)
"""Components that only display."""
Values = Mapping[str, Any]


def netlist_model(
    netlist: Mapping[str, Any],
    utilities: Mapping[str, Callable[..., Model]] | None = None,
    known: Values | None = None,
    values: Mapping[str, Values] | None = None,
    without: Sequence[str] = (),
    start: Callable[[Model], Any] = lambda model: [],
) -> Model:
    """The model of a netlist.

    utilities  what classes are that are no components of ours
    known      names in values of the netlist that it does not define
    values     in place of those of the netlist, by component; None: not given
    without    components that are left out, with their connections
    start      equations of the start
    """
    names: dict[str, Any] = {"pi": np.pi, "sqrt": np.sqrt, "log": np.log, **(known or {})}
    for entry in netlist["parameters"]:
        if not re.fullmatch(r"\(\w+=\w+\)", entry["value"]):  # attributes only
            names.setdefault(entry["name"], _value(entry["value"], names))
    parts: dict[str, Any] = {}
    for entry in netlist["components"]:
        name, kind, text = entry["name"], entry["class"], (entry.get("with") or "").strip()
        if name in without or text.startswith("=") or kind.split(".")[-1] in SHOWS:
            continue
        given = _modifiers(text, names)
        names.setdefault(name, type("Values", (), {k: v for k, v in given.items() if k.isidentifier()}))
        given |= (values or {}).get(name, {})
        given = {key: value for key, value in given.items() if value is not None}
        parts[name] = _class_of(kind, utilities or {})(**given)
    pairs = [
        pair for pair in netlist["connections"] if not any(end.split(".")[0] not in parts for end in pair)
    ]
    return _Netlist(parts, pairs, start)


class _Netlist(Model):
    def __init__(self, parts: Mapping[str, Any], pairs: Any, start: Any):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self.pairs, self.start = pairs, start

    def equations(self) -> Any:
        joined = []
        for one, other in self.pairs:
            a, b = _end(self, one), _end(self, other)
            is_signal = hasattr(a, "shape")
            joined.append(a == b if is_signal else connect(a, b))
        return joined

    def initial_equations(self) -> Any:
        return self.start(self)


def _end(model: Model, path: str) -> Any:
    found: Any = model
    for name, index in re.findall(r"(\w+)(?:\[(\d+)\])?", path):
        found = getattr(found, name)
        found = found[int(index) - 1] if index else found
    return found


def _class_of(kind: str, utilities: Mapping[str, Any]) -> Any:
    name = kind.split(".")[-1]
    if name in utilities:
        return utilities[name]
    own = [library for word, library in LIBRARIES.items() if word in kind]
    return next(getattr(lib, name) for lib in (*own, blocks, *LIBRARIES.values()) if hasattr(lib, name))


def _modifiers(text: str, names: Values) -> dict[str, Any]:
    """`(R=2, v(start=1, fixed=true))` as {"R": 2, "v": 1}; what is not fixed is a guess."""
    found: dict[str, Any] = {}
    for part in _split(text[1:-1] if text.startswith("(") else ""):
        match = re.fullmatch(r"(\w+)\s*(?:\((.*)\))?\s*(?:=\s*(.*))?", part.strip(), re.S)
        assert match, part
        name, inner, value = match.groups()
        if value is not None:
            found[name] = _value(value, names)
        elif inner and "(" not in inner:
            attributes = _modifiers(f"({inner})", names)
            begin = attributes.get("start", 0.0)
            found[name] = begin if attributes.get("fixed") else Guess(begin)
    return found


def _split(text: str) -> list[str]:
    """At the commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def _value(text: str, names: Values) -> Any:
    text = re.sub(r"^\(\w+=[^)]*\)\s*=", "", text.strip()).strip()
    text = text.replace("Modelica.Constants.", "").replace("^", "**")
    text = re.sub(r"Modelica\.[\w.]+\.(\w+)", r'"\1"', text)
    text = text.replace("true", "True").replace("false", "False")
    if text.startswith("[") and ";" in text:
        text = f"[[{text[1:-1].replace(';', '],[')}]]"
    return eval(text.replace("{", "[").replace("}", "]"), {}, dict(names))  # our own data
