"""What several tests need: messages, operation counts, values of expressions, random trajectories."""

from __future__ import annotations

import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import ModiaError, elaborate, flat_residual
from modia_py.expressions.expression import Constant, Expr, Leaf
from modia_py.expressions.symbol_kinds import SymbolKind
from modia_py.expressions.templates import evaluate, make_template


def message(call: Any, kind: type[Exception] = ModiaError) -> str:
    """The text of the error that a call ends with."""
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def count_operations(jaxpr: Any) -> int:
    """The equations of a jaxpr, nested ones included."""
    total = 0
    for equation in jaxpr.eqns:
        total += 1
        for parameter in equation.params.values():
            for inner in parameter if isinstance(parameter, (tuple, list)) else [parameter]:
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    total += count_operations(inner)
    return total


def program_size(model: Any) -> int:
    lowered = flat_residual(elaborate(model))
    v = jnp.zeros(lowered.unknowns.size)
    jaxpr = jax.make_jaxpr(lowered.residual)(0.0, v, v, lowered.parameters())
    return count_operations(jaxpr.jaxpr)


def value_of(expr: Expr, lookup: Any) -> Any:
    """The value of an expression, with `lookup(leaf)` for its leaves."""
    template = make_template(expr)
    values = []
    for pick in template.picks:
        parts = []
        for piece in pick.pieces:
            if isinstance(piece.node, Constant):
                parts.append(piece.node.value)
            else:
                assert isinstance(piece.node, Leaf)
                parts.append(jnp.ravel(lookup(piece.node))[piece.positions.to_array()])
        values.append(jnp.stack(parts) if pick.stacked else parts[0])
    return evaluate(template.root, template.placeholders, values)


def trajectory(leaf: Leaf, t: Any) -> Any:
    """A smooth random function of time for each symbol, and its derivatives, in closed form."""
    if leaf.kind is SymbolKind.TIME:
        return jnp.asarray(t)
    rng = np.random.default_rng(zlib.crc32(leaf.symbol.name.encode()))
    mean, amplitude, frequency, phase = rng.uniform(0.5, 1.5, (4, *leaf.shape))
    if leaf.kind is SymbolKind.PARAMETER:
        return jnp.asarray(np.broadcast_to(leaf.symbol.value, leaf.shape))
    wave = amplitude * frequency**leaf.order
    value = wave * jnp.sin(frequency * t + phase + leaf.order * np.pi / 2)
    return value + (2 * mean + 1 if leaf.order == 0 else 0)


def time_derivative(expr: Expr, t: float, h: float = 1e-3) -> Any:
    """d(expr)/dt along the trajectories, by central differences of fourth order."""

    def at(time: float) -> Any:
        return value_of(expr, lambda leaf: trajectory(leaf, time))

    return (at(t - 2 * h) - 8 * at(t - h) + 8 * at(t + h) - at(t + 2 * h)) / (12 * h)
