"""The command `modia`: what it hands to the model, what it prints, its exit codes."""

from __future__ import annotations

import subprocess
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import modia_py
from modia_py import command_line, command_values
from modia_py.errors import ModelError, ModelWarning, ModiaError
from modia_py.model_reference import Reference, UsageError, make_model, parse_reference
from modia_py.results.result import Result
from modia_py.solvers.status import Status

from .sample_results import sample_result

MODEL = """
from modia_py import Model, Par, Var, der

class Decay(Model):
    k = Par(2.0)

    def __init__(self, n=3, **changes):
        super().__init__(**changes)
        self.x = Var(n, init=1.0)

    def equations(self):
        return [der(self.x) == -self.k * self.x]

ready = Decay(7)
number = 3

def factory(n):
    return Decay(2 * n)

def wrong():
    return 3
"""


class FailedRun(ModiaError):
    """An error that carries what was computed."""

    def __init__(self, text, result):
        super().__init__(text)
        self.result = result


class Fake:
    """Stands for `translate`: remembers what it was called with, and answers as it is told."""

    def __init__(self):
        self.answer = sample_result()
        self.model = self.arguments = None

    def translate(self, model):
        self.model = model
        return self

    def simulate(self, stop_time, **options):
        self.arguments = {"stop_time": stop_time, **options}
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def report(self):
        return "index 2, 3 states"


@pytest.fixture
def fake(monkeypatch):
    stand_in = Fake()
    module = types.ModuleType("modia_py.translate")
    module.translate = stand_in.translate
    monkeypatch.setitem(sys.modules, "modia_py.translate", module)
    monkeypatch.setattr(modia_py, "translate", module, raising=False)
    # The stand-in has no names to compare with: `real` is for that.
    monkeypatch.setattr(command_values.Asked, "check", lambda *_: None)
    return stand_in


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "decay_of_test.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("decay_of_test", None)


def modia(*arguments):
    return command_line.main(list(arguments))


def test_everything_reaches_the_simulation(fake, folder):
    code = modia(
        *("simulate", "decay_of_test.py:Decay(5)", "--stop", "10", "--start", "1", "-p", "k=3"),
        *("-p", "c.C=[1, 2e-3]", "--init", "x=-1.5", "--points", "11", "--rtol", "1e-4"),
    )
    assert code == 0
    assert type(fake.model).__name__ == "Decay"
    assert fake.model.x.shape == (5,)
    assert fake.arguments == {
        "stop_time": 10.0,
        "start_time": 1.0,
        "params": {"k": 3, "c.C": [1, 2e-3]},
        "init": {"x": -1.5},
        "inputs": {},
        "times": 11,
        "rtol": 1e-4,
        "progress": False,  # not on a terminal here
    }


