"""modia_py: models of physical systems in Python, with array equations and connected components.

Importing modia_py sets JAX to 64 bit (simulation to a tolerance of 1e-6 has no use for less), and lets it
keep compiled programs on disk (`disk_cache`).
"""

import jax

jax.config.update("jax_enable_x64", True)

from .disk_cache import use_disk_cache  # noqa: E402

use_disk_cache()

from .compiled_model import CompiledModel  # noqa: E402
from .errors import (  # noqa: E402
    ModelError,
    ModelWarning,
    ModiaError,
    SimulationError,
    SimulationInterrupted,
    StructureError,
    UnitWarning,
)
from .expressions.calculus import der  # noqa: E402
from .expressions.clocked_terms import Clock, clock, hold, previous, sampled  # noqa: E402
from .expressions.event_terms import change, edge, initial, pre, sample, terminal, where  # noqa: E402
from .expressions.hint_terms import relax, residue  # noqa: E402
from .expressions.user_functions import function  # noqa: E402
from .language.actions import assign, reinit, terminate  # noqa: E402
from .language.changes import Guess  # noqa: E402
from .language.connections import connect  # noqa: E402
from .language.declarations import Discrete, Flow, Input, Par, Var  # noqa: E402
from .language.elaborate import elaborate  # noqa: E402
from .language.flat_model import FlatModel  # noqa: E402
from .language.labels import named  # noqa: E402
from .language.model import Connector, Model  # noqa: E402
from .language.surroundings import outer  # noqa: E402
from .language.symbols import time as time  # noqa: E402 (not for `import *`: it would hide Python's module)
from .language.when import always, when  # noqa: E402
from .lowering.flat_residual import FlatResidual, flat_residual  # noqa: E402
from .results.pictures import plot_results  # noqa: E402
from .results.result import Result  # noqa: E402
from .simulate import simulate  # noqa: E402
from .studies.designs import (  # noqa: E402
    grid_design,
    latin_hypercube_design,
    sampled_design,
    sobol_design,
)
from .studies.ensemble import Ensemble  # noqa: E402
from .studies.estimate import estimate  # noqa: E402
from .studies.estimate_result import Estimate  # noqa: E402
from .studies.experiment import Experiment  # noqa: E402
from .studies.sobol_indices import SobolIndices, sobol_indices  # noqa: E402
from .tear import tear  # noqa: E402
from .translate import translate  # noqa: E402

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
