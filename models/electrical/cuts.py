"""Cuts that say how a loop of resistors is to be solved (Elmqvist and Otter 1994): they change no result.

Each is the limit of a small storage that would make its current or voltage known: put in by whoever sees
how a circuit is calculated by hand.
"""

from __future__ import annotations

from typing import Any

from modia_py import Model, residue

from .basic import Pin, TwoPin


class MeshCut(TwoPin):
    """A wire, as of an infinitely small inductor: its current is varied until its voltage vanishes."""

    def equations(self) -> Any:
        return [*super().equations(), self.u == residue(self.i)]


class NodeCut(Model):
    """An infinitely small capacitor to ground: its potential is varied until no current flows."""

    p = Pin()

    def equations(self) -> Any:
        return [self.p.i == residue(self.p.v)]


class TearCut(TwoPin):
    """A wire whose current is varied until no current flows out of another node."""

    res = Pin()

    def equations(self) -> Any:
        return [*super().equations(), self.u == 0, self.res.i == residue(self.i)]