def test_the_text_of_the_result_is_printed(fake, folder, capsys):
    assert modia("simulate", "decay_of_test.py:Decay", "--stop", "1") == 0
    assert capsys.readouterr().out == f"{fake.answer!r}\n"
    assert modia("simulate", "decay_of_test.py:Decay", "--stop", "1", "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_chosen_variables_are_shown_over_time(fake, folder, capsys):
    arguments = ("--stop", "1", "--quiet", "--show", "s,der(s), b.r[0, 1],m")
    assert modia("simulate", "decay_of_test.py:Decay", *arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "time  s in m  der(s) in m/s  b.r[0, 1] in m    m"
    assert len(lines) == 12
    assert lines[-1].split() == ["2", "4", "4", "3", "1.5"]


def test_results_are_saved_and_plotted(fake, folder):
    pytest.importorskip("h5netcdf")
    pytest.importorskip("matplotlib")
    arguments = ("--stop", "1", "--save", "out.nc", "--plot", "out.png", "--show", "s")
    assert modia("simulate", "decay_of_test.py:Decay", *arguments) == 0
    np.testing.assert_array_equal(Result.load("out.nc")["r"], sample_result()["r"])
    assert Path("out.png").read_bytes()[:4] == b"\x89PNG"


def test_a_failed_run_keeps_what_it_computed(fake, folder, capsys):
    pytest.importorskip("h5netcdf")
    partial = sample_result(points=5, status=Status.NEWTON, message="No convergence at 0.4 s.")
    fake.answer = FailedRun("The run failed at 0.4 s.", partial)
    assert modia("simulate", "decay_of_test.py:Decay", "--stop", "1", "--save", "out.nc") == 1
    printed = capsys.readouterr()
    assert printed.err == "The run failed at 0.4 s.\n"
    assert "NEWTON, 5 points from 0 to 0.4 s" in printed.out
    assert len(Result.load("out.nc").time) == 5


def test_errors_are_their_text_only(fake, folder, capsys):
    fake.answer = ModelError("k is zero (decay.py:5).")
    assert modia("simulate", "decay_of_test.py:Decay", "--stop", "1") == 1
    assert capsys.readouterr() == ("", "k is zero (decay.py:5).\n")
    fake.answer = sample_result(status=Status.INTERRUPTED)
    assert modia("simulate", "decay_of_test.py:Decay", "--stop", "1") == 1


def test_an_interrupt_is_no_traceback(fake, folder, capsys):
    fake.answer = KeyboardInterrupt()
    assert modia("simulate", "decay_of_test.py:Decay", "--stop", "1") == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_progress_only_on_a_terminal(fake, folder, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    modia("simulate", "decay_of_test.py:Decay", "--stop", "1")
    assert fake.arguments["progress"] is True
    modia("simulate", "decay_of_test.py:Decay", "--stop", "1", "--quiet")
    assert fake.arguments["progress"] is False


def test_an_unknown_name_to_show_comes_after_saving(fake, folder, capsys):
    pytest.importorskip("h5netcdf")
    arguments = ("--stop", "1", "--save", "out.nc", "--show", "S", "--quiet")
    assert modia("simulate", "decay_of_test.py:Decay", *arguments) == 1
    assert "has no 'S'. Did you mean 's'?" in capsys.readouterr().err
    assert Path("out.nc").exists()


def test_warnings_are_one_line(fake, folder, capsys, monkeypatch):
    def report():
        warnings.simplefilter("always")
        warnings.warn("x is not used.", ModelWarning, stacklevel=1)
        return "index 1"

    monkeypatch.setattr(fake, "report", report)
    assert modia("report", "decay_of_test.py:Decay") == 0
    assert capsys.readouterr() == ("index 1\n", "warning: x is not used.\n")


def test_report(fake, folder, capsys):
    assert modia("report", "decay_of_test:Decay(n=4)") == 0
    assert capsys.readouterr().out == "index 2, 3 states\n"
    assert fake.model.x.shape == (4,)


def test_demo(monkeypatch):
    from modia_py.models import demo

    calls = []
    monkeypatch.setattr(demo, "main", lambda: calls.append("demo"))
    assert modia("demo") == 0
    assert calls == ["demo"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["decai_of_test.py:Decay"], "There is no file decai_of_test.py. Did you mean 'decay_of_test.py'?"),
        (["nowhere/a.py:Decay"], "There is no file nowhere/a.py."),
        (["no_such.module:Decay"], "There is no module 'no_such.module'."),
        (["decay_of_test.py:Decey"], "decay_of_test.py has no 'Decey'. Did you mean 'Decay'?"),
        (["decay_of_test.py:number"], "number of decay_of_test.py is not a model."),
        (["decay_of_test.py:wrong()"], "wrong makes a int, not a Model."),
        (["decay_of_test.py:ready(3)"], "ready is a model already and takes no arguments."),
        (
            ["decay_of_test.py:Decay(1, 2)"],
            "Decay(n=3, **changes) cannot be made with these arguments: too many",
        ),
        (["decay_of_test.py:Decay(open('f'))"], "is not a class with literal arguments"),
        (["decay_of_test.py:Decay(1) + Decay(2)"], "is not a class with literal arguments"),
        (["Decay"], "'Decay' does not name a model. Write FILE.py:Model or package.module:Model."),
        (
            ["decay_of_test.py", "-p", "k"],
            "'k' is not NAME=VALUE with a number or a list, such as r.R=2.5.",
        ),
        (["decay_of_test.py", "-p", "k=two"], "'k=two' is not NAME=VALUE"),
        (["decay_of_test.py", "-p", "=2"], "'=2' is not NAME=VALUE"),
        (["decay_of_test.py", "--init", "x='a'"], "is not NAME=VALUE"),
        (["decay_of_test.py", "--points", "1"], "--points 1: at least the start and the end are needed."),
        (["decay_of_test.py", "--start", "2"], "--stop 1 is not after the start, 2."),
        (["decay_of_test.py", "--rtol", "0"], "--rtol 0 is not between 1e-14 and 0.1."),
        (["decay_of_test.py", "--rtol", "0.5"], "--rtol 0.5 is not between 1e-14 and 0.1."),
        (["decay_of_test.py", "--save", "out.csv"], "under the name of another format: save('result.nc')."),
        (["decay_of_test.py", "--save", "none/out.nc"], "There is no folder none for none/out.nc."),
        (["decay_of_test.py", "--plot", "out.xyz"], "--plot out.xyz: the ending must be one of"),
    ],
)
def test_wrong_usage_is_refused_before_anything_runs(fake, folder, capsys, arguments, message):
    assert modia("simulate", *arguments, "--stop", "1") == 2
    assert message in capsys.readouterr().err
    assert fake.arguments is None


PLANT = """
from modia_py import Input, Model, Par, Var, der

class Plant(Model):
    k = Par(2.0, nonzero=True)
    u = Input(unit="N")
    w = Input(2)
    x = Var(init=0.0, unit="m")
    y = Var(2)

    def equations(self):
        return [der(self.x) == self.u - self.k * self.x, self.y == self.w * self.x]
"""
RUN = ("simulate", "plant_of_test.py", "--stop", "2", "--quiet")
BOTH = ("--input", "u=1", "--input", "w=[1, 2]")


@pytest.fixture
def plant(folder):
    (folder / "plant_of_test.py").write_text(PLANT)
    yield folder
    sys.modules.pop("plant_of_test", None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*BOTH, "-p", "K=1"), "modia: -p K=1: Plant has no parameter 'K'. Did you mean 'k'?"),
        ((*BOTH, "-p", "k=0"), "modia: -p k=0: "),
        ((*BOTH, "-p", "k=[1, 2]"), "modia: -p k=[1, 2]: The value of k has shape (2,), expected ()."),
        ((*BOTH, "--init", "z=1"), "modia: --init z=1: Plant has no variable 'z'."),
        ((*BOTH, "--init", "x=[1, 2]"), "modia: --init x=[1, 2]: The start value of x has shape (2,)"),
        ((*BOTH, "--show", "x,der(z)"), "modia: --show der(z): The result of Plant has no 'der(z)'."),
        ((*BOTH, "--show", "a.*"), "modia: --show a.*: Nothing in the result of Plant matches 'a.*'."),
        (("--input", "v=1"), "modia: --input v=1: Plant has no input 'v'. Known names: u, w."),
        (("--input", "u=1"), "Plant has the input w: give a table, --input w=table.csv, or a number"),
        (("--input", "u=no.csv"), "--input u=no.csv: there is no file no.csv. Did you mean 'bad.csv'?"),
        (("--input", "u=bad.csv"), "--input u=bad.csv: line 2 of bad.csv is not a time and values"),
        (("--input", "u=bad.csv,sideways"), "an interpolation is one of linear, previous, cubic, akima."),
        (("--input", "u"), "--input u: write NAME=TABLE.csv, NAME=TABLE.csv,previous or NAME=NUMBER."),
        ((*BOTH, "--times", "1:2"), "--times 1:2: write times, 0,0.5,2, or FIRST:LAST:STEP, 0:10:0.1."),
        ((*BOTH, "--times", "1:0:1"), "--times 1:0:1: write times"),
        ((*BOTH, "--times", "0:3:1"), "--times 0:3:1: times go from 0 to 3, the simulation from 0 to 2."),
        (
            (*BOTH, "-p", "x=1"),
            "-p x=1: 'x' is a variable of Plant, not a parameter: its start is given as ",
        ),
        ((*BOTH, "-p", "x=1"), "its start is given as --init x=..."),
    ],
)
def test_wrong_names_are_refused_before_the_run_with_what_was_typed(
    plant, capsys, monkeypatch, arguments, message
):
    (plant / "bad.csv").write_text("0, 1\n1, one\n")

    def run(*_, **__):
        raise AssertionError("it ran")

    monkeypatch.setattr(modia_py.CompiledModel, "simulate", run)
    assert modia(*RUN, *arguments) == 2
    assert message in capsys.readouterr().err


