"""modia_py: models of physical systems in Python, with array equations and connected components.

Importing modia_py sets JAX to 64 bit (simulation to a tolerance of 1e-6 has no use for less), and lets it
keep compiled programs on disk (`disk_cache`). Names of studies are imported when they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .collector import collector_paused

with collector_paused():  # nearly all that an import makes is kept
    import jax

    jax.config.update("jax_enable_x64", True)

    from .disk_cache import use_disk_cache

    use_disk_cache()

    from .compiled_model import CompiledModel
    from .errors import (
        ModelError,
        ModelWarning,
        ModiaError,
        SimulationError,
        SimulationInterrupted,
        StructureError,
        UnitWarning,
    )
    from .expressions.calculus import der
    from .expressions.clocked_terms import Clock, clock, hold, previous, sampled
    from .expressions.event_terms import change, edge, initial, pre, sample, terminal, where
    from .expressions.hint_terms import relax, residue
    from .expressions.user_functions import function
    from .language.actions import assign, reinit, terminate
    from .language.changes import Guess
    from .language.connections import connect
    from .language.declarations import Discrete, Flow, Input, Par, Var
    from .language.elaborate import elaborate
    from .language.flat_model import FlatModel
    from .language.labels import named
    from .language.model import Connector, Model
    from .language.surroundings import outer
    from .language.symbols import time as time  # not for `import *`: it would hide Python's module
    from .language.when import always, when
    from .lowering.flat_residual import FlatResidual, flat_residual
    from .results.pictures import plot_results
    from .results.result import Result
    from .simulate import simulate
    from .tear import tear
    from .translate import translate

if TYPE_CHECKING:
    from .studies.designs import grid_design, latin_hypercube_design, sampled_design, sobol_design
    from .studies.ensemble import Ensemble
    from .studies.estimate import estimate
    from .studies.estimate_result import Estimate
    from .studies.experiment import Experiment
    from .studies.sobol_indices import SobolIndices, sobol_indices

_STUDIES = {
    "Ensemble": "ensemble",
    "Estimate": "estimate_result",
    "Experiment": "experiment",
    "SobolIndices": "sobol_indices",
    "estimate": "estimate",
    "grid_design": "designs",
    "latin_hypercube_design": "designs",
    "sampled_design": "designs",
    "sobol_design": "designs",
    "sobol_indices": "sobol_indices",
}
"""Where names are that need scipy's statistics and optimization: a fifth of what an import took."""


def __getattr__(name: str) -> Any:
    if name not in _STUDIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".studies.{_STUDIES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_STUDIES})


__version__ = "0.1.0"

__all__ = [
    "Clock",
    "CompiledModel",
    "Connector",
    "Discrete",
    "Ensemble",
    "Estimate",
    "Experiment",
    "FlatModel",
    "FlatResidual",
    "Flow",
    "Guess",
    "Input",
    "Model",
    "ModelError",
    "ModelWarning",
    "ModiaError",
    "Par",
    "Result",
    "SimulationError",
    "SimulationInterrupted",
    "SobolIndices",
    "StructureError",
    "UnitWarning",
    "Var",
    "always",
    "assign",
    "change",
    "clock",
    "connect",
    "der",
    "edge",
    "elaborate",
    "estimate",
    "flat_residual",
    "function",
    "grid_design",
    "hold",
    "initial",
    "latin_hypercube_design",
    "named",
    "outer",
    "plot_results",
    "pre",
    "previous",
    "reinit",
    "relax",
    "residue",
    "sample",
    "sampled",
    "sampled_design",
    "simulate",
    "sobol_design",
    "sobol_indices",
    "tear",
    "terminal",
    "terminate",
    "translate",
    "when",
    "where",
]
