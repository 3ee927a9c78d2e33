"""What can go wrong, as exceptions whose text names the user's variable and line, and what to try."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from typing import Any

from .near_names import argument_meant, list_text, near_names


class ModiaError(Exception):
    """Base class of every error that modia_py raises on purpose.

    Examples
    --------
    >>> from modia_py import ModiaError, Par
    >>> try:
    ...     Par("one")
    ... except ModiaError as error:
    ...     print(type(error).__name__)
    ModelError
    """


class ModelError(ModiaError):
    """The text of a model, a name or a value given to it, is wrong.

    Examples
    --------
    >>> from modia_py import ModelError
    >>> from modia_py.models.examples import Decay
    >>> try:
    ...     Decay(K=2.0)
    ... except ModelError as error:
    ...     print("Did you mean 'k'?" in str(error))
    True
    """


class UnknownAttributeError(ModelError, AttributeError):
    """A component has no such attribute; an AttributeError too, so that `hasattr` keeps working."""


class WrongArgumentError(ModelError, TypeError):
    """A function has no such argument, or lacks one; a TypeError too, as for any function."""


def names_checked(function: Any) -> Any:
    """Make wrong arguments of a public function a sentence that proposes the near ones; a decorator."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # from inside of it
            failure = error
        raise WrongArgumentError(wrong_argument_text(function, kwargs, failure)) from None

    return called


def wrong_argument_text(function: Any, given: Iterable[str], failure: Exception) -> str:
    """What to say of a call that Python has refused."""
    known = [name for name in inspect.signature(_signed(function)).parameters if name != "self"]
    text = str(failure).rstrip(".")
    for name in given:
        if name not in known:
            meant = argument_meant(name, known)
            if meant is None:
                return f"{text}. {did_you_mean(name, known)}"
            return f"{text}. {_proposal(meant) if meant else _known_names(known)}"
    return f"{text}. Its arguments: {', '.join(known)}."


def _signed(function: Any) -> Any:
    return function.__init__ if isinstance(function, type) else function  # type: ignore[misc]


class StructureError(ModiaError):
    """The equations cannot determine the variables: too many, too few, or not independent.

    Examples
    --------
    >>> from modia_py import Model, StructureError, Var, translate
    >>> class Twice(Model):
    ...     x = Var()
    ...     def equations(self):
    ...         return [self.x == 1, self.x == 2]
    >>> try:
    ...     translate(Twice())
    ... except StructureError as error:
    ...     print(str(error).splitlines()[0])
    Twice cannot be solved. 2 scalar equations for 1 unknown: 1 too many.
    """


class SimulationError(ModiaError):
    """A run could not start, or not go on, or its equations do not hold.

    Parameters
    ----------
    text : str
        What went wrong, in the names of the model, and what to try.
    result : Result, optional
        What was computed until then.

    Examples
    --------
    >>> from modia_py import SimulationError, simulate
    >>> from modia_py.models.examples import Decay
    >>> try:
    ...     simulate(Decay(), 1.0, max_steps=20)
    ... except SimulationError as error:
    ...     print(error.result.status.name, error.result.time[-1] < 1.0)
    MAX_STEPS True
    """

    def __init__(self, text: str, result: Any = None):
        super().__init__(text)
        self.result = result


class SimulationInterrupted(KeyboardInterrupt):
    """An interrupt (Ctrl-C) during a translation, a run, or the reading of its result.

    It is a KeyboardInterrupt and nothing else, so that no `except Exception` or `except ModiaError` around
    one run keeps a loop over many of them going.

    Parameters
    ----------
    text : str
        What was interrupted.
    result : Result, optional
        What was computed until then.

    Examples
    --------
    >>> from modia_py import SimulationInterrupted
    >>> try:
    ...     raise SimulationInterrupted("The translation was interrupted.")
    ... except KeyboardInterrupt as interrupt:
    ...     print(interrupt, interrupt.result)
    The translation was interrupted. None
    """

    def __init__(self, text: str = "", result: Any = None):
        super().__init__(text)
        self.result = result


class ForkedProcessError(ModiaError, RuntimeError):
    """The process was forked after JAX was used: nothing can be computed in it."""


class ResultFileError(ModelError, OSError):
    """A file of a result cannot be read, or not be written; an OSError too, as for any file."""


class NoResultFileError(ResultFileError, FileNotFoundError):
    """There is no such file."""


class UnknownNameError(ModelError, KeyError):
    """A result has nothing of that name; a KeyError too, as for any mapping."""

    __str__ = Exception.__str__  # a KeyError would quote its text


class MissingPackageError(ModiaError, ImportError):
    """An optional package is needed for what was asked, and is not installed."""


class ModelWarning(UserWarning):
    """Something in a model is legal and probably not what was meant.

    Examples
    --------
    >>> import warnings
    >>> from modia_py import ModelWarning, der
    >>> from modia_py.models.examples import Decay
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always", ModelWarning)
    ...     slope = der(Decay().k)
    >>> "is a parameter" in str(seen[0].message)
    True
    """


class UnitWarning(ModelWarning):
    """Units in an equation differ; `translate(..., check_units=False)` does not look.

    Examples
    --------
    >>> import warnings
    >>> from modia_py import Model, UnitWarning, Var, der, translate
    >>> class Car(Model):
    ...     x = Var(init=0.0, unit="m")
    ...     v = Var(unit="km/h")
    ...     def equations(self):
    ...         return [der(self.x) == self.v, self.v == 100.0]
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always", UnitWarning)
    ...     sim = translate(Car())
    >>> "`der(x)` is in m/s, `v` in km/h" in str(seen[0].message)
    True
    """


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that proposes the known names nearest to `name`, or lists a few of them.

    >>> did_you_mean("resistanse", ["resistance", "current"])
    "Did you mean 'resistance'?"
    """
    candidates = list(dict.fromkeys(known))
    if not candidates:
        return "It has none at all."
    near = near_names(str(name), candidates)
    hint = list_text(str(name), candidates)
    return (_proposal(near) if near else _known_names(candidates)) + hint


def _proposal(near: list[str]) -> str:
    return "Did you mean " + " or ".join(repr(candidate) for candidate in near) + "?"


def _known_names(candidates: list[str]) -> str:
    listed = ", ".join(candidates[:8])
    more = f", and {len(candidates) - 8} more" if len(candidates) > 8 else ""
    return f"Known names: {listed}{more}."