def test_inputs_are_tables_and_output_times_are_chosen(plant, capsys):
    (plant / "table.csv").write_text("time;w;u\n0;9;1.0\n1;9;3.0\n2;9;3.0\n")
    (plant / "w.csv").write_text("0, 1, 2\n2, 5, 6\n")
    arguments = ("--input", "u=table.csv,previous", "--input", "w=w.csv", "--times", "0:2:0.5")
    assert modia(*RUN, *arguments, "--show", "u,w,x", "--rtol", "1e-8") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    rows = {float(line[0]): line for line in lines}  # the row after the jump
    assert set(rows) == {0.0, 0.5, 1.0, 1.5, 2.0}
    assert [rows[t][1] for t in (0.0, 0.5, 1.0, 2.0)] == ["1", "1", "3", "3"]
    assert rows[0.5][2:4] == ["[2,", "3]"]
    expected = 1.5 - (1.5 - (1 - np.exp(-2)) / 2) * np.exp(-2)
    assert float(rows[2.0][-1]) == pytest.approx(expected, rel=1e-4)


def test_a_new_model_runs_and_is_not_written_over(folder, capsys):
    assert modia("new", "spring_of_test") == 0
    assert "modia simulate spring_of_test.py --stop 5 --plot oscillator.png" in capsys.readouterr().out
    assert modia("simulate", "spring_of_test.py", "--stop", "5", "--plot", "out.png") == 0
    assert Path("out.png").stat().st_size > 5000
    assert "s                m     0.1" in capsys.readouterr().out
    text = Path("spring_of_test.py").read_text()
    assert modia("new", "spring_of_test.py") == 2
    assert "spring_of_test.py is there already" in capsys.readouterr().err
    assert modia("new", "none/model.py") == 2
    assert "There is no folder none for none/model.py." in capsys.readouterr().err
    assert Path("spring_of_test.py").read_text() == text
    assert modia("new", "my spring") == 0
    assert "modia simulate 'my spring.py' --stop 5" in capsys.readouterr().out
    sys.modules.pop("spring_of_test", None)


