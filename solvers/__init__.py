"""Numerics: residual functions written in JAX in, trajectories out. No expressions here.

problem = Problem(residual, size, differential_rows)        0 = F(t, x, xdot, p), special index-1 form
start = consistent_start(problem, t0, x_guess, p)           or impulse_start
solution = solve(problem, t0, t1, start.x, start.xdot, p)
"""

from .problem import Problem
from .roots.initialize import Start, consistent_start, consistent_xdot, impulse_start
from .roots.polish import Polished, polish
from .solution import Crossing, Solution, Statistics
from .solve import solve
from .status import Status
from .stops import Refusal, Restart, Stop
from .trajectory import Trajectory, make_trajectory

__all__ = [
    "Crossing",
    "Polished",
    "Problem",
    "Refusal",
    "Restart",
    "Solution",
    "Start",
    "Statistics",
    "Status",
    "Stop",
    "Trajectory",
    "consistent_start",
    "consistent_xdot",
    "impulse_start",
    "make_trajectory",
    "polish",
    "solve",
]
