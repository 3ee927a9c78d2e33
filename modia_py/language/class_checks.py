"""What is wrong with the text of a class, or of its `__init__`: each a sentence with a line."""

from __future__ import annotations

import difflib
import inspect
import keyword
import sys
from types import FrameType
from typing import Any

from ..errors import ModelError
from ..source import source_of, user_source
from .declarations import Declaration

METHODS = ("equations", "initial_equations")


def check_methods(cls: type, body: dict[str, Any]) -> None:
    """Complain about a class body that says something else than was meant."""
    for name in METHODS:
        if name in body and not inspect.isfunction(body[name]):
            raise ModelError(
                f"{cls.__name__}.{name} is {body[name]!r} ({user_source()}), expected a method: "
                f"def {name}(self): return [...]."
            )
        if name in body and not inspect.signature(body[name]).parameters:
            raise ModelError(
                f"{cls.__name__}.{name} ({user_source()}) lacks its self: def {name}(self): ..."
            )
    for name, value in body.items():
        if isinstance(value, type) and issubclass(value, Declaration):
            raise ModelError(
                f"{cls.__name__}.{name} is the class {value.__name__} ({user_source()}): write "
                f"{value.__name__}()."
            )
    if hasattr(cls, "equations") and not _overrides(cls):
        for name in body:
            if name not in METHODS and inspect.isfunction(body[name]) and _is_like(name, "equations"):
                raise ModelError(
                    f"{cls.__name__} has a method `{name}` and no `equations` ({user_source()}): that "
                    f"is the name that is asked for."
                )


def _overrides(cls: type) -> bool:
    """Whether a class, or one that a user has derived it from, has equations of its own."""
    owners = [base for base in cls.__mro__ if "equations" in vars(base)]
    return len(owners) > 1  # the last of them is Model


def _is_like(name: str, wanted: str) -> bool:
    return difflib.SequenceMatcher(None, name.lower(), wanted).ratio() > 0.85


def initialize(component: Any, args: tuple, kwargs: dict) -> None:
    """Call `__init__`; what Python says of a wrong text becomes a sentence with a line."""
    name = type(component).__name__
    try:
        component.__init__(*args, **kwargs)
    except NameError as error:
        if isinstance(error, UnboundLocalError):
            raise
        text = name_error_text(error, component)
        raise ModelError(f"{name}.__init__ ({source_of(error)}): {text}") from error
    except ModelError as error:
        trace = error.__traceback__ and error.__traceback__.tb_next
        if trace is None or trace.tb_next is not None or not _is_of_library(trace.tb_frame):
            raise
        # What a component of a library refuses itself: it does not know who has asked for that.
        raise type(error)(f"{error} ({user_source()})") from None
    except RecursionError as error:
        raise ModelError(
            f"{name} contains itself without end ({source_of(error)}): its __init__ makes components that "
            f"make another {name}. Let an argument decide where that ends."
        ) from None
    except TypeError as error:
        trace = error.__traceback__
        if trace is not None and trace.tb_next is not None:
            raise  # from inside of it
        known = [each for each in inspect.signature(type(component).__init__).parameters if each != "self"]
        raise ModelError(
            f"{name} cannot be made so ({user_source()}): {error}. Its arguments: {', '.join(known)}."
        ) from None


def _is_of_library(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("modia_py.models.")


def name_error_text(error: NameError, component: Any) -> str:
    """What to write in place of a name that Python does not know."""
    public = sys.modules[__name__.partition(".")[0]].__all__  # of the package, whole when a model is made
    missing = str(error.name)
    if missing in vars(component):
        return f"`{missing}` is not defined. It is declared in the model: write self.{missing}."
    if missing in (*public, "time"):
        return f"`{missing}` is not defined: write `from modia_py import {missing}`."
    if missing == "np":
        return "`np` is not defined: write `import numpy as np`."
    near = difflib.get_close_matches(missing, [*vars(component), *public], n=1, cutoff=0.7)
    if not near:
        return f"`{missing}` is not defined."
    return f"`{missing}` is not defined. Did you mean {'self.' * (near[0] in vars(component))}{near[0]}?"


RESERVED_NAMES = frozenset({"array", "equations", "initial_equations", "time"})


def check_nothing_lost(cls: type, given: dict[str, Any]) -> None:
    """An `__init__` that takes **changes has to hand them on."""
    parameters = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    lost = [name for name in given if name not in parameters]
    if lost:
        raise ModelError(
            f"{cls.__name__}.__init__ takes {lost[0]}=... and does not hand it on ({user_source()}): call "
            f"super().__init__(**changes) in it."
        )


def check_name(name: str, owner: type) -> None:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ModelError(
            f"{owner.__name__} declares {name!r}, which is not an identifier ({user_source()}): letters, "
            f"digits and underscores, not beginning with a digit, and no Python keyword."
        )
    if name in RESERVED_NAMES:
        raise ModelError(
            f"{owner.__name__} declares `{name}` ({user_source()}), a name that every model uses itself."
        )
