"""Interrupts stop everything, in every phase, and the next run works; forked processes never hang."""

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
import textwrap
import time as clock

import numpy as np
import pytest

from modia_py import Input, Model, ModiaError, Par, SimulationInterrupted, Var, der, translate
from modia_py.solvers import Problem, Status, interrupts, solve
from modia_py.solvers.interrupts import Interrupts

pytestmark = pytest.mark.usefixtures("ctrl_c")


class Swing(Model):
    w = Par(1.0)
    force = Input()
    x = Var(init=1.0)
    v = Var(init=0.0)
    y = Var()

    def equations(self):
        return [
            der(self.x) == self.v,
            der(self.v) == -(self.w**2) * self.x + self.force,
            self.y == self.x**2 + self.v,
        ]


@pytest.fixture(scope="module")
def swing():
    model = translate(Swing())
    model.simulate(1.0, inputs={"force": 0.0})
    return model


def interrupting(function, calls=1):
    """The function, with an interrupt as if Ctrl-C were pressed in its n-th call."""
    left = [calls]

    def changed(*arguments, **options):
        left[0] -= 1
        if left[0] == 0:
            _thread.interrupt_main()
        return function(*arguments, **options)

    return changed


def works(model):
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    result = model.simulate(1.0, inputs={"force": 0.0})
    np.testing.assert_allclose(result.final("x"), np.cos(1.0), atol=1e-5)
    np.testing.assert_allclose(result.final("y"), np.cos(1.0) ** 2 - np.sin(1.0), atol=1e-5)


@pytest.mark.parametrize(
    "where",
    [
        "modia_py.simulation.translated_model.make_signals",
        "modia_py.simulation.translated_model.start_values",
        "modia_py.simulation.translated_model.integrate",
        "modia_py.simulation.translated_model.Outputs",
        "modia_py.solvers.solve.check_arguments",
        "modia_py.solvers.solve.compile_problem",
        "modia_py.solvers.integration_methods.make_settings",
    ],
)
def test_an_interrupt_in_any_phase_of_a_run(swing, where, monkeypatch):
    module, name = where.rsplit(".", 1)
    owner = sys.modules[module]
    monkeypatch.setattr(owner, name, interrupting(getattr(owner, name)))
    with pytest.raises(SimulationInterrupted, match=r"Swing\b.* was interrupted"):
        swing.simulate(1.0, inputs={"force": 0.0})
    monkeypatch.undo()
    works(swing)


def test_an_interrupt_between_chunks_keeps_what_was_computed(swing, monkeypatch):
    module = sys.modules["modia_py.solvers.integration"]
    monkeypatch.setattr(module, "CHUNK_ROWS", 16)
    monkeypatch.setattr(module.Integration, "_keep", interrupting(module.Integration._keep, calls=3))
    with pytest.raises(KeyboardInterrupt, match="stopped at time .* interrupted") as caught:
        swing.simulate(5.0, inputs={"force": 0.0}, times=501)
    result = caught.value.result
    assert result.status is Status.INTERRUPTED
    assert 16 <= len(result.time) < 501
    np.testing.assert_allclose(result["x"], np.cos(result.time), atol=1e-4)
    monkeypatch.undo()
    works(swing)


def test_an_interrupt_at_a_restart_keeps_what_was_computed(swing, monkeypatch):
    from modia_py.simulation import run

    inputs = {"force": ([0.0, 1.0, 2.0], [0.0, 0.0, 1.0])}
    swing.simulate(2.0, inputs=inputs)
    monkeypatch.setattr(run, "consistent_xdot", interrupting(run.consistent_xdot))
    with pytest.raises(SimulationInterrupted, match="stopped at time 1. The run was interrupted") as caught:
        swing.simulate(2.0, inputs=inputs, times=201)
    assert caught.value.result.time[-1] == pytest.approx(0.99)


def test_an_interrupt_while_a_result_is_read(swing, monkeypatch):
    result = swing.simulate(1.0, inputs={"force": 0.0})
    monkeypatch.setattr(result, "_read", interrupting(result._read))
    with pytest.raises(SimulationInterrupted, match="Reading y was interrupted") as caught:
        result["y"]
    assert caught.value.result is result
    np.testing.assert_allclose(result["y"][0], 1.0)


def test_an_interrupt_while_translating():
    class Slow(Swing):
        first = True

        def equations(self):
            if type(self).first:
                type(self).first = False
                _thread.interrupt_main()
                clock.sleep(0.01)
            return super().equations()

    with pytest.raises(SimulationInterrupted, match="The translation was interrupted") as caught:
        translate(Slow())
    assert caught.value.result is None
    works(translate(Slow()))


def test_no_handler_of_errors_keeps_a_loop_going(swing, monkeypatch):
    monkeypatch.setattr(
        "modia_py.simulation.translated_model.make_signals",
        interrupting(sys.modules["modia_py.simulation.translated_model"].make_signals, calls=3),
    )
    runs = 0
    with pytest.raises(KeyboardInterrupt):
        for _ in range(10):
            try:
                swing.simulate(0.1, inputs={"force": 0.0})
            except (ModiaError, Exception):
                continue
            runs += 1
    assert runs == 2


def decay(t, x, xdot, p):
    return xdot + x


def test_the_integrator_alone_gives_a_status():
    problem = Problem(decay, 1, 1)
    assert solve(problem, 0.0, 1.0, [1.0]).status is Status.SUCCESS

    def interrupt(*_):
        _thread.interrupt_main()

    found = solve(problem, 0.0, 1.0, [1.0], on_chunk=interrupt)
    assert found.status is Status.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert solve(problem, 0.0, 1.0, [1.0]).status is Status.SUCCESS


