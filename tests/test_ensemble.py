"""Ensembles: lanes equal single runs, failures stay in their lane, stores are resumed, workers may die."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from modia_py import (
    Discrete,
    Ensemble,
    Model,
    ModelError,
    Par,
    SimulationInterrupted,
    Var,
    assign,
    der,
    grid_design,
    latin_hypercube_design,
    pre,
    reinit,
    sampled_design,
    sobol_design,
    sobol_indices,
    translate,
    when,
)
from modia_py.models.examples import Decay, HeatRod, Ladder, SlidingMass
from modia_py.studies import run_ensemble as runs
from modia_py.studies.lane_runs import run_lane

ROOT = Path(__file__).parent.parent


class Ball(Model):
    e = Par(0.7)
    h = Var(init=1.0, unit="m")
    v = Var(init=0.0, unit="m/s")
    count = Discrete(0)

    def equations(self):
        bounce = reinit(self.v, -self.e * self.v), assign(self.count, pre(self.count) + 1)
        return [der(self.h) == self.v, der(self.v) == -9.81, when(self.h < 0, *bounce)]


class Singular(Model):
    """1/x' grows without bound at time 1/k."""

    k = Par(1.0)
    x = Var(init=1.0)

    def equations(self):
        return [der(self.x) == self.k * self.x**2]


@pytest.fixture(scope="module")
def decay():
    return translate(Decay())


@pytest.fixture(scope="module")
def mass():
    return translate(SlidingMass())


@pytest.fixture(scope="module")
def ball():
    return translate(Ball())


def same(one, other):
    """Within the tolerance of runs: lanes look for their starts from another point."""
    return np.allclose(one, other, rtol=1e-6, atol=1e-6 * np.abs(other).max(), equal_nan=True)


def test_a_lane_is_a_run(mass):
    c = np.linspace(500.0, 1500.0, 40)
    n = np.tile([0.6, 0.8, 0.0], (1, 1))
    found = mass.ensemble(
        0.2,
        {"c": c, "m": 2.0, "n": n},
        init={"s": np.linspace(0.0, 0.1, 40)},
        times=7,
        outputs=["s", "f", "der(s)"],
    )
    assert found["f"].shape == (40, 7, 3)
    for lane in (0, 13, 39):
        alone = mass.simulate(
            0.2, params={"c": c[lane], "m": 2.0}, init={"s": found.parameters["init(s)"][lane]}, times=7
        )
        for name in ("s", "f", "der(s)"):
            assert same(found[name][lane], alone[name])
        assert abs(found.steps[lane] - alone.stats.steps) <= 0.1 * alone.stats.steps
    assert not found.failures


def test_a_lane_does_not_depend_on_others(mass):
    c = np.linspace(500.0, 1500.0, 9)
    options = {"times": 5, "outputs": ["f"]}
    many = mass.ensemble(0.2, {"c": c}, **options)
    few = mass.ensemble(0.2, {"c": c[[7, 2]]}, **options)
    assert np.array_equal(many["f"][[7, 2]], few["f"])


def test_events_are_rows_that_were_asked_for(ball):
    found = ball.ensemble(1.2, {"e": [0.5, 0.7]}, times=25, outputs=["h", "count"])
    alone = ball.simulate(1.2, params={"e": 0.7}, times=25)
    assert same(found["h"][1], alone["h"][alone.output_rows])
    assert found["count"][1, -1] == alone.final("count")


def test_failures_stay_in_their_lane():
    sim = translate(Singular())
    found = sim.ensemble(1.0, {"k": [0.5, 2.0, np.nan, 0.8]}, times=5)
    assert list(found.success) == [True, False, False, True]
    assert found.status[2] == "WRONG_VALUE"
    assert found.message[2] == "Parameter k is NaN."
    assert list(found.failures) == [1, 2]
    assert np.isnan(found["x"][[1, 2]]).all()
    for lane in (0, 3):
        alone = sim.simulate(1.0, params={"k": found.parameters["k"][lane]}, times=5)
        assert same(found["x"][lane], alone["x"])
    assert np.array_equal(found.mean("x"), found["x"][[0, 3]].mean(axis=0))


def test_statistics_and_xarray(decay):
    k = latin_hypercube_design(64, {"k": (0.5, 1.5)})["k"]
    found = decay.ensemble(1.0, {"k": k}, times=11)
    assert found.quantile("x", [0.1, 0.5, 0.9]).shape == (3, 11)
    assert np.all(np.diff(found.quantile("x", [0.1, 0.5, 0.9]), axis=0) >= 0)
    assert abs(found.mean("x")[-1] - np.exp(-k).mean()) < 1e-5
    assert abs(found.std("x")[-1] - np.exp(-k).std(ddof=1)) < 1e-5
    data = found.to_xarray()
    assert data["x"].dims == ("lane", "time")
    assert np.array_equal(data["k"], k)
    assert set(np.asarray(data["lane_status"])) == {"SUCCESS"}
    assert "64 lanes, 11 times, outputs x; all successful" in repr(found)


