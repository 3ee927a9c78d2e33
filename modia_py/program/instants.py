"""Instants that are known: those of samples, and those at which relations of the time change."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..language.event_parts import RelationKind
from ..lowering.event_functions import EventFunctions
from ..lowering.index1_functions import Index1Functions
from .signals import NO_LIMIT

SAME_INSTANT = 16 * float(np.finfo(float).eps)
"""Times that are nearer than this, compared with themselves, are one."""


class Instants:
    """Of a model, as pure functions of the time and the data of a run."""

    def __init__(self, ef: EventFunctions, functions: Index1Functions):
        self.ef = ef
        self.affine = ef.relations.rows(RelationKind.TIME_AFFINE)
        self.searched = ef.relations.rows(RelationKind.TIME)
        self.values = functions.value_map.zero + 1
        self.inputs = functions.input_size * (functions.input_order + 1)

    def _vectors(self, t: Any, p: Any) -> dict[str, Any]:
        """Relations of the time and samples read no variables."""
        return {"time": t, "w": jnp.zeros(self.values), "u": jnp.zeros(self.inputs), "p": p}

    def next_time(self, t: Any, a: Any) -> Any:
        """The first instant behind t."""
        found = [jnp.full((1,), NO_LIMIT)]
        if len(self.affine):
            z, slope = jax.jvp(
                lambda s: self.ef.z(self._vectors(s, a.p))[self.affine], (jnp.zeros(()),), (jnp.ones(()),)
            )
            found.append(-z / slope)
        if len(self.ef.sample_places):
            period, offset = self._samples(t, a)
            k = jnp.maximum(jnp.floor((t - offset) / period), -1.0)
            instants = offset + (k + jnp.arange(3.0)[:, None]) * period
            later = (instants > t + SAME_INSTANT * jnp.abs(t)) & (instants >= offset)
            found.append(jnp.min(jnp.where(later, instants, NO_LIMIT), axis=0))
        schedule = a.events.schedule
        if schedule.shape[0]:
            found.append(schedule[jnp.searchsorted(schedule, t + a.events.guard, side="right")][None])
        times = jnp.concatenate(found)
        return jnp.min(jnp.where(times > t + a.events.guard, times, NO_LIMIT))

    def due(self, t: Any, a: Any) -> Any:
        """Which samples are taken now."""
        period, offset = self._samples(t, a)
        k = jnp.round((t - offset) / period)
        near = SAME_INSTANT * jnp.maximum(jnp.abs(t), period)
        return (k >= 0) & (jnp.abs(offset + k * period - t) <= near)

    def nearest(self, t: Any, a: Any) -> Any:
        """Of each sample, the instant that is nearest to t."""
        period, offset = self._samples(t, a)
        return offset + jax.lax.stop_gradient(jnp.round((t - offset) / period)) * period

    def _samples(self, t: Any, a: Any) -> tuple[Any, Any]:
        vectors = self._vectors(t, a.p)
        return self.ef.period(vectors), self.ef.offset(vectors)

    def truth(self, t: Any, p: Any) -> Any:
        """Of relations whose instants are searched before a run."""
        return jnp.where(self.ef.z(self._vectors(t, p))[self.searched] > 0, 1.0, 0.0)