# What the context promises, by itself.


def in_namespace(name, text):
    """Functions that seem to belong to another package."""
    namespace = {"__name__": name, "interrupt": _thread.interrupt_main, "clock": clock}
    exec(textwrap.dedent(text), namespace)
    return namespace


def test_an_interrupt_waits_until_jax_is_left():
    jax_like = in_namespace(
        "jax._src.something",
        """
        done = []
        def work():
            interrupt()
            for k in range(100):
                clock.sleep(0.0)
            done.append(1)
        """,
    )
    after = []
    with pytest.raises(KeyboardInterrupt), Interrupts():
        jax_like["work"]()
        for _ in range(10**6):  # raised soon after
            clock.sleep(0.0)
            after.append(1)
    assert jax_like["done"] == [1]
    assert sys.getprofile() is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_came_last_is_raised_at_the_end():
    work = in_namespace("jaxlib.x", "def work():\n    interrupt()\n    clock.sleep(0)")["work"]
    with pytest.raises(KeyboardInterrupt), Interrupts():
        work()
    with pytest.raises(KeyboardInterrupt) as caught, Interrupts():  # whatever else went wrong because of it
        work()
        raise ValueError("an error of JAX")
    assert isinstance(caught.value.__cause__, (ValueError, type(None)))


def test_a_second_interrupt_does_not_wait(monkeypatch):
    monkeypatch.setattr(interrupts, "IMPATIENT", 0.0)
    jax_like = in_namespace(
        "jax.x",
        """
        done = []
        def work():
            for _ in range(2):
                interrupt()
                clock.sleep(0.01)
            done.append(1)
        """,
    )
    with pytest.raises(KeyboardInterrupt), Interrupts():
        jax_like["work"]()
    assert jax_like["done"] == []


def test_handlers_of_the_user_are_asked():
    seen = []
    former = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        with Interrupts() as outer:
            with Interrupts() as inner:
                _thread.interrupt_main()
                clock.sleep(0)
            assert not outer.pending
            assert not inner.pending
    finally:
        signal.signal(signal.SIGINT, former)
    assert seen == [1]


# In processes of their own.

HEAD = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
from modia_py import Model, Var, Par, der, simulate, translate, ModiaError, SimulationInterrupted

class Relaxation(Model):
    mu = Par(50.0)
    x = Var(init=2.0)
    v = Var(init=0.0)
    def equations(self):
        return [der(self.x) == self.v, der(self.v) == self.mu*(1 - self.x**2)*self.v - self.x]

def run(stop=1.0, **options):
    return simulate(Relaxation(), stop, times=3, **options)
"""


def process(text, *arguments):
    code = HEAD + textwrap.dedent(text)
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


SIGNALS = """
def press():
    time.sleep(float(sys.argv[1]))
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
try:
    while True:
        run(500.0)
except SimulationInterrupted as interrupt:
    print("interrupted")
print(run().status.name)
"""


@pytest.mark.parametrize(
    "delay",
    [
        1.5,
        *(pytest.param(d, marks=pytest.mark.slow) for d in (0, 0.2, 0.5, 0.8, 1, 1.2, 2, 2.5, 3, 4, 6, 9)),
    ],
)
def test_signals_at_any_time_stop_a_loop_and_the_next_run_works(delay):
    assert process(SIGNALS, delay) == ["interrupted", "SUCCESS"]


FORK = """
if sys.argv[1] == "used":
    run()
elif sys.argv[1] == "translated":
    model = translate(Relaxation())
child = os.fork()
if child == 0:
    signal.alarm(200)
    for action in (run, lambda: translate(Relaxation())):
        try:
            action()
            print("ran")
        except ModiaError as error:
            print(str(error).replace(" ", "_"))
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(run().status.name)
"""


@pytest.mark.parametrize("before", ["nothing", pytest.param("translated", marks=pytest.mark.slow)])
def test_a_child_forked_before_the_first_simulation_works(before):
    assert process(FORK, before) == ["ran", "ran", "SUCCESS"]


POOL = """
import multiprocessing
result = run()
def final(stop):
    try:
        return run(stop).final("x")
    except ModiaError as error:
        return "refused" if "spawn" in str(error) else "?"
def read(name):
    try:
        return str(len(result[name]))
    except ModiaError as error:
        return "refused" if "spawn" in str(error) else "?"
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(*pool.map(final, [1.0, 2.0]), *pool.map(read, ["time", "x"]))
"""

ALONE = """
from modia_py.solvers import Problem, solve, consistent_xdot
problem = Problem(lambda t, x, xdot, p: xdot + x, 1, 1)
solve(problem, 0.0, 1.0, [1.0])
sys.stdout.flush()
child = os.fork()
if child == 0:
    for action in (solve, consistent_xdot):
        try:
            action(problem, 0.0, [1.0], [1.0])
        except RuntimeError as error:
            print("spawn" in str(error))
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def used():
    """What a process prints that has simulated and forks: for itself, for a pool, for the integrator."""
    found = process(FORK + POOL + ALONE, "used")
    assert len(found) == 9
    return found[:3], found[3:7], found[7:]


def test_a_child_forked_after_a_simulation_says_what_to_use(used):
    first, second, parent = used[0]
    for text in (first, second):
        assert "forked" in text
        assert 'multiprocessing.get_context("spawn")' in text
        assert "ThreadPoolExecutor" in text
    assert parent == "SUCCESS"


def test_pools_of_forked_processes_end(used):
    """What the run has computed can be read there; to simulate is refused."""
    assert used[1] == ["refused", "refused", "3", "3"]


def test_the_integrator_alone_refuses_a_forked_process(used):
    assert used[2] == ["True", "True"]
