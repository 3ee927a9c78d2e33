"""Where the elimination of a relaxed loop divides by zero: which equation, for which variable."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from .program import Arguments, Program


def vanished_pivots(program: Program, arguments: Arguments, t: float, x: Any, xdot: Any) -> list[str]:
    """A text for the first pivot that vanishes at a point: what follows is only its consequence."""
    pivots = program.functions.pivots
    if pivots is None:
        return []
    time = jnp.asarray(t, float)
    values = np.asarray(pivots.values(time, x, xdot, arguments.p, program.inputs(time, arguments)))
    names = pivots.names()
    return [
        f"the pivot for {names[k][1]} of a relaxed loop vanishes, in `{names[k][0]}`: relax other "
        f"variables, or translate with relaxing=False"
        for k in np.flatnonzero((values == 0) | ~np.isfinite(values))[:1].tolist()
    ]