def test_an_ensemble_can_be_pickled(decay):
    ensemble = decay.ensemble(1.0, {"k": [1.0, 2.0]}, times=3)
    again = pickle.loads(pickle.dumps(ensemble))
    assert np.array_equal(again["x"], ensemble["x"])
    assert np.array_equal(again["k"], ensemble["k"])
    assert again.success.all()


def test_a_fan_is_drawn(mass, tmp_path):
    found = mass.ensemble(0.5, {"c": np.linspace(500.0, 1500.0, 12)}, times=51, outputs=["s", "r"])
    figure = found.plot(file=tmp_path / "fan.png", title="a fan")
    assert len(figure.axes) == 2
    assert len(figure.axes[0].lines) == 1
    assert len(figure.axes[0].collections) == 2
    assert (tmp_path / "fan.png").stat().st_size > 10_000


def test_a_file_gives_back_what_was_saved(mass, tmp_path):
    found = mass.ensemble(0.1, {"c": [900.0, np.nan]}, init={"s": [0.1, 0.2]}, times=3, outputs=["s", "f"])
    found.save(tmp_path / "many.nc")
    again = Ensemble.load(tmp_path / "many.nc")
    assert np.array_equal(again["f"], found["f"], equal_nan=True)
    assert again.failures == found.failures
    assert np.array_equal(again.parameters["init(s)"], [0.1, 0.2])
    assert again.outputs["s"].unit == "m"
    damaged = bytearray((tmp_path / "many.nc").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "many.nc").write_bytes(damaged)
    with pytest.raises(ModelError, match="damaged|cannot be read"):
        Ensemble.load(tmp_path / "many.nc")


# Designs --------------------------------------------------------------------------------------------------


def test_designs():
    assert len(grid_design({"a": [1, 2, 3], "b": [4, 5]})["a"]) == 6
    from scipy import stats

    columns = sobol_design(16, {"a": (0.0, 1.0), "b": stats.norm(3.0, 0.1)}, seed=3)
    assert np.all((columns["a"] >= 0) & (columns["a"] <= 1))
    assert abs(columns["b"].mean() - 3.0) < 0.1
    many = sampled_design(8, lambda rng: {"a": rng.normal(size=3)}, seed=1)
    few = sampled_design(4, lambda rng: {"a": rng.normal(size=3)}, seed=1)
    assert many["a"].shape == (8, 3)
    assert np.array_equal(many["a"][:4], few["a"])
    for wrong, text in (
        (lambda: sobol_design(10, {"a": (0, 1)}), "power of two: 8 or 16 lanes, not 10"),
        (lambda: latin_hypercube_design(0, {"a": (0, 1)}), "positive number of lanes"),
        (lambda: latin_hypercube_design(3, {"a": (2, 1)}), "goes from 2 to 1"),
        (lambda: latin_hypercube_design(3, {"a": 2}), "not 2"),
        (lambda: grid_design({}), "a parameter at least"),
    ):
        with pytest.raises(ModelError, match=text):
            wrong()


def test_lanes_from_a_table(decay):
    pandas = pytest.importorskip("pandas")
    found = decay.ensemble(1.0, pandas.DataFrame({"k": [1.0, 2.0]}), times=2)
    assert np.allclose(found["x"][:, -1], np.exp([-1.0, -2.0]), rtol=1e-5)


def test_sobol_indices_of_a_product(decay):
    """x(1) = x0 exp(-k): logarithms add, so the shares of log x are known in closed form."""

    def scalar(ensemble):
        return np.log(ensemble["x"][:, -1]) * 1.0

    sim = translate(Two())
    found = sobol_indices(sim, 1.0, {"a": (0.0, 1.0), "b": (0.0, 2.0)}, scalar, n=256, times=2)
    assert np.allclose(found.first_order, [0.2, 0.8], atol=0.05)
    assert np.allclose(found.total_order, [0.2, 0.8], atol=0.05)
    assert found.runs == 256 * 4
    with pytest.raises(ModelError, match="two parameters"):
        sobol_indices(decay, 1.0, {"k": (0.0, 1.0)}, "x")


class Two(Model):
    a = Par(1.0)
    b = Par(1.0)
    x = Var(init=1.0)

    def equations(self):
        return [der(self.x) == -(self.a + self.b) * self.x]


# Errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "text"),
    [
        (None, "The ensemble is empty: give params"),
        ({"k": []}, "The ensemble is empty: k has no values"),
        ({"K": [1.0]}, r"has no parameter 'K' .*Did you mean 'k'"),
        ({"x": [1.0]}, "'x' is a variable, not a parameter: give its start as init="),
        ({"k": [np.nan, np.nan]}, "k is NaN in all lanes"),
        ({"k": [[1.0, 2.0]]}, "first axis of the array, of length 1, is that of the lanes"),
        ({"k": [[1.0], [1.0, 2.0]]}, "lanes have values of equal shapes"),
        ([1.0, 2.0], "columns by name"),
    ],
)
def test_wrong_lanes(decay, params, text):
    with pytest.raises(ModelError, match=text):
        decay.ensemble(1.0, params, times=2)


def test_more_that_is_wrong(decay, mass):
    for call, text in (
        (lambda: mass.ensemble(1.0, {"c": np.ones(3), "d": np.ones(4)}), "Lanes differ in number"),
        (lambda: translate(Ladder(3)).ensemble(1.0, {"n": [3, 4]}), "'n' is an argument of Ladder"),
        (lambda: decay.ensemble(1.0, {"k": [1.0]}, outputs=["y"]), "no 'y'"),
        (lambda: decay.ensemble(1.0, {"k": [1.0]}, outputs=["k"]), "does not depend on time"),
        (lambda: decay.ensemble(1.0, {"k": [1.0]}, outputs="x"), r"\['x'\]"),
        (lambda: decay.ensemble(1.0, {"k": [1.0]}, outputs=[]), "names nothing"),
        (lambda: decay.ensemble(1.0, {"k": [1.0]}, rtol=1.0), "rtol"),
        (lambda: decay.ensemble(-1.0, {"k": [1.0]}), "stop_time"),
        (lambda: decay.ensemble(1.0, init={"X": [1.0]}), "no variable 'X'"),
        (lambda: decay.ensemble(1.0, init={"x": [[1.0, 2.0]]}), "has shape"),
        (lambda: decay.ensemble(1.0, {"k": [1.0]}, executor=3), "executor is one of"),
        (lambda: decay.ensemble(1.0, {"k": np.ones(10**7)}), "GB of memory"),
    ):
        with pytest.raises(ModelError, match=text):
            call()


# Stores ---------------------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch):
    """Numbers of lanes that were run."""
    seen = []

    def run(sim, task, lane, block):
        seen.append(task.first + lane)
        run_lane(sim, task, lane, block)

    monkeypatch.setattr("modia_py.studies.lane_runs.run_lane", run)
    return seen


