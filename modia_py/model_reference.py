"""A model named on the command line: `rod.py:HeatRod(1000)`, `package.module:Model`, `file_with_one.py`.

Sizes are Python arguments of a model's class, so the reference may call it, with literal arguments only:
nothing but the file itself is ever executed.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import did_you_mean
from .language.model import Model

REFERENCE = re.compile(r"(?P<place>.+?):(?P<call>[A-Za-z_]\w*\s*(\(.*\))?)", re.DOTALL)


class UsageError(Exception):
    """What was typed on the command line cannot be meant."""


@dataclass(frozen=True)
class Reference:
    """Where a model is, the name of its class (if given), and the arguments to make it with."""

    place: str
    name: str | None = None
    positional: tuple[Any, ...] = ()
    keywords: tuple[tuple[str, Any], ...] = ()


def parse_reference(text: str) -> Reference:
    """
    >>> parse_reference("rod.py:HeatRod(1000, G=2.5)")
    Reference(place='rod.py', name='HeatRod', positional=(1000,), keywords=(('G', 2.5),))
    """
    match = REFERENCE.fullmatch(text)
    if match is None:
        if text.endswith(".py"):
            return Reference(text)
        raise UsageError(f"{text!r} does not name a model. Write FILE.py:Model or package.module:Model.")
    try:
        node = ast.parse(match["call"], mode="eval").body
        if isinstance(node, ast.Name):
            return Reference(match["place"], node.id)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError("not a call")
        positional = tuple(ast.literal_eval(value) for value in node.args)
        keywords = tuple(_keyword(keyword) for keyword in node.keywords)
    except (SyntaxError, ValueError):
        raise UsageError(
            f"{match['call']!r} is not a class with literal arguments, such as Ladder(1000, R=[1, 2])."
        ) from None
    return Reference(match["place"], node.func.id, positional, keywords)


def _keyword(keyword: ast.keyword) -> tuple[str, Any]:
    if keyword.arg is None:
        raise ValueError("**")
    return keyword.arg, ast.literal_eval(keyword.value)


def make_model(text: str) -> Model:
    """The model a reference names. Errors of the user's own code are not caught."""
    reference = parse_reference(text)
    module = _load(reference.place)
    factory = _find(module, reference)
    if isinstance(factory, Model):
        if reference.positional or reference.keywords:
            raise UsageError(f"{reference.name} is a model already and takes no arguments.")
        return factory
    keywords = dict(reference.keywords)
    signature = _signature(factory)
    try:
        signature.bind(*reference.positional, **keywords)
    except TypeError as error:
        raise UsageError(
            f"{reference.name}{signature} cannot be made with these arguments: {error}."
        ) from None
    model = factory(*reference.positional, **keywords)
    if not isinstance(model, Model):
        raise UsageError(f"{reference.name} makes a {type(model).__name__}, not a Model.")
    return model


def _signature(factory: Any) -> inspect.Signature:
    """What a model is made with: arguments of `__init__`, which a class of models takes as they are."""
    if not isinstance(factory, type):
        return inspect.signature(factory)
    signature = inspect.signature(factory.__init__)  # type: ignore[misc]
    return signature.replace(parameters=[*signature.parameters.values()][1:])


def _load(place: str) -> ModuleType:
    if place.endswith(".py") or os.sep in place:
        return _load_file(Path(place))
    if "" not in sys.path:
        sys.path.insert(0, "")  # the current folder, as with `python -m`
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is None or not (place == error.name or place.startswith(f"{error.name}.")):
            raise  # something that the module itself imports
        hint = f" Did you mean {place}.py?" if Path(f"{place}.py").exists() else ""
        raise UsageError(f"There is no module {place!r}.{hint}") from None


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        folder = path.parent
        near = [str(folder / other.name) for other in folder.glob("*.py")] if folder.is_dir() else []
        proposal = f" {did_you_mean(str(path), near)}" if near else ""
        raise UsageError(f"There is no file {path}.{proposal}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file.")
    sys.path.insert(0, str(path.resolve().parent))  # its neighbours, as with `python FILE.py`
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def _find(module: ModuleType, reference: Reference) -> Any:
    models = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Model) and value.__module__ == module.__name__
    ]
    if reference.name is None:
        if len(models) == 1:
            return getattr(module, models[0])
        listed = f"one of {', '.join(models)}" if models else "none was found"
        raise UsageError(f"Which model of {reference.place}? Write {reference.place}:Model ({listed}).")
    found = getattr(module, reference.name, None)
    if found is None:
        proposal = did_you_mean(reference.name, models) if models else "It defines no models."
        raise UsageError(f"{reference.place} has no {reference.name!r}. {proposal}")
    if not callable(found) and not isinstance(found, Model):
        raise UsageError(f"{reference.name} of {reference.place} is not a model.")
    return found
