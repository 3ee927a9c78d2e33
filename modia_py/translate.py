"""`translate`: from a model to something that can be simulated. The passes in order.

Translating a model of the same class with the same sizes again costs only its elaboration: what was found
before is found again by the model's fingerprint, and nothing is compiled twice.
"""

from __future__ import annotations

import time as clock
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .arrays.hints import NotInALoop
from .arrays.relaxing import CannotRelax
from .arrays.stages import ALL_ASSIGNED, chains_may_stay
from .arrays.structure import Integers
from .arrays.transform import SingularStructure, Transformation, transform
from .collector import collector_paused
from .compiled_model import CompiledModel
from .errors import ModelError, ModelWarning, StructureError, UnitWarning, names_checked
from .expressions.equation import HintKind
from .interruptions import Interruptible, check_process
from .language.elaborate import elaborate
from .language.flat_model import FlatModel
from .language.model import Model
from .language.unit_check import unit_conflicts
from .lowering.hint_nodes import TearPair, hinted_nodes, outside_hints
from .lowering.index1_functions import Index1Functions, index1_functions
from .lowering.model_structure import ModelStructure, model_structure
from .lowering.planned import with_plans
from .lowering.singular_circuits import circuit_hint
from .lowering.singular_components import component_hints
from .lowering.step_cost import step_cost
from .lowering.switched_constraints import switched_constraints
from .lowering.value_map import value_map
from .program.fingerprint import fingerprint
from .program.translation import Translation
from .source import user_level
from .studies.model_digest import model_digest
from .studies.sendable import Recipe
from .tear import checked_pairs, elements_of_name

MOST_PIECES = 60
"""Pieces of program for assignments, one for each kind of equation in each stage, with tearing="auto"."""
CHEAP_STEP = 30e-6
"""Seconds, about: where a step takes less, other forms are not tried."""
MOST_TRANSLATIONS = 32
"""Translations that are remembered; the one not used for longest is forgotten first."""

MOST_RECEIVED = 8
"""Models from other processes that are remembered."""

_received: dict[str, CompiledModel] = {}
_translations: OrderedDict[tuple, tuple[Translation, list[Any]]] = OrderedDict()


@dataclass(frozen=True)
class _Options:
    """What a translation depends on besides the model."""

    tearing: bool | str
    pairs: tuple[TearPair, ...]
    relaxing: bool | str
    check: bool


