"""What can go wrong, as exceptions whose text names the user's variable and line, and what to try."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class ModiaError(Exception):
    """Base class of every error that modia_py raises on purpose."""


class ModelError(ModiaError):
    """The text of a model is wrong: a name, a shape, a value, a connection."""


class UnknownAttributeError(ModelError, AttributeError):
    """A component has no such attribute; an AttributeError too, so that `hasattr` keeps working."""


class StructureError(ModiaError):
    """The equations cannot determine the variables: too many, too few, or not independent."""


class SimulationError(ModiaError):
    """A run could not start, or not go on. `result` is what was computed until then, or None."""

    def __init__(self, text: str, result: Any = None):
        super().__init__(text)
        self.result = result


class SimulationInterrupted(KeyboardInterrupt):
    """An interrupt (Ctrl-C) during a translation, a run, or the reading of its result.

    `result` is what was computed until then, or None. It is a KeyboardInterrupt and nothing else, so that
    no `except Exception` or `except ModiaError` around one run keeps a loop over many of them going.
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
    """Something in a model is legal and probably not what was meant."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that proposes the known names nearest to `name`, or lists a few of them.

    >>> did_you_mean("resistanse", ["resistance", "current"])
    "Did you mean 'resistance'?"
    """
    candidates, name = list(dict.fromkeys(known)), str(name)
    near = [candidate for candidate in candidates if candidate.lower() == name.lower()]
    near += difflib.get_close_matches(name, candidates, n=3, cutoff=0.6)
    if not near:  # the user may have left out, or invented, part of the path
        last = name.rpartition(".")[2]
        near = [candidate for candidate in candidates if candidate.rpartition(".")[2] == last]
    near = list(dict.fromkeys(near))[:3]
    if near:
        return "Did you mean " + " or ".join(repr(candidate) for candidate in near) + "?"
    if not candidates:
        return "There is nothing to change here."
    listed = ", ".join(candidates[:8])
    more = f", and {len(candidates) - 8} more" if len(candidates) > 8 else ""
    return f"Known names: {listed}{more}."
