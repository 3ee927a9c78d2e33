"""One pass of an event by the functions of a model, as a solver would make it, for tests without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from modia_py import Model, translate
from modia_py.lowering.event_functions import EventFunctions, event_functions


@dataclass
class EventModel:
    """A translated model, its event functions, and its data with the declared values."""

    sim: Any
    functions: EventFunctions
    p: Any

    def vectors(self, t: float, x: Any, p: Any) -> dict[str, Any]:
        """What functions are evaluated from, with zero derivatives and inputs."""
        inner = self.sim.translation.functions
        u = jnp.zeros(inner.input_size * (inner.input_order + 1))
        x = jnp.asarray(x, float)
        w = inner.values(jnp.asarray(t, float), x, jnp.zeros(len(x)), p, u)
        return {"time": jnp.asarray(t, float), "w": w, "p": p, "u": u}

    def value(self, vectors: dict[str, Any], name: str) -> np.ndarray:
        """A variable, parameter or discrete variable by name."""
        flat = self.sim.flat
        symbol = flat.by_name[name]
        if symbol in flat.variables:
            inner = self.sim.translation.functions
            return np.asarray(inner.variable(vectors["w"], name, self.sim.translation.structure))
        first = flat.shift_in_p(symbol.kind, 0) + symbol.offset
        return np.asarray(vectors["p"])[first : first + symbol.size].reshape(symbol.shape)

    def truth(self, vectors: dict[str, Any]) -> Any:
        """Of all relations, from the values themselves."""
        table = self.functions.relations
        return (np.asarray(self.functions.z(vectors)) > 0) ^ table.negated

    def settled(self, vectors: dict[str, Any]) -> dict[str, Any]:
        """Relations and conditions as they are at these values, nothing fired: as after an event."""
        own = self.functions
        d = own.declared(vectors["p"]).at[own.relations.place].set(self.truth(vectors).astype(float))
        p = own.with_discrete(vectors["p"], d, d)
        for level in own.levels:  # conditions only: what is assigned keeps its value
            new = level.values({**vectors, "p": p})
            is_condition = np.isin(level.places, own.condition_places)
            p = p.at[own.parameter_size + level.places[is_condition]].set(new[is_condition])
        return {**vectors, "p": own.with_discrete(p, own.declared(p), own.declared(p))}

    def one_pass(
        self, left: dict[str, Any], now: dict[str, Any], ticks: Any = (), initial: bool = False
    ) -> Any:
        """p after one pass at the values `now`, which were `left` before; `ticks` are rows of samples."""
        own = self.functions
        before = own.declared(left["p"])
        d = before.at[own.left_places].set(own.left(left))
        pre = d
        d = d.at[own.sample_places[list(ticks)]].set(1.0)
        d = d.at[own.initial_places].set(float(initial))
        vectors = {**now, "p": own.with_discrete(now["p"], d, pre)}
        d = d.at[own.relations.place].set(self.truth(vectors).astype(float))
        return own.assign({**now, "p": own.with_discrete(now["p"], d, pre)})


def event_model(model: Model, **params: Any) -> EventModel:
    sim = translate(model)
    functions = event_functions(sim.flat, sim.translation.functions.value_map)
    return EventModel(sim, functions, sim._values.vector(params))