def test_arguments_that_the_parser_refuses(capsys):
    for arguments in ([], ["simulate", "a.py:A"], ["simulate", "a.py:A", "--stop", "soon"], ["fly"]):
        with pytest.raises(SystemExit) as caught:
            modia(*arguments)
        assert caught.value.code == 2
    assert "invalid float value: 'soon'" in capsys.readouterr().err


def test_help_has_examples(capsys):
    for arguments in (["--help"], ["simulate", "--help"], ["report", "--help"]):
        with pytest.raises(SystemExit) as caught:
            modia(*arguments)
        assert caught.value.code == 0
        assert "modia simulate pendulum.py:Pendulum --stop 10 --plot" in capsys.readouterr().out


def test_an_error_in_the_file_shows_where_in_the_file(fake, folder, capsys):
    Path("broken_of_test.py").write_text("a = 1\nb = 1 / 0\n")
    assert modia("report", "broken_of_test.py:Decay") == 1
    message = capsys.readouterr().err
    assert 'broken_of_test.py", line 2, in <module>' in message
    assert message.endswith("ZeroDivisionError: division by zero\n")
    assert "model_reference.py" not in message
    sys.modules.pop("broken_of_test", None)


def test_files_may_import_their_neighbours_and_hold_one_model(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "neighbour_of_test.py").write_text("SIZE = 4\n")
    text = "from neighbour_of_test import SIZE\n" + MODEL.replace("n=3", "n=SIZE")
    (folder / "sub" / "using_of_test.py").write_text(text)
    assert make_model("sub/using_of_test.py").x.shape == (4,)
    assert make_model("sub/using_of_test.py:ready").x.shape == (7,)
    assert make_model("sub/using_of_test.py:factory(3)").x.shape == (6,)
    (folder / "two_of_test.py").write_text(MODEL + "\nclass Other(Model):\n    pass\n")
    with pytest.raises(UsageError, match=r"Write two_of_test.py:Model \(one of Decay, Other\)"):
        make_model("two_of_test.py")


def test_references_with_colons_in_odd_places():
    assert parse_reference("C:\\models\\a.py:A") == Reference("C:\\models\\a.py", "A")
    assert parse_reference("a.py:A(x='b:C')") == Reference("a.py", "A", (), (("x", "b:C"),))
    assert parse_reference("a.py:A(-1, [2, 3.5], k=None)").positional == (-1, [2, 3.5])
    with pytest.raises(UsageError):
        parse_reference("a.py:A(**{'k': 1})")


def test_the_command_is_installed():
    command = Path(sys.executable).with_name("modia")
    if not command.exists():
        pytest.skip("scripts are elsewhere")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"modia_py {modia_py.__version__}\n"