def test_a_store_is_resumed(decay, tmp_path, counted):
    k = np.linspace(0.5, 1.5, 100)
    whole = decay.ensemble(1.0, {"k": k}, times=3)
    counted.clear()
    store = tmp_path / "store"
    first = decay.ensemble(1.0, {"k": k}, times=3, store=store)
    assert sorted(counted) == list(range(100))
    assert np.array_equal(first["x"], whole["x"])
    counted.clear()
    blocks = sorted(store.glob("lanes_*.nc"))
    blocks[3].unlink()  # lost
    data = bytearray(blocks[5].read_bytes())
    data[len(data) // 2] ^= 1  # damaged
    blocks[5].write_bytes(data)
    blocks[7].write_bytes(blocks[7].read_bytes()[:1000])  # half written
    (store / "lanes_00000000.partial").write_bytes(b"half")
    partly = Ensemble.load(store)
    assert (partly.status == "NOT_RUN").sum() == 9
    again = decay.ensemble(1.0, {"k": k}, times=3, store=store)
    assert sorted(counted) == [9, 10, 11, 15, 16, 17, 21, 22, 23]
    assert np.array_equal(again["x"], whole["x"])
    assert np.array_equal(Ensemble.load(store).parameters["k"], k)


def test_another_store_is_refused(decay, mass, tmp_path):
    store, k = tmp_path / "store", [1.0, 2.0, 3.0]
    decay.ensemble(1.0, {"k": k}, times=3, store=store)
    for call, text in (
        (
            lambda: mass.ensemble(1.0, {"c": k}, times=3, store=store),
            "another model: Decay, not SlidingMass",
        ),
        (
            lambda: translate(Decay(x=2.0)).ensemble(1.0, {"k": k}, times=3, store=store),
            "other equations or declared values",
        ),
        (lambda: decay.ensemble(1.0, {"k": k[:2]}, times=3, store=store), "3 lanes, not 2"),
        (lambda: decay.ensemble(1.0, {"k": k[::-1]}, times=3, store=store), "other values of parameters"),
        (lambda: decay.ensemble(1.0, {"k": k}, times=3, rtol=1e-5, store=store), "other options"),
        (lambda: decay.ensemble(1.0, {"k": k}, times=4, store=store), "other options"),
        (lambda: decay.ensemble(1.0, {"k": k}, times=3, outputs=["der(x)"], store=store), "other outputs"),
    ):
        with pytest.raises(ModelError, match=text):
            call()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    with pytest.raises(ModelError, match="is no store of an ensemble"):
        decay.ensemble(1.0, {"k": k}, times=3, store=tmp_path / "other")
    with pytest.raises(ModelError, match="no store of an ensemble"):
        Ensemble.load(tmp_path / "other")


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_keeps_what_was_finished(decay, tmp_path, monkeypatch, counted):
    k = np.linspace(0.5, 1.5, 64)
    put, puts = runs.EnsembleStore.put, []

    def interrupting(self, block):
        put(self, block)
        puts.append(block.first)
        if len(puts) == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(runs.EnsembleStore, "put", interrupting)
    with pytest.raises(SimulationInterrupted) as caught:
        decay.ensemble(1.0, {"k": k}, times=3, store=tmp_path / "s")
    assert caught.value.result.lanes == 64
    finished = int(caught.value.result.success.sum())
    assert 10 <= finished < 64
    monkeypatch.undo()
    assert threading.active_count() < 50
    assert (Ensemble.load(tmp_path / "s").status == "NOT_RUN").sum() == 64 - finished
    again = decay.ensemble(1.0, {"k": k}, times=3, store=tmp_path / "s")
    assert again.success.all()
    assert np.array_equal(again["x"], decay.ensemble(1.0, {"k": k}, times=3)["x"])


KILLED = """
import numpy as np
from modia_py import translate
from modia_py.models.examples import Decay
k = np.linspace(0.5, 1.5, 960)
translate(Decay()).ensemble(1.0, {"k": k}, times=3, store="store", progress=False)
"""


def test_a_killed_process_leaves_a_store_that_is_resumed(decay, tmp_path, counted):
    process = subprocess.Popen([sys.executable, "-c", KILLED], cwd=tmp_path)
    while process.poll() is None and len(list(tmp_path.glob("store/lanes_*.nc"))) < 3:
        time.sleep(0.005)
    process.kill()
    process.wait()
    there = len(list(tmp_path.glob("store/lanes_*.nc")))
    assert 3 <= there < 32
    k = np.linspace(0.5, 1.5, 960)
    found = decay.ensemble(1.0, {"k": k}, times=3, store=tmp_path / "store")
    assert found.success.all()
    assert len(counted) == 960 - 30 * there
    assert np.allclose(found["x"][:, -1], np.exp(-k), rtol=1e-4)


# Executors ------------------------------------------------------------------------------------------------


def test_threads_of_an_executor(decay):
    k = np.linspace(0.5, 1.5, 10)
    with ThreadPoolExecutor(2) as executor:
        found = decay.ensemble(1.0, {"k": k}, times=3, executor=executor)
    assert np.array_equal(found["x"], decay.ensemble(1.0, {"k": k}, times=3)["x"])


def test_a_model_is_sent_by_its_class_and_arguments(mass):
    sent = pickle.loads(pickle.dumps(translate(HeatRod(5))))
    assert sent.flat.unknowns == translate(HeatRod(5)).flat.unknowns

    class Inside(Decay):
        pass

    with pytest.raises(ModelError, match="inside of a function"):
        translate(Inside()).check_sendable()
    with pytest.raises(ModelError, match="cannot be sent"):
        translate(Takes(lambda: 3)).check_sendable()
    changed = Decay()
    changed.extra = Var(init=1.0)
    with pytest.raises(ModelError, match="FlatModel cannot be sent"):
        pickle.dumps(translate(mass.flat))


class Takes(Decay):
    def __init__(self, function, **changes):
        super().__init__(**changes)


def test_a_model_that_was_changed_later_is_not_taken_for_the_same(decay):
    remake, (cls, arguments, named, options, _) = decay.__reduce__()
    with pytest.raises(ModelError, match="not the same model here"):
        remake(cls, arguments, named, options, "another digest")


def test_a_class_in_main_is_refused_by_workers_that_have_another_one(decay, monkeypatch):
    monkeypatch.setattr(Decay, "__module__", "__main__")
    with pytest.raises(ModelError, match="defined in __main__, which workers do not have"):
        decay.check_sendable()


@pytest.mark.slow
def test_dask_goes_on_when_a_worker_is_killed(decay, tmp_path):
    distributed = pytest.importorskip("distributed")
    k = np.linspace(0.5, 1.5, 400)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        killer = threading.Thread(target=_kill_later, args=(pids[0], tmp_path / "store"))
        killer.start()
        found = decay.ensemble(1.0, {"k": k}, times=3, executor=client, store=tmp_path / "store")
        killer.join()
        assert pids[0] not in client.run(os.getpid).values()
    assert found.success.all()
    assert np.array_equal(found["x"], decay.ensemble(1.0, {"k": k}, times=3)["x"])


def _kill_later(pid: int, store: Path) -> None:
    """When the first block is there."""
    for _ in range(6000):
        if list(store.glob("lanes_*.nc")):
            break
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
