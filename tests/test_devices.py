"""Models on other devices: their equations and the loop in JAX lower for accelerators; lanes by `vmap`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modia_py import translate
from modia_py.models.examples import HeatRod, Ladder, Pendulum
from modia_py.program.program import Arguments
from modia_py.program.signals import make_signals
from modia_py.simulation.request import RunRequest
from modia_py.solvers import Status, consistent_xdot, make_trajectory
from modia_py.solvers.compile_options import quick_jit

MODELS = {"Pendulum": Pendulum(), "HeatRod": HeatRod(5), "Ladder": Ladder(3)}


def in_jax(sim):
    """The program of a model without native code, and its data."""
    signals = make_signals(sim.flat, None, 0.0, 1.0)
    return (
        sim.translation.program_without_native_code(signals),
        Arguments(sim._values.vector({}), signals.data),
    )


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize("name", MODELS)
def test_equations_and_loop_lower_for_accelerators(name, platform):
    program, arguments = in_jax(translate(MODELS[name]))
    n = program.functions.size
    x = np.zeros((4, n))
    residual = jax.jit(jax.vmap(program.problem.residual, (None, 0, 0, None)))
    found = jax.export.export(residual, platforms=[platform])(0.0, x, x, arguments)
    assert found.platforms == (platform,)
    trajectory = jax.jit(make_trajectory(program.problem, arguments))
    times = jnp.linspace(0.0, 1.0, 3)
    assert jax.export.export(trajectory, platforms=[platform])(times, x[0], x[0], arguments)


def test_lanes_by_vmap_are_those_of_an_ensemble():
    """The loop in JAX, mapped over parameters and starts: what an accelerator would run."""
    sim = translate(Ladder(3))
    program, arguments = in_jax(sim)
    times, c = np.linspace(0.0, 0.01, 4), np.array([0.5e-3, 1e-3, 2e-3])
    runs = [sim.simulate(0.01, params={"c.C": own}, times=times) for own in c]
    p = jnp.stack([jnp.asarray(sim._values.vector({"c.C": own})) for own in c])

    def lane(p, x, xdot):
        found = make_trajectory(program.problem, arguments)(times, x, xdot, arguments._replace(p=p))
        places, sign = sim._places(program, "c.u")
        w = jax.vmap(program.values, (0, 0, 0, None))(times, found.x, found.xdot, arguments._replace(p=p))
        return found.status, sign * w[:, places]

    starts = [sim._declared_start(RunRequest(0.01, params={"c.C": own})) for own in c]
    x, xdot = (jnp.stack([getattr(point, word) for point in starts]) for word in ("x", "xdot"))
    # The slopes at the start depend on the capacitance.
    xdot = jnp.stack([
        consistent_xdot(program.problem, 0.0, x[k], arguments._replace(p=p[k]), xdot[k]).xdot
        for k in range(3)
    ])  # fmt: skip
    status, u = quick_jit(jax.vmap(lane), 0)(p, x, xdot)
    assert [Status(int(each)) for each in status] == [Status.SUCCESS] * 3
    for k, run in enumerate(runs):
        np.testing.assert_allclose(u[k], run["c.u"], atol=2e-5)
