"""A plan evaluated by JAX: one gather and one operation on vectors a group. For any device, and any
transformation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from .operations import OPERATIONS
from .plan import Plan


def evaluate_in_jax(plan: Plan, vectors: Sequence[Any]) -> Any:
    values = jnp.concatenate([*vectors, jnp.asarray(plan.constants)])
    first = len(values)
    # Written into one vector of the final length: every group would copy a growing one.
    w = jnp.zeros(plan.size).at[:first].set(values)
    for number, start, stop in plan.groups.tolist():
        operation = OPERATIONS[number]
        places = plan.operands[start - first : stop - first, : operation.operands]
        w = w.at[start:stop].set(operation.jax(*(w[column] for column in places.T)))
    return w[plan.outputs]
