"""Linear solvers that keep factors outside of JAX, one for each run that is under way.

Runs of one problem in several threads, or one inside of another, do not see each other: to the last bit
each gives what it gives alone, and no lock is needed. Workspaces are used again by later runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax

from ..linear.contract import LinearSolver


class Workspaces:
    """Of one problem and one linear solver."""

    def __init__(self, solver: LinearSolver):
        self._first, self._free = solver, [solver]
        self._lost: list[LinearSolver] = []  # compiled code may still write there

    @contextmanager
    def one(self) -> Iterator[Workspace]:
        """A workspace that nobody else uses meanwhile."""
        try:
            solver = self._free.pop()  # which no two threads do at the same time
        except IndexError:
            solver = self._first.twin()
        workspace = Workspace(solver)
        try:
            yield workspace
        finally:
            (self._free if workspace.is_quiet else self._lost).append(solver)


class Workspace:
    """A linear solver for one run."""

    def __init__(self, solver: LinearSolver):
        self.solver, self.is_quiet = solver, True

    def wait_for(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function returns, when all is computed. An interrupt in between leaves code behind that
        may still be at work here."""
        self.is_quiet = False
        found = function(*arguments)
        jax.tree.leaves(found)[0].block_until_ready()
        self.is_quiet = True
        return found
