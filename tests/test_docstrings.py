"""Every public name has a docstring in numpydoc that says what its signature has, and nothing else."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import modia_py
import modia_py.arrays
import modia_py.models
import modia_py.solvers
from modia_py.inspection.linearize import Linearization
from modia_py.language.components import Component
from modia_py.results.animation import Animation
from modia_py.results.result import ResultVariable, RunStatistics
from modia_py.results.statistics import Certificate

PACKAGES = (modia_py, modia_py.solvers, modia_py.arrays)
RETURNED = (Animation, Certificate, Linearization, ResultVariable, RunStatistics)
"""What public functions give and no package exports."""
LIKE_NUMPY = "modia_py.expressions.array_interface"
"""Methods of expressions that are those of numpy's arrays, described there: `x.sum(axis=0)`, `x.T`."""
LIBRARIES = tuple(
    importlib.import_module(name)
    for _, name, is_package in pkgutil.walk_packages(modia_py.models.__path__, "modia_py.models.")
    if not is_package and not name.endswith(".demo")
)

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
KNOWN_SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Warns", "Notes", "Examples")


@dataclass(frozen=True)
class Docstring:
    """The summary, and the text of each section."""

    summary: str
    sections: dict[str, str]

    def names(self, section: str) -> set[str]:
        """What a section describes: lines such as `t0, t1 : float` or `*names : str`."""
        lines = self.sections.get(section, "").splitlines()
        heads = [line.split(" : ")[0] for line in lines if line and not line.startswith(" ")]
        return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def parse(thing: Any) -> Docstring:
    # A class without a docstring must not show that of its base.
    text = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    parts = SECTION.split(inspect.cleandoc(text or ""))
    sections = {name: body.strip("\n") for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    return Docstring(parts[0].strip().split("\n\n")[0], sections)


def exported() -> Iterator[tuple[str, Any]]:
    for package in PACKAGES:
        for name in package.__all__:
            yield f"{package.__name__}.{name}", getattr(package, name)
    for returned in RETURNED:
        yield returned.__name__, returned


def members() -> Iterator[tuple[str, Any]]:
    """Public methods and properties, inherited ones too, as far as they are written in modia_py."""
    for owner, thing in exported():
        if not isinstance(thing, type):
            continue
        for name in dir(thing):
            member = inspect.getattr_static(thing, name)
            function = getattr(member, "__func__", getattr(member, "fget", getattr(member, "func", member)))
            if name.startswith("_") or not inspect.isfunction(function):
                continue
            if function.__module__.startswith("modia_py") and function.__module__ != LIKE_NUMPY:
                yield f"{owner}.{name}", member


NAMES = {name: thing for name, thing in exported() if name != "modia_py.time"}  # an expression, no function
FUNCTIONS = {name: thing for name, thing in NAMES.items() if inspect.isfunction(thing)}
CLASSES = {name: thing for name, thing in NAMES.items() if isinstance(thing, type)}
METHODS = {name: getattr(m, "__func__", m) for name, m in members() if not hasattr(m, "fget")}
METHODS = {name: method for name, method in METHODS.items() if inspect.isfunction(method)}


def parameters_of(function: Any) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self", "cls"}


@pytest.mark.parametrize("name", [*NAMES, *(name for name, _ in members())])
def test_it_has_a_summary_and_known_sections(name):
    found = parse({**NAMES, **dict(members())}[name])
    assert found.summary, f"{name} has no docstring"
    first = found.summary.splitlines()
    assert len(first) == 1, f"the summary of {name} is longer than a line"
    assert first[0].endswith((".", ":")), f"the summary of {name} is no sentence"
    assert set(found.sections) <= set(KNOWN_SECTIONS), name


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_parameters_and_returns_are_those_of_the_signature(name):
    function = {**FUNCTIONS, **METHODS}[name]
    found, signature = parse(function), inspect.signature(function)
    assert found.names("Parameters") == parameters_of(function), name
    returns = signature.return_annotation not in (None, "None", inspect.Signature.empty)
    assert ("Returns" in found.sections) == returns, name


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_describes_what_it_is_made_from(name):
    """As Parameters where a user makes it, as Attributes where it is given."""
    owner = CLASSES[name]
    found = parse(owner)
    parameters, attributes = found.names("Parameters"), found.names("Attributes")
    if issubclass(owner, BaseException) and "__init__" not in vars(owner):
        made_from = set()
    elif hasattr(owner, "__members__"):  # an enum is chosen from, not made
        made_from = set()
        assert attributes == set(owner.__members__), name
    else:
        made_from = parameters_of(owner.__new__ if issubclass(owner, tuple) else owner.__init__) - {"_cls"}
    hidden = {parameter for parameter in made_from if parameter.startswith("_")}
    assert made_from - hidden - attributes <= parameters, name
    assert parameters <= made_from, name


def test_the_main_names_have_an_example_that_runs():
    without = [
        name
        for name in modia_py.__all__
        if name != "time" and ">>> " not in parse(getattr(modia_py, name)).sections.get("Examples", "")
    ]
    assert not without


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda module: module.__name__)
def test_components_are_described(library):
    for name, thing in vars(library).items():
        if (
            isinstance(thing, type)
            and issubclass(thing, Component)
            and thing.__module__ == library.__name__
        ):
            found = parse(thing)
            assert found.summary, name
            if "__init__" in vars(thing):
                # Values without a name are taken only to be refused with a sentence.
                known = parameters_of(thing.__init__) - {"values"}
                assert found.names("Parameters") == known, name
