"""Results by name: values, elements, derivatives, messages, text."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from modia_py.errors import ModelError, UnknownNameError
from modia_py.results.result import Result, ResultVariable
from modia_py.solvers.status import Status

from .sample_results import STATISTICS, TIME, VALUES, sample_result


@pytest.mark.parametrize("key", VALUES, ids=str)
def test_whole_variables_and_derivatives(key):
    name, order = key
    text = (name, f"der({name})", f"der2({name})")[order]
    np.testing.assert_array_equal(sample_result()[text], VALUES[key])


CHAIN = VALUES["c.p.v", 0]
VECTORS = VALUES["b.r", 0]
NESTED = VALUES["d.a.x", 0]
BIG = VALUES["big.u", 0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time", TIME),
        ("der(der(s))", VALUES["s", 2]),
        ("r[2]", VALUES["r", 0][:, 2]),
        ("r[-1]", VALUES["r", 0][:, 2]),
        ("r[:2]", VALUES["r", 0][:, :2]),
        ("r[[2, 0]]", VALUES["r", 0][:, [2, 0]]),
        ("r[1:][0]", VALUES["r", 0][:, 1]),
        ("der(r[1])", VALUES["r", 1][:, 1]),
        ("der(r)[1]", VALUES["r", 1][:, 1]),
        (" der( r [1] ) ", VALUES["r", 1][:, 1]),
        ("c[3].p.v", CHAIN[:, 3]),
        ("c[-1].p.v", CHAIN[:, -1]),
        ("c[::2].p.v", CHAIN[:, ::2]),
        ("c[[4, 0]].p.v", CHAIN[:, [4, 0]]),
        ("c.p.v[3]", CHAIN[:, 3]),
        ("b[1].r", VECTORS[:, 1]),
        ("b[1].r[2]", VECTORS[:, 1, 2]),
        ("b.r[1]", VECTORS[:, 1]),  # as in equations: axes of component arrays come first
        ("b.r[:, 2]", VECTORS[:, :, 2]),
        ("b[1:].r[0, 2]", VECTORS[:, 1, 2]),
        ("b[...].r[..., 0]", VECTORS[:, :, 0]),
        ("d[2].a.x", NESTED[:, 2]),
        ("d.a[1].x", NESTED[:, :, 1]),
        ("d[::-1].a[1].x", NESTED[:, ::-1, 1]),
        ("d[1].a[0].x", NESTED[:, 1, 0]),
        ("big[::100].u", BIG[:, ::100]),
        ("big[999].u", BIG[:, 999]),
        ("l[0].x", -TIME),  # a member of a list: its number is part of its name
    ],
)
def test_elements(text, expected):
    result = sample_result()
    assert text in result
    np.testing.assert_array_equal(result[text], expected)
    np.testing.assert_array_equal(result.final(text), expected[-1])


@pytest.mark.parametrize(("text", "expected"), [("m", 1.5), ("c[2].C", 3.0), ("c.C[1:]", [2, 3, 4, 5])])
def test_parameters_are_not_repeated_over_time(text, expected):
    result = sample_result()
    np.testing.assert_array_equal(result[text], expected)
    np.testing.assert_array_equal(result.final(text), expected)


def test_without_knowing_which_segments_are_arrays_indices_go_in_their_order():
    variable = ResultVariable("sub.c.p.v", (5,), lead=1)
    result = Result("M", TIME, {variable.name: variable}, lambda *_: CHAIN)
    np.testing.assert_array_equal(result["sub.c[3].p.v"], CHAIN[:, 3])
    assert variable.element(3) == "sub.c.p.v[3]"
    np.testing.assert_array_equal(result[variable.element(3)], CHAIN[:, 3])


def test_the_name_of_an_element_reads_that_element():
    result = sample_result()
    for name, variable in result.variables.items():
        for k in range(0, variable.size, 7):
            if variable.shape:
                expected = result[name].reshape(len(TIME), -1)[:, k]
                np.testing.assert_array_equal(result[variable.element(k)], expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S", "The result of Sample has no 'S'. Did you mean 's'?"),
        ("b[1].q.v", "The result of Sample has no 'b[1].q.v'. Did you mean 'c.p.v'?"),
        ("l[1].x", "The result of Sample has no 'l[1].x'. Did you mean 'l[0].x'?"),
        ("der(position)", "The result of Sample has no 'der(position)'. Known names: s, r, c.p.v,"),
        ("sin(s)", "The result of Sample has no 'sin(s)'."),
        ("r[0.5]", "The result of Sample has no 'r[0.5]'."),
        ("s s", "The result of Sample has no 's s'."),
        (
            "c[5].p.v",
            "'c[5].p.v' selects nothing: c.p.v has shape (5,) (index 5 is out of bounds for axis 0",
        ),
        ("c.p[0].v", "'c.p[0].v' selects nothing: c.p.v has shape (5,) (p is not a component array)."),
        ("c[0][0].p.v", "a component array has one axis"),
        ("s[0]", "'s[0]' selects nothing: s is a scalar"),
        ("r[::0]", "slice step cannot be zero"),
        ("der(m)", "m is a parameter: it is constant and has no derivative here."),
        (3, "A result is asked by name, such as result['time'], not 3."),
        (
            "der3(s)",
            "der3(s) is not part of the equations and was not computed. There is der(s) and der2(s). "
            "Declare a variable for it, or differentiate the values numerically: "
            "np.gradient(result['der2(s)'], result.time, axis=0).",
        ),
        (
            "der(c[0].p.v)",
            "der(c.p.v) is not part of the equations and was not computed. None of its derivatives is.",
        ),
    ],
)
def test_what_is_not_there_is_said(text, message):
    result = sample_result()
    assert text not in result
    with pytest.raises(UnknownNameError) as caught:
        result[text]
    assert message in str(caught.value)
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, ModelError)


def test_values_are_read_once_and_cannot_be_changed():
    reads = []
    values = TIME.copy()

    def read(name, order):
        reads.append((name, order))
        return values if order == 0 else None

    result = Result("M", TIME, {"x": ResultVariable("x", ())}, read)
    assert reads == []
    result["x"], result.final("x")
    assert "der(x)" not in result
    assert "der(x)" not in result
    assert reads.count(("x", 0)) == 1
    assert reads.count(("x", 1)) == 1
    for array in (result["x"], result.time, sample_result()["c.C"], sample_result()["r[1:]"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    values[0] = 7.0  # whoever made the array may still write to it


def test_a_wrong_shape_from_the_reader_is_noticed():
    result = Result("M", TIME, {"x": ResultVariable("x", (2,))}, lambda *_: TIME)
    with pytest.raises(ValueError, match=r"x was read as \(21,\), expected \(21, 2\)"):
        result["x"]


def test_names_and_iteration():
    result = sample_result()
    assert list(result) == list(result.names)
    assert result.names[:3] == ("s", "r", "c.p.v")
    assert set(result.parameters) == {"m", "c.C", "n"}
    assert "m" in result._ipython_key_completions_()


def test_status():
    assert sample_result().success
    failed = sample_result(status=Status.NEWTON, message="No convergence.")
    assert not failed.success
    assert "Sample: NEWTON, 21 points from 0 to 2 s\nNo convergence.\n" in repr(failed)


def test_statistics_read_like_counters_and_like_text():
    stats = sample_result().stats
    assert (stats.steps, stats.rejected, stats.linear_solver) == (120, 4, "klu")
    with pytest.raises(AttributeError):
        stats.stepz
    assert stats.line == (
        "120 steps (4 rejected), 400 residuals, 0 Jacobians, 0 factorizations, klu, 1.25 s"
    )
    assert "method: bdf: ndf of order 1 to 5" in str(stats)
    assert "time: translate 0.25 s, integrate 1 s" in str(stats)
    assert "multipliers of constraints (small is good): 3e-09 length, 2e-12 angle" in str(stats)
    assert type(stats).from_json(stats.to_json()) == STATISTICS


def test_text():
    assert repr(sample_result()) == (
        "Sample: SUCCESS, 21 points from 0 to 2 s\n"
        "120 steps (4 rejected), 400 residuals, 0 Jacobians, 0 factorizations, klu, 1.25 s\n"
        "\n"
        "  variable  shape  unit  start      end\n"
        "  s                m     0          4\n"
        "  r         3      m     [0, 0, 0]  [2.4, 3.2, 0]\n"
        "  c.p.v     5      V     0 ... 4    2 ... 6\n"
        "  b.r       4 x 3  m     0 ... 32   2 ... 34\n"
        "  d.a.x     3 x 2        0 ... 21   2 ... 23\n"
        "  big.u     1000   V     1          2.8458e-10 ... 0.13534\n"
        "  l[0].x                 0          -2\n"
        "  ... and 3 parameters\n"
        "\n"
        "note: s is 2 % <inaccurate>.\n"
        'note: A "quoted" word.'
    )


def test_text_counts_what_it_leaves_out_and_reads_nothing_large():
    variables = {f"x{k}": ResultVariable(f"x{k}", ()) for k in range(29)}
    huge = {"huge": ResultVariable("huge", (10**6,))}
    reads = []

    def read(name, order):
        reads.append(name)
        return TIME

    text = repr(Result("M", TIME, huge | variables, read))
    assert "  ... and 10 more variables" in text
    assert "huge" not in reads
    assert len(reads) == 19
    assert len(text.splitlines()) < 30


def test_text_of_a_run_that_ended_before_its_first_point():
    empty = sample_result(points=0, status=Status.INCONSISTENT, message="Not consistent.")
    assert repr(empty).startswith("Sample: INCONSISTENT, no points\nNot consistent.")
    assert "<svg" not in empty._repr_html_()
    with pytest.raises(UnknownNameError, match="no last value of s"):
        empty.final("s")


def test_html_has_the_same_content_escaped():
    from xml.etree import ElementTree

    page = sample_result()._repr_html_()
    assert "s is 2 % &lt;inaccurate&gt;." in page
    tree = ElementTree.fromstring(page.replace("<br>", "<br/>"))
    rows = [[cell.text or "" for cell in row.findall("td")][:5] for row in tree.iter("tr")][1:]
    assert rows[0] == ["s", "", "m", "0", "4"]
    assert rows[5] == ["big.u", "1000", "V", "1", "2.8458e-10 ... 0.13534"]
    curves = [len(list(row.iter("polyline"))) for row in tree.iter("tr")][1:]
    assert curves == [1, 3, 2, 2, 2, 2, 1]  # long vectors: the least and the largest


def test_names_with_stars():
    result = sample_result()
    assert result.expand("s") == ("s",)
    assert result.expand("*.u") == ("big.u",)
    assert result.expand("**.x") == ("d.a.x", "l[0].x")
    assert result.expand("der(?)") == ("der(s)", "der(r)")  # those that there are
    assert result.expand("c.*.v[2]") == ("c.p.v[2]",)
    assert result.expand("b[1:].?[:, 0]") == ("b[1:].r[:, 0]",)
    np.testing.assert_array_equal(result[result.expand("b[1].?")[0]], VALUES["b.r", 0][:, 1])
    assert result.expand("c.C*") == ("c.C",)  # a parameter, where no variable matches
    with pytest.raises(UnknownNameError, match=r"Nothing in the result of Sample matches 'x\.\*'"):
        result.expand("x.*")


def test_a_selection_is_a_result_of_some_variables():
    result = sample_result()
    chosen = result.select("s", "**.x", "c.*")
    assert chosen.names == ("s", "d.a.x", "l[0].x")
    assert set(chosen.parameters) == {"c.C"}
    assert set(result.select("c.**").names) == {"c.p.v"}
    np.testing.assert_array_equal(chosen["der(s)"], VALUES["s", 1])
    assert (chosen.model, chosen.status, chosen.stats) == (result.model, result.status, result.stats)
    assert "r" not in chosen
    with pytest.raises(
        UnknownNameError, match=r"is 'S': `select` takes whole ones and patterns. Did you mean 's'"
    ):
        result.select("S")
    with pytest.raises(UnknownNameError, match=r"is 'q.\*'"):
        result.select("s", "q.*")


def test_states_are_first_and_aliases_last():
    roles = {"a.x": "alias", "b.x": "", "y": "", "c.x": "state"}
    values = np.zeros(3)
    variables = {name: ResultVariable(name, (), role=role) for name, role in roles.items()}
    result = Result("M", np.arange(3.0), variables, lambda _, order: None if order else values)
    assert result.names_in_order == ("c.x", "y", "b.x", "a.x")
    lines = [line.split() for line in repr(result).splitlines()[4:]]
    assert [(line[0], line[-1]) for line in lines] == [
        ("c.x", "state"),
        ("y", "0"),
        ("b.x", "0"),
        ("a.x", "alias"),
    ]
    many = {f"n{k}.x": ResultVariable(f"n{k}.x", (), role="alias") for k in range(25)}
    result = Result("M", np.arange(3.0), {**many, **variables}, lambda _, order: None if order else values)
    assert repr(result).splitlines()[4].split()[0] == "c.x"
    assert repr(result).splitlines()[-1] == "  ... and 9 more variables (9 aliases)"


@pytest.mark.parametrize("copied", [lambda result: pickle.loads(pickle.dumps(result)), copy.deepcopy])
def test_results_travel_between_processes(copied):
    result = sample_result()
    again = copied(result)
    assert type(again) is Result
    for name, order in VALUES:
        np.testing.assert_array_equal(again.trajectory(name, order), result.trajectory(name, order))
    assert str(again) == str(result)
    assert (again.notes, again.status, again.message) == (result.notes, result.status, result.message)
    assert str(again.events) == str(result.events)
    np.testing.assert_array_equal(again.output_rows, result.output_rows)
