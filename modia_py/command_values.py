"""What is typed on the command line, as values: `r.R=2.5`, `u=table.csv`, `0:10:0.1`; do names fit?

Errors cite what was typed. Nothing has been simulated yet when they are raised.
"""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .errors import ModiaError, did_you_mean
from .model_reference import UsageError
from .program.signals import make_signals
from .results.result import Result
from .source import written_at
from .start.values import Starts, start_values
from .studies.lane_runs import empty_result

INTERPOLATIONS = ("linear", "previous", "cubic", "akima")


@dataclass(frozen=True)
class Typed:
    """A name and a value, and the words that were typed for them."""

    words: str
    name: str
    value: Any


def assignments(option: str, texts: Iterable[str]) -> list[Typed]:
    """`name=value` with numbers or lists of numbers."""
    return [Typed(f"{option} {text}", *_assignment(text)) for text in texts]


def _assignment(text: str) -> tuple[str, Any]:
    name, equals, written = text.partition("=")
    try:
        value = ast.literal_eval(written.strip())
        np.asarray(value, dtype=np.float64)
    except (SyntaxError, ValueError, TypeError):
        equals = ""
    if not equals or not name.strip():
        raise UsageError(f"{text!r} is not NAME=VALUE with a number or a list, such as r.R=2.5.")
    return name.strip(), value


def input_assignments(texts: Iterable[str]) -> list[Typed]:
    """`u=2.5` or `u=table.csv`, with an interpolation if there is a comma behind the file."""
    found = []
    for text in texts:
        name, equals, written = (part.strip() for part in text.partition("="))
        if not (name and equals and written):
            raise UsageError(
                f"--input {text}: write NAME=TABLE.csv, NAME=TABLE.csv,previous or NAME=NUMBER."
            )
        file, _, interpolation = written.partition(",")
        if file.lower().endswith((".csv", ".txt", ".tsv")):
            value = _table(text, name, Path(file), interpolation.strip() or "linear")
        else:
            value = _assignment(text)[1]
        found.append(Typed(f"--input {text}", name, value))
    return found


def _table(text: str, name: str, file: Path, interpolation: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Times and values of a file: its first column, and the one named as the input, or all others."""
    if interpolation not in INTERPOLATIONS:
        raise UsageError(f"--input {text}: an interpolation is one of {', '.join(INTERPOLATIONS)}.")
    if not file.is_file():
        near = [str(other) for other in file.parent.glob(f"*{file.suffix}")] if file.parent.is_dir() else []
        hint = f" {did_you_mean(str(file), near)}" if near else ""
        raise UsageError(f"--input {text}: there is no file {file}.{hint}")
    content = file.read_text(encoding="utf-8-sig")
    delimiter = next((mark for mark in (";", "\t", ",") if mark in content), " ")
    lines = [
        (k, row) for k, row in enumerate(csv.reader(content.splitlines(), delimiter=delimiter), 1) if row
    ]
    header: list[str] = []
    if lines and not _numbers(lines[0][1]):
        header = [cell.strip() for cell in lines.pop(0)[1]]
    rows = [(k, _numbers(row)) for k, row in lines]
    for k, row in rows:
        if row is None or len(row) != len(rows[0][1] or ()) or len(row) < 2:
            raise UsageError(f"--input {text}: line {k} of {file} is not a time and values, all numbers.")
    if not rows:
        raise UsageError(f"--input {text}: {file} has no rows.")
    table = np.array([row for _, row in rows])
    values = table[:, 1:]
    if name in header[1:]:
        values = table[:, [header.index(name)]]
    return table[:, 0], values[:, 0] if values.shape[1] == 1 else values, interpolation


def _numbers(cells: Sequence[str]) -> list[float] | None:
    try:
        return [float(cell) for cell in cells if cell.strip()]
    except ValueError:
        return None


def times_of_output(text: str) -> np.ndarray:
    """
    >>> times_of_output("0, 0.5, 2"), times_of_output("0:1:0.25")
    (array([0. , 0.5, 2. ]), array([0.  , 0.25, 0.5 , 0.75, 1.  ]))
    """
    try:
        if ":" not in text:
            return np.array([float(part) for part in text.split(",")])
        first, last, step = (float(part) for part in text.split(":"))
        count = int(np.floor((last - first) / step * (1 + 1e-12) + 1e-9))
    except (ValueError, ZeroDivisionError, OverflowError):
        count = -1
    if count < 0:
        raise UsageError(f"--times {text}: write times, 0,0.5,2, or FIRST:LAST:STEP, 0:10:0.1.")
    return np.minimum(first + step * np.arange(count + 1), last)


def split_names(text: str) -> list[str]:
    """Names between commas, but not between those inside brackets.

    >>> split_names("s, c[0, 1].u,der(s)")
    ['s', 'c[0, 1].u', 'der(s)']
    """
    names, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    return [name.strip() for name in names if name.strip()]


@dataclass(frozen=True)
class Asked:
    """What a run is asked for, in words and values."""

    params: list[Typed]
    init: list[Typed]
    inputs: list[Typed]
    shown: list[str]

    def check(self, sim: Any, start: float, stop: float) -> None:
        """Refuse names that the model has not, and values that do not fit, before anything runs."""
        for typed in self.params:
            _refusing(typed, lambda typed=typed: sim._values.vector({typed.name: typed.value}))
        p = sim._values.vector(values_of(self.params))
        where = sim.translation.functions.value_map
        for typed in self.init:
            given = {typed.name: typed.value}
            _refusing(typed, lambda given=given: sim._values.vector(values_of(self.params), given))
            _refusing(typed, lambda given=given: start_values(sim._values, p, "init", Starts(given), where))
        known = {entry.name: np.zeros(entry.shape) for entry in sim.flat.inputs}
        for typed in self.inputs:
            given = {**known, typed.name: typed.value}
            _refusing(typed, lambda given=given: make_signals(sim.flat, given, start, stop))
        if missing := sorted(set(known) - {typed.name for typed in self.inputs}):
            raise UsageError(
                f"{sim.name} has the input{'s' * (len(missing) > 1)} {', '.join(missing)}: give a table, "
                f"--input {missing[0]}=table.csv, or a number, --input {missing[0]}=1.5."
            )
        if self.shown:
            program = sim.translation.program(make_signals(sim.flat, known, start, stop))
            names: Result = empty_result(sim, program)
            for name in self.shown:
                _refusing(Typed(f"--show {name}", name, None), lambda name=name: _found(names, name))


def _found(names: Result, pattern: str) -> None:
    for name in names.expand(pattern):
        names.find(name)


def _refusing(typed: Typed, act: Any) -> None:
    try:
        with written_at(typed.words):
            act()
    except ModiaError as error:
        # The place is named at the beginning already, and a start value has its own option here.
        text = str(error).replace(f" ({typed.words})", "")
        text = text.replace(f"init={{'{typed.name}': ...}}", f"--init {typed.name}=...")
        raise UsageError(f"{typed.words}: {text}") from None


def values_of(typed: Iterable[Typed]) -> dict[str, Any]:
    return {one.name: one.value for one in typed}
