"""The linear solvers that tests go through: all there are, if what they need is installed."""

from __future__ import annotations

from modia_py.solvers.linear.choice import SOLVERS
from modia_py.solvers.linear.cholmod import import_cholmod

INSTALLED = [name for name in SOLVERS if name != "cholmod" or import_cholmod() is not None]
GENERAL = [name for name in SOLVERS if name != "cholmod"]
"""Those for any matrix, symmetric and positive definite or not."""
