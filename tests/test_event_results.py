"""Results of runs with events: the table of events, discrete variables, files, plots, messages."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from modia_py import (
    Discrete,
    Input,
    Model,
    Par,
    SimulationError,
    Var,
    assign,
    der,
    elaborate,
    initial,
    pre,
    reinit,
    sample,
    simulate,
    terminal,
    terminate,
    time,
    when,
    where,
)
from modia_py.expressions.symbol_kinds import DiscreteRole
from modia_py.language.event_causes import EventCauses
from modia_py.results.events import Change, Event, EventTable
from modia_py.results.result import Result, ResultVariable
from modia_py.solvers.events import history
from modia_py.solvers.status import Status

HEIGHTS = [1.0, 1.5, 2.0]
G = 9.81


class Ball(Model):
    h = Var(init=1.0, unit="m")
    v = Var(init=0.0, unit="m/s")
    e = Par(0.7)
    count = Discrete(0, doc="bounces")
    odd = Discrete(False)

    def equations(self):
        return [
            der(self.h) == self.v,
            der(self.v) == -G,
            when(
                self.h < 0,
                reinit(self.v, -self.e * self.v),
                assign(self.count, pre(self.count) + 1),
                assign(self.odd, ~pre(self.odd)),
            ),
        ]


class Balls(Model):
    def __init__(self):
        super().__init__()
        self.ball = Ball.array(3)


@functools.cache
def balls() -> Result:
    return simulate(Balls(), 0.7, init={"ball.h": HEIGHTS}, times=8)


def bounces(result: Result) -> EventTable:
    return result.events.where(becomes=True)


def test_every_bounce_is_a_row_with_what_it_changed():
    rows = bounces(balls())
    np.testing.assert_allclose(rows.time, np.sqrt(2 * np.array(HEIGHTS) / G), rtol=1e-7)
    assert rows.component.tolist() == ["ball[0]", "ball[1]", "ball[2]"]
    assert set(rows.condition) == {"h < 0"}
    assert set(rows.kind) == {"crossing"}
    assert all(line.startswith("test_event_results.py:") for line in rows.line)
    for k, row in enumerate(rows):
        speed = np.sqrt(2 * G * HEIGHTS[k])
        changes = {change.name: change for change in row.changes}
        assert set(changes) == {f"ball[{k}].count", f"ball[{k}].odd", f"ball[{k}].v"}
        assert (changes[f"ball[{k}].count"].before, changes[f"ball[{k}].count"].after) == (0, 1)
        assert changes[f"ball[{k}].odd"].after is True
        np.testing.assert_allclose(changes[f"ball[{k}].v"].before, -speed, rtol=1e-6)
        np.testing.assert_allclose(changes[f"ball[{k}].v"].after, 0.7 * speed, rtol=1e-6)
        assert str(changes[f"ball[{k}].odd"]) == f"ball[{k}].odd: false -> true"


def test_discrete_variables_have_their_type_and_keep_their_value_between_events():
    result = balls()
    assert result["ball.count"].dtype == np.int64
    assert result["ball.odd"].dtype == bool
    assert result.final("ball.odd").tolist() == [True, True, True]
    assert result.variables["ball.count"].is_discrete
    assert not result.variables["ball.h"].is_discrete
    t = np.sqrt(2 * HEIGHTS[0] / G)
    early, late = result.time < t * (1 - 1e-6), result.time > t * (1 + 1e-6)
    assert (result["ball[0].count"][early] == 0).all()
    assert (result["ball[0].count"][late] == 1).all()
    text = str(result)
    assert "0 of 3 true" not in text  # short vectors are written out
    assert "[false, false, false]  [true, true, true]" in text


def test_one_row_for_each_time_that_was_asked_for():
    result = balls()
    assert len(result.time) > 8
    np.testing.assert_array_equal(result.time[result.output_rows], np.linspace(0.0, 0.7, 8))
    doubled = np.flatnonzero(np.diff(result.time) == 0)
    v = result["ball[0].v"]
    assert any(v[k] < 0 < v[k + 1] for k in doubled)


def test_where_an_event_is_asked_for_the_row_after_it_is_the_one():
    result = sampled()
    at_half = result.output_rows[np.flatnonzero(result.time[result.output_rows] == 0.5)]
    assert len(at_half) == 1
    assert result["u"][at_half[0]] == result["u"][result.time == 0.5][-1]
    assert result["u"][at_half[0]] != result["u"][result.time == 0.5][0]


def test_files_and_tables_keep_events_and_types(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    result, path = balls(), tmp_path / "balls.nc"
    result.save(path)
    again = Result.load(path)
    assert again.events.rows == result.events.rows
    assert dict(again.variables) == dict(result.variables)
    np.testing.assert_array_equal(again.output_rows, result.output_rows)
    for name in ("ball.count", "ball.odd"):
        assert again[name].dtype == result[name].dtype
        np.testing.assert_array_equal(again[name], result[name])
    data = result.to_xarray()
    assert "two rows" in data["time"].attrs["comment"]
    assert data["ball.odd"].dtype == bool
    assert data["event_condition"].values[0] == "h < 0"
    assert data.isel(time=data["output_rows"].values).sizes["time"] == 8
    with xarray.open_dataset(path) as raw:
        assert raw["ball.odd"].dtype == bool
        np.testing.assert_array_equal(raw["event_time"], result.events.time)
    frame = result.to_pandas("ball.count", "ball.odd")
    assert [str(kind) for kind in frame.dtypes] == ["int64"] * 3 + ["bool"] * 3
    table = result.events.to_pandas()
    assert list(table.columns) == ["time", "kind", "condition", "becomes", "component", "line", "changes"]
    assert "ball[0].count: 0 -> 1" in table["changes"][0]


def test_a_model_with_names_of_our_columns_can_be_saved(tmp_path):
    pytest.importorskip("h5netcdf")
    t = np.array([0.0, 1.0, 1.0, 2.0])
    variables = {name: ResultVariable(name, ()) for name in ("event_time", "event", "output_rows")}
    events = EventTable([Event(1.0, "stop", "the input u jumps", None, changes=(Change("x", None, 2.5),))])
    result = Result(
        "M",
        t,
        variables,
        lambda name, order: None if order else t,
        events=events,
        output_rows=np.array([0, 2, 3]),
    )
    result.save(tmp_path / "names.nc")
    again = Result.load(tmp_path / "names.nc")
    assert again.events.rows == events.rows
    np.testing.assert_array_equal(again["event_time"], t)
    np.testing.assert_array_equal(again.output_rows, [0, 2, 3])


def test_plots_have_steps_truth_values_and_marks():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    result = balls()
    figure = result.plot("ball.count", "ball.odd", "ball.v", events=True)
    count, odd, v = figure.axes

    def styles(*axes):
        """Of curves; events are marked by points."""
        return {
            line.get_drawstyle() for own in axes for line in own.lines if line.get_linestyle() != "None"
        }

    assert styles(count, odd) == {"steps-post"}
    assert styles(v) == {"default"}
    assert [tick.get_text() for tick in odd.get_yticklabels()] == ["false", "true"]
    marks = [segment[0][0] for segment in v.collections[0].get_segments()]
    np.testing.assert_array_equal(marks, np.unique(result.events.time))
    assert not result.plot("ball.v").axes[0].collections
    matplotlib.pyplot.close("all")


class Sampled(Model):
    u_in = Input()
    x = Var(init=1.0)
    u = Discrete(0.0)
    on = Discrete(False)
    ended = Discrete(False)
    high = Discrete(False)

    def equations(self):
        return [
            der(self.x) == -self.x + self.u + where(time > 0.7, 1.0, 0.0),
            when(sample(0.5), assign(self.u, 0.5 * self.x)),
            when(initial(), assign(self.on, True)),
            when(terminal(), assign(self.ended, True)),
            when(self.u_in > 0.5, assign(self.high, True)),
        ]


@functools.cache
def sampled() -> Result:
    table = ([0.0, 0.3, 1.2], [0.0, 1.0, 0.0], "previous")
    return simulate(Sampled(), 1.2, inputs={"u_in": table}, times=[0.0, 0.5, 1.1, 1.2])


def test_kinds_of_events():
    told = [(round(row.time, 9), row.kind, row.condition) for row in sampled().events]
    assert (0.0, "start", "initial()") in told
    assert (0.0, "start", "sample(0.5)") in told
    assert (0.3, "stop", "the input u_in jumps") in told
    assert (0.3, "follows", "u_in > 0.5") in told
    assert told.index((0.3, "stop", "the input u_in jumps")) < told.index((0.3, "follows", "u_in > 0.5"))
    assert (0.5, "time", "sample(0.5)") in told
    assert (0.7, "time", "time > 0.7") in told
    assert (1.0, "time", "sample(0.5)") in told
    assert (1.2, "end", "terminal()") in told
    assert [entry[0] for entry in told] == sorted(entry[0] for entry in told)


def test_what_start_end_and_inputs_change():
    result = sampled()
    changes = {(row.condition, change.name): change for row in result.events for change in row.changes}
    assert changes["initial()", "on"].after is True
    assert changes["terminal()", "ended"].after is True
    assert changes["u_in > 0.5", "high"].after is True
    assert result.final("ended")
    assert str(result.events.where(kind="start")[0]).startswith("0, start, ")


class Neuron(Model):
    v = Var(init=0.0)
    fired = Discrete(0)

    def equations(self):
        return [
            der(self.v) == 1.0,
            when(self.v > 1.0, reinit(self.v, 0.0), assign(self.fired, pre(self.fired) + 1)),
        ]


def test_a_condition_that_is_false_again_after_its_event_is_named():
    rows = simulate(Neuron(), 3.5, times=3).events
    np.testing.assert_allclose(rows.time, [1.0, 2.0, 3.0], rtol=1e-7)
    assert rows.condition.tolist() == ["v > 1"] * 3
    assert rows.becomes.tolist() == [True] * 3
    assert [change.name for change in rows[2].changes] == ["fired", "v"]
    np.testing.assert_allclose([rows[2].changes[1].before, rows[2].changes[1].after], [1.0, 0.0], atol=1e-6)


def test_events_whose_rows_were_dropped_are_told(monkeypatch):
    monkeypatch.setattr(history, "MOST_BYTES_OF_ROWS", 0.0)
    result = simulate(Neuron(), 3.5, times=3)
    np.testing.assert_array_equal(result.time, [0.0, 1.75, 3.5])
    np.testing.assert_array_equal(result.output_rows, [0, 1, 2])
    assert result["fired"].tolist() == [0, 1, 3]
    assert [str(change) for change in result.events[2].changes] == ["fired: 2 -> 3"]


class Clutch(Model):
    w1 = Var(init=10.0)
    w2 = Var(init=0.0)
    tau = Var()
    engaged = Discrete(False)

    def equations(self):
        return [
            2.0 * der(self.w1) == -self.tau,
            3.0 * der(self.w2) == self.tau,
            where(self.engaged, self.w1 - self.w2, self.tau) == 0.0,
            when(time >= 1.0, assign(self.engaged, True)),
        ]


def test_states_that_an_impulse_moves_are_told():
    (row,) = simulate(Clutch(), 2.0, times=3).events
    assert (row.time, row.kind, row.condition) == (1.0, "time", "time >= 1")
    after = {change.name: (change.before, change.after) for change in row.changes}
    assert after["engaged"] == (False, True)
    np.testing.assert_allclose([after["w1"], after["w2"]], [(10.0, 4.0), (0.0, 4.0)], atol=1e-6)


class Elementwise(Model):
    h = Var(3, init=1.0)
    low = Discrete(np.zeros(3, bool))
    some = Discrete(False)

    def equations(self):
        return [
            der(self.h) == -1.0,
            when(self.h < 0, assign(self.low, True)),
            when(np.any(self.h < 0), assign(self.some, True)),
        ]


def test_causes_are_elementwise_where_nothing_mixes_elements():
    flat = elaborate(Elementwise())
    causes = EventCauses(flat)
    places = {d.name: d.offset for d in flat.discretes}
    (relation,) = [d for d in flat.discretes if d.symbol.role is DiscreteRole.RELATION]
    for k in range(3):
        assert causes.of(places["low"] + k) == {relation.offset + k}
    assert causes.of(places["some"]) == {relation.offset + k for k in range(3)}


class Chattering(Model):
    x = Var(init=0.0)
    y = Var()

    def equations(self):
        return [
            der(self.x) == 1.0,
            self.y == where(self.y > 0.5, 0.0, 1.0) * where(self.x > 1.0, 1.0, 0.0),
        ]


class Unit(Model):
    def __init__(self, part):
        super().__init__()
        self.unit = part


def failure(model: Model, stop: float) -> SimulationError:
    with pytest.raises(SimulationError) as caught:
        simulate(model, stop, times=5)
    return caught.value


def test_conditions_that_chatter_are_named():
    error = failure(Unit(Chattering()), 2.0)
    assert error.result.status is Status.CHATTERING
    assert "at time 1." in str(error)
    assert "These change in every pass:\n    `y > 0.5` in unit (test_event_results.py:" in str(error)
    assert "x > 1" not in str(error)


class Undetermined(Model):
    x = Var(init=0.0)
    a = Var()
    b = Var()

    def equations(self):
        return [
            der(self.x) == 1.0,
            self.a + self.b == 2.0 * self.x,
            self.a + where(self.x > 1.0, 1.0, -1.0) * self.b == 1.0,
        ]


def test_a_mode_in_which_the_equations_are_singular_is_named():
    error = failure(Unit(Undetermined()), 2.0)
    assert error.result.status is Status.NO_RESTART
    text = str(error)
    assert "`x > 1` in unit (test_event_results.py:" in text
    assert ") holds, since now" in text
    assert "In this mode the equations do not determine all variables." in text
    assert "where(unit.x > 1, 1, -1)*unit.b == 1" in text
    assert "Not determined: " in text
    assert len(error.result.time)


class Settling(Model):
    h = Var(init=1.0)
    v = Var(init=0.0)

    def equations(self):
        return [
            der(self.h) == self.v,
            der(self.v) == -G,
            when(self.h < 0, reinit(self.v, -0.7 * self.v)),
        ]


def test_events_that_accumulate_are_named():
    error = failure(Unit(Settling()), 3.0)
    assert error.result.status is Status.ZENO
    text = str(error)
    assert "What has changed in the last 20 events, within " in text
    assert "`h < 0` in unit (test_event_results.py:" in text
    assert "times" in text.splitlines()[-1]
    limit = np.sqrt(2.0 / G) * (1 + 2 * 0.7 / (1 - 0.7))
    np.testing.assert_allclose(error.result.events.time[-1], limit, rtol=1e-3)


class Filling(Model):
    level = Var(init=0.0)

    def equations(self):
        return [der(self.level) == 1.0, when(self.level > 0.5, terminate("the tank is full"))]


def test_the_message_of_a_terminated_run_is_its_reason():
    result = simulate(Filling(), 2.0, times=5)
    assert result.success
    assert result.status is Status.TERMINATED
    assert result.message == "the tank is full"
    np.testing.assert_allclose(result.time[-1], 0.5, rtol=1e-6)
    assert result.events[-1].condition == "level > 0.5"
    assert "the tank is full" in str(result)


def test_a_table_reads_well_and_knows_its_columns():
    rows = [Event(float(k), "time", f"x > {k}", k % 2 == 0, "c[3]", "m.py:4") for k in range(100)]
    table = EventTable(rows)
    lines = str(table).splitlines()
    assert lines[0].split() == ["time", "kind", "condition", "becomes", "component", "line", "changes"]
    assert "... 70 more ..." in lines
    assert len(table) == len(list(table)) == 100
    assert table[99] is rows[99]
    assert len(table[:10]) == 10
    assert len(table.where(becomes=True)) == 50
    with pytest.raises(TypeError, match="no column 'colour'; there are time, kind"):
        table.where(colour=1)
    assert "of 100 rows" in table._repr_html_()
    many = Event(0.0, "time", "x", changes=tuple(Change(f"n[{k}]", 0, 1) for k in range(9)))
    assert str(many).endswith("n[3]: 0 -> 1; and 5 more")
    assert str(EventTable()) == "no events"
    assert str(Change("x", None, 2.0)) == "x: -> 2"


def test_a_result_without_events_has_an_empty_table():
    t = np.linspace(0.0, 1.0, 3)
    result = Result("M", t, {"x": ResultVariable("x", ())}, lambda name, order: t)
    assert len(result.events) == 0
    np.testing.assert_array_equal(result.output_rows, [0, 1, 2])


class Undisturbed(Model):
    """A discrete variable that nothing changes."""

    x = Var(init=1.0)
    k = Discrete([2.0, 3.0])

    def equations(self):
        return [der(self.x) == -self.k[0] * self.x]


def test_discrete_variables_without_events_keep_their_values():
    result = simulate(Undisturbed(), 1.0, times=3)
    assert result["k"].tolist() == [[2.0, 3.0]] * 3
    assert result.final("x") == pytest.approx(np.exp(-2.0), rel=1e-6)
    assert "k" in str(result)
