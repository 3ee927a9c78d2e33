"""`simulate`: from a model to its result in one call."""

from __future__ import annotations

from typing import Any

from .language.model import Model
from .results.result import Result
from .translate import translate


def simulate(model: Model, stop_time: float, *, tearing: bool | str = "auto", **options: Any) -> Result:
    """Translate a model and simulate it; for the options see `CompiledModel.simulate`.

    A model of the same class and sizes is translated and compiled only once.
    """
    return translate(model, tearing=tearing).simulate(stop_time, **options)
