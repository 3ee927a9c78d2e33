"""`translate`: from a model to something that can be simulated. The passes in order.

Translating a model of the same class with the same sizes again costs only its elaboration: what was found
before is found again by the model's fingerprint, and nothing is compiled twice.
"""

from __future__ import annotations

import time as clock
import warnings
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from .arrays.structure import Integers
from .arrays.transform import SingularStructure, Transformation, transform
from .compiled_model import CompiledModel
from .errors import ModelError, ModelWarning, StructureError
from .interruptions import Interruptible, check_process
from .language.elaborate import elaborate
from .language.flat_model import FlatModel
from .language.model import Model
from .lowering.index1_functions import Index1Functions, index1_functions
from .lowering.model_structure import ModelStructure, model_structure
from .lowering.planned import with_plans
from .lowering.switched_constraints import switched_constraints
from .lowering.value_map import value_map
from .program.fingerprint import fingerprint
from .program.translation import Translation

MOST_PIECES = 60
"""Pieces of program for assignments, one for each kind of equation in each stage, with tearing="auto"."""
MOST_TRANSLATIONS = 32
"""Translations that are remembered; the one not used for longest is forgotten first."""

_translations: OrderedDict[tuple, tuple[Translation, list[Any]]] = OrderedDict()


def translate(
    model: Model | FlatModel, *, tearing: bool | str = "auto", check: bool = False
) -> CompiledModel:
    """Transform a model to its special index-1 form and make it ready for simulation.

    Parameters
    ----------
    model : Model or FlatModel
        An instance of a model class, or what `elaborate` has made of one.
    tearing : bool or "auto"
        True: assign all variables that can be; False: none, everything stays in the sparse system;
        "auto": assign, but without long chains of assignments, and nothing where assignments of very many
        kinds would make a program that takes long to compile.
    check : bool
        Validate the result of every pass; slower.

    Returns
    -------
    CompiledModel
        To be simulated, as often as wanted, and looked into. What is compiled is kept with it.

    Raises
    ------
    ModelError
        If the model is wrong: a name, a shape, a value, a connection.
    StructureError
        If the equations cannot determine the variables; the text names those that are too many or too few.
    SimulationInterrupted
        If the user interrupts (Ctrl-C).

    Warns
    -----
    ModelWarning
        If something is legal and probably not meant: nothing determines a potential, a ground is missing.

    Examples
    --------
    >>> from modia_py import translate
    >>> from modia_py.models.examples import Pendulum
    >>> sim = translate(Pendulum())
    >>> sim  # doctest: +ELLIPSIS
    CompiledModel(Pendulum: x: 6 scalars in 4 slots (2 state, 1 lambda, 1 mu); rows: ...)
    """
    if not isinstance(tearing, bool) and tearing != "auto":
        raise ModelError(f'tearing is True, False or "auto", not {tearing!r}.')
    check_process()
    with Interruptible("The translation"):
        flat = model if isinstance(model, FlatModel) else _elaborated(model)
        translation = _known_translation(flat, tearing, check)
    for text in translation.warnings:
        warnings.warn(text, ModelWarning, stacklevel=2)
    return CompiledModel(flat, translation, lambda flat: _known_translation(flat, tearing, check))


def _known_translation(flat: FlatModel, tearing: bool | str, check: bool) -> Translation:
    key, alive = fingerprint(flat)
    key = (key, tearing)
    if key in _translations and not check:
        _translations.move_to_end(key)
        return _translations[key][0]
    translation = _translation(flat, tearing, check)
    _translations[key] = translation, alive
    if len(_translations) > MOST_TRANSLATIONS:
        _translations.popitem(last=False)
    return translation


def _elaborated(model: Any) -> FlatModel:
    if isinstance(model, type) and issubclass(model, Model):
        raise ModelError(f"{model.__name__} is a class: give an instance, {model.__name__}().")
    if not isinstance(model, Model):
        raise ModelError(f"translate needs a Model, not {type(model).__name__}.")
    return elaborate(model)


def _translation(flat: FlatModel, tearing: bool | str, check: bool) -> Translation:
    seconds = {}
    began = clock.perf_counter()
    if not flat.variables:
        raise StructureError(f"{flat.name} has no variables: there is nothing to simulate.")
    structure = model_structure(flat)
    seconds["structure"] = clock.perf_counter() - began
    began = clock.perf_counter()
    transformed = _transformed(flat, structure, tearing, check)
    switched = None
    if flat.discretes:
        switched = switched_constraints(structure, transformed, value_map(structure, transformed))
        if switched.any():
            transformed = _transformed(flat, structure, tearing, check, switched)
    seconds["transformation"] = clock.perf_counter() - began
    began = clock.perf_counter()
    functions = with_plans(structure, index1_functions(structure, transformed))
    if tearing == "auto" and functions.plans is None and _is_long(functions):
        note = f"nothing is assigned: {functions.pieces} pieces of program would take long to compile"
        transformed = replace(_transformed(flat, structure, False, check, switched), tearing=note)
        functions = with_plans(structure, index1_functions(structure, transformed))
    seconds["functions"] = clock.perf_counter() - began
    return Translation(structure, transformed, functions, seconds, switched)


def _is_long(functions: Index1Functions) -> bool:
    """Whether assignments make a program that takes longer to compile than a larger system to solve.

    With multipliers, gradients go back through all assignments: what the compiler sees is about three
    times as much.
    """
    return functions.pieces * (3 if functions.has_multipliers else 1) > MOST_PIECES


def _transformed(
    flat: FlatModel,
    structure: ModelStructure,
    tearing: bool | str,
    check: bool,
    switched: Integers | None = None,
) -> Transformation:
    try:
        return transform(
            structure.structure,
            structure.integers,
            structure.integer_rows,
            keep=structure.has_start,
            tearing=tearing,
            switched=switched,
            check=check,
        )
    except SingularStructure as singular:
        raise StructureError(f"{flat.name} cannot be solved. {singular}") from None
