"""Known names that are meant by one that is not: near spellings, other indices, words of other tools."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

MOST = 3
INDICES = re.compile(r"\[[^\]]*\]")
DERIVATIVE = re.compile(r"(?:der\d*|pre)\((.*)\)")

ELSEWHERE = {
    "abstol": ("atol",),
    "alg": ("method",),
    "algorithm": ("method",),
    "comment": ("doc",),
    "controls": ("inputs",),
    "default": ("value", "init"),
    "description": ("doc",),
    "dim": ("shape",),
    "dims": ("shape",),
    "dt": ("times",),
    "duration": ("stop_time",),
    "fixed": ("init", "guess"),
    "ic": ("init",),
    "initial": ("init",),
    "integrator": ("method",),
    "max": (),
    "maxsteps": ("max_steps",),
    "maximum": (),
    "min": (),
    "minimum": (),
    "n": ("shape",),
    "npoints": ("times",),
    "p": ("params",),
    "parameters": ("params",),
    "reltol": ("rtol",),
    "saveat": ("times",),
    "size": ("shape",),
    "solver": ("method",),
    "start": ("init", "guess"),
    "starttime": ("start_time",),
    "startvalue": ("init", "guess"),
    "step": ("times",),
    "stop": ("stop_time",),
    "t0": ("start_time",),
    "tend": ("stop_time",),
    "teval": ("times",),
    "tf": ("stop_time",),
    "tfinal": ("stop_time",),
    "tol": ("rtol", "atol"),
    "tolerance": ("rtol", "atol"),
    "tspan": ("stop_time", "start_time"),
    "u": ("inputs",),
    "u0": ("init",),
    "units": ("unit",),
    "value": ("init",),
    "x0": ("init",),
    "y0": ("init",),
}
"""What arguments are called in Modelica, ModelingToolkit and scipy, and here; nothing: there is none."""


def argument_meant(name: str, known: Sequence[str]) -> list[str] | None:
    """The arguments that are meant by a word of other tools; None if it is no such word.

    >>> argument_meant("start", ["shape", "init", "guess"])
    ['init', 'guess']
    """
    meant = ELSEWHERE.get(name.lower().replace("_", ""))
    if meant is None:
        return None
    return [each for each in meant if each in known] or (None if meant else [])


def near_names(name: str, known: Sequence[str]) -> list[str]:
    """The known names that are nearest to a name, indices and letters' case aside.

    >>> near_names("J[0].W", ["J[0].w", "J[1].w", "s[0].c"])
    ['J[0].w', 'J[1].w']
    """
    derivative = DERIVATIVE.fullmatch(name)
    name = derivative[1] if derivative else name
    plain = _plain(name)
    same = [candidate for candidate in known if _plain(candidate) == plain]
    if same:  # that of the same index first
        return sorted(same, key=lambda candidate: candidate.lower() != name.lower())[:MOST]
    near: list[str] = []
    for wanted in dict.fromkeys((name, INDICES.sub("", name))):
        near += difflib.get_close_matches(wanted, known, n=MOST, cutoff=0.6)
    if not near:  # the user may have left out, or invented, part of the path
        last = plain.rpartition(".")[2]
        near = [candidate for candidate in known if candidate.lower().rpartition(".")[2] == last]
    return list(dict.fromkeys(near))[:MOST]


def _plain(name: str) -> str:
    return INDICES.sub("", name).lower()


def list_text(name: str, known: Sequence[str]) -> str:
    """What to say where a list of components, whose members have names of their own, is taken for an array.

    >>> list_text("J[0:2].w", ["J[0].w", "J[1].w"])
    ' J is a list: its members have names of their own, J[0] to J[1]; only Cls.array(n) has slices.'
    """
    segments = name.split(".")
    for k, segment in enumerate(segments):
        path = ".".join([*segments[:k], INDICES.sub("", segment)])
        member = re.compile(re.escape(path) + r"\[(\d+)\]")
        numbers = {int(found[1]) for found in map(member.match, known) if found}
        asked = member.match(name)
        if numbers and not (asked and int(asked[1]) in numbers):
            return (
                f" {path} is a list: its members have names of their own, {path}[0] to "
                f"{path}[{max(numbers)}]; only Cls.array(n) has slices."
            )
    return ""