@names_checked
def translate(
    model: Model | FlatModel,
    *,
    tearing: bool | str = "auto",
    tear: Sequence[TearPair | str] = (),
    relaxing: bool | str = True,
    check: bool = False,
    check_units: bool = True,
) -> CompiledModel:
    """Transform a model to its special index-1 form and make it ready for simulation.

    Parameters
    ----------
    model : Model or FlatModel
        An instance of a model class, or what `elaborate` has made of one.
    tearing : bool or "auto"
        True: assign all variables that can be; False: none, everything stays in the sparse system;
        "auto": whichever makes a step cheaper, by the number of its operations; without long chains of
        assignments that one unknown is sent through, and nothing where assignments of very many kinds
        would make a program that takes long to compile. `report()` says what was done, and why.
    tear : sequence of pairs of str
        Hints from outside: (tear variable, residue equation) of algebraic loops; None names none. An
        equation is named "residue_x" if residue(x) stands in it, or by the variable that it determines. A
        single name is both.
    relaxing : bool or "reduce"
        Whether loops in which variables are relaxed are solved by elimination; False: as if nothing were.
        "reduce": what a loop leaves over without its relaxed variables is solved last, together.
    check : bool
        Validate the result of every pass; slower.
    check_units : bool
        Compare the units in each equation, where they are declared; warn (`UnitWarning`) if they differ.

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
    if not isinstance(relaxing, bool) and relaxing != "reduce":
        raise ModelError(f'relaxing is True, False or "reduce", not {relaxing!r}.')
    options = _Options(tearing, checked_pairs(tear), relaxing, check)
    if options.pairs and tearing is False:
        raise ModelError(
            "tear names what to vary in loops; with tearing=False nothing is assigned in them."
        )
    check_process()
    with Interruptible("The translation"), collector_paused():
        flat = model if isinstance(model, FlatModel) else _elaborated(model)
        translation = _known_translation(flat, options)
    for text in translation.warnings:
        warnings.warn(text, ModelWarning, stacklevel=user_level())
    for text in unit_conflicts(flat) if check_units else ():
        warnings.warn(text, UnitWarning, stacklevel=user_level())
    compiled = CompiledModel(flat, translation, lambda flat: _known_translation(flat, options))
    if isinstance(model, Model):
        arguments, named = model._arguments
        compiled.recipe = Recipe(
            _remade,
            type(model),
            arguments,
            named,
            {"tearing": tearing, "tear": options.pairs, "relaxing": relaxing},
        )
    return compiled


def _remade(
    model_class: type, arguments: tuple[Any, ...], named: dict[str, Any], options: dict, digest: str
) -> CompiledModel:
    """A model that was sent here from another process: made and translated again, once."""
    if digest not in _received:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # they were given where it comes from
            found = translate(model_class(*arguments, **named), **options)
        if model_digest(found.flat) != digest:
            raise ModelError(
                f"{model_class.__name__} is not the same model here: it was changed after it was made, or "
                f"workers have another version of its file. Give all values when it is made, or as params."
            )
        while len(_received) >= MOST_RECEIVED:
            _received.pop(next(iter(_received)), None)
        _received[digest] = found
    return _received[digest]


def _known_translation(flat: FlatModel, options: _Options) -> Translation:
    key, alive = fingerprint(flat)
    key = (key, options.tearing, options.pairs, options.relaxing)
    if key in _translations and not options.check:
        _translations.move_to_end(key)
        return _translations[key][0]
    translation = _translation(flat, options)
    _translations[key] = translation, alive
    if len(_translations) > MOST_TRANSLATIONS:
        _translations.popitem(last=False)
    return translation


def _elaborated(model: Any) -> FlatModel:
    if isinstance(model, type) and issubclass(model, Model):
        raise ModelError(f"{model.__name__} is a class: give an instance, {model.__name__}().")
    if isinstance(model, CompiledModel):
        raise ModelError(
            f"This model is translated already: {model.flat.name}; call its own simulate(...)."
        )
    if not isinstance(model, Model):
        raise ModelError(f"translate needs a Model, not {type(model).__name__}.")
    return elaborate(model)


def _translation(flat: FlatModel, options: _Options) -> Translation:
    seconds = {}
    began = clock.perf_counter()
    if not flat.variables:
        raise StructureError(f"{flat.name} has no variables: there is nothing to simulate.")
    structure = model_structure(flat)
    seconds["structure"] = clock.perf_counter() - began
    began = clock.perf_counter()
    transformed = _transformed(flat, structure, options)
    switched = None
    if flat.discretes:
        switched = switched_constraints(structure, transformed, value_map(structure, transformed))
        if switched.any():
            transformed = _transformed(flat, structure, options, switched)
    seconds["transformation"] = clock.perf_counter() - began
    began = clock.perf_counter()
    functions = with_plans(
        structure, index1_functions(structure, transformed), needed=bool(transformed.form.loops)
    )
    if functions.plans is None and transformed.form.loops:
        raise StructureError(
            f"{flat.name}: a loop with relaxed variables cannot be solved by elimination: "
            f"{functions.why_not_planned}. With relaxing=False it is solved with all other equations."
        )
    if options.tearing == "auto" and not (transformed.loops or transformed.form.loops):

        def other(tearing: bool) -> Form:
            form = _transformed(flat, structure, replace(options, tearing=tearing), switched)
            return form, with_plans(structure, index1_functions(structure, form))

        transformed, functions = _by_cost(transformed, functions, other)
    seconds["functions"] = clock.perf_counter() - began
    return Translation(structure, transformed, functions, seconds, switched)


Form = tuple[Transformation, Index1Functions]


def _by_cost(
    transformed: Transformation, functions: Index1Functions, other: Callable[[bool], Form]
) -> Form:
    """The form whose steps take least: as it is, with all assignments, or without any."""
    assigns = len(transformed.form.local_equations) > 0
    if functions.plans is None:
        if not assigns or not _is_long(functions):
            return transformed, functions
        note = f"nothing is assigned: {functions.pieces} pieces of program would take long to compile"
        transformed, functions = other(False)
        return replace(transformed, tearing=note), functions
    cost = step_cost(functions)
    if cost is None or cost <= CHEAP_STEP:
        return transformed, functions
    forms = [(cost, transformed, functions)]
    wanted = [True] if transformed.tearing != ALL_ASSIGNED else []
    for tearing in [*wanted, False] if assigns else wanted:
        form, made = other(tearing)
        cost = step_cost(made)
        if cost is not None and (not tearing or chains_may_stay(form.form, form.blocks)):
            note = ALL_ASSIGNED if tearing else "nothing is assigned"
            forms.append((cost, replace(form, tearing=note), made))
    forms.sort(key=lambda each: each[0])
    if len(forms) == 1:
        return transformed, functions
    (cost, transformed, functions), (more, _, instead) = forms[:2]
    note = (
        f"{transformed.tearing}: a step takes some {1e6 * cost:.0f} us by the number of its operations, "
        f"and {1e6 * more:.0f} us with {instead.size} unknowns"
    )
    return replace(transformed, tearing=note), functions


def _is_long(functions: Index1Functions) -> bool:
    """Whether assignments make a program that takes longer to compile than a larger system to solve.

    With multipliers, gradients go back through all assignments: what the compiler sees is about three
    times as much.
    """
    return functions.pieces * (3 if functions.has_multipliers else 1) > MOST_PIECES


def _transformed(
    flat: FlatModel, structure: ModelStructure, options: _Options, switched: Integers | None = None
) -> Transformation:
    outside = outside_hints(structure, options.pairs, lambda name: elements_of_name(flat, name))
    try:
        transformed = transform(
            structure.structure,
            structure.integers,
            structure.integer_rows,
            keep=structure.has_start,
            timeless=structure.timeless,
            tearing=options.tearing,
            switched=switched,
            hints=hinted_nodes(structure, HintKind.RESIDUE),
            relaxed=hinted_nodes(structure, HintKind.RELAX) if options.relaxing else None,
            reduce=options.relaxing == "reduce",
            more_hints=outside if options.pairs else None,
            check=options.check,
        )
    except SingularStructure as singular:
        hint = circuit_hint(structure, singular) + component_hints(structure, singular)
        raise StructureError(f"{flat.name} cannot be solved. {singular}{hint}") from None
    except NotInALoop as unused:
        raise StructureError(f"tear: {unused}") from None
    except CannotRelax as reason:
        raise StructureError(f"{flat.name}: {reason}") from None
    if options.pairs:
        for loop in transformed.loops:
            if not loop.is_complete:
                raise StructureError(f"tear: {loop.left_over(transformed.structure)}")
    return transformed
