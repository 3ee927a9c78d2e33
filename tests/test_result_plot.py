"""Plots: panels, labels, curves, bands; never a display."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from modia_py import plot_results
from modia_py.errors import MissingPackageError, ModelError, UnknownNameError
from modia_py.results.events import Event, EventTable
from modia_py.results.result import Result, ResultVariable

from .sample_results import TIME, VALUES, sample_result

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def labels(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()] if axis.get_legend() else []


def test_a_panel_for_each_argument_with_units_and_time_below():
    figure = sample_result().plot("s", ("s", "der(s)"), "r", title="A mass")
    first, second, third = figure.axes
    assert [axis.get_ylabel() for axis in figure.axes] == ["s in m", "s, der(s)", "r in m"]
    assert [axis.get_xlabel() for axis in figure.axes] == ["", "", "time in s"]
    assert labels(first) == []
    assert labels(second) == ["s in m", "der(s) in m/s"]
    assert labels(third) == ["r[0]", "r[1]", "r[2]"]
    assert figure.get_suptitle() == "A mass"
    np.testing.assert_array_equal(first.lines[0].get_ydata(), TIME**2)
    np.testing.assert_array_equal(third.lines[1].get_ydata(), VALUES["r", 0][:, 1])


def test_a_large_component_array_is_a_band():
    (axis,) = sample_result().plot("big.u").axes
    assert labels(axis) == ["median", "all 1000", "middle half", "big[0].u", "big[999].u"]
    np.testing.assert_allclose(axis.lines[0].get_ydata(), np.median(VALUES["big.u", 0], axis=1))
    border = axis.collections[0].get_paths()[0].vertices[:, 1]
    assert border.min() == VALUES["big.u", 0].min()
    assert border.max() == VALUES["big.u", 0].max()


def test_selected_elements_keep_their_numbers():
    (axis,) = sample_result().plot("big[::250].u").axes
    assert labels(axis) == ["big[0].u", "big[250].u", "big[500].u", "big[750].u"]
    np.testing.assert_array_equal(axis.lines[2].get_ydata(), VALUES["big.u", 0][:, 500])


def test_a_dozen_elements_are_a_bundle_of_lines():
    (axis,) = sample_result().plot("b.r").axes
    assert len(axis.lines) == 12
    assert labels(axis) == ["b[0].r[0]", "b[3].r[2]"]


def test_parameters_are_dashed_lines():
    (axis,) = sample_result().plot(("s", "m")).axes
    assert set(axis.lines[1].get_ydata()) == {1.5}
    assert axis.lines[1].get_linestyle() == "--"


def test_without_names_the_first_six_variables():
    figure = sample_result().plot()
    assert [axis.get_ylabel() for axis in figure.axes] == [
        *("s in m", "r in m", "c.p.v in V", "b.r in m", "d.a.x", "big.u in V")
    ]


def test_panels_in_rows_and_columns():
    figure = sample_result().plot("s", "r", "c.p.v", panels=(2, 2))
    assert [axis.get_xlabel() for axis in figure.axes] == ["", "time in s", "time in s", ""]
    assert [axis.get_visible() for axis in figure.axes] == [True, True, True, False]
    with pytest.raises(ModelError, match=r"3 panels do not fit into panels=\(1, 2\)"):
        sample_result().plot("s", "r", "m", panels=(1, 2))


def test_given_axes():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2)
    assert sample_result().plot("s", "r", axes=axes) is figure
    assert axes[1].get_ylabel() == "r in m"
    with pytest.raises(ModelError, match="3 panels need 3 axes; 2 given"):
        sample_result().plot("s", "r", "m", axes=axes)


def test_scales_and_one_variable_over_another():
    result = sample_result()
    (axis,) = result.plot("big.u", x="log", y="log").axes
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    (axis,) = result.plot("der(s)", over="s").axes
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("s in m", "der(s) in m/s")
    np.testing.assert_array_equal(axis.lines[0].get_xdata(), TIME**2)
    np.testing.assert_array_equal(axis.lines[0].get_ydata(), 2 * TIME)
    (axis,) = result.plot("b.r[:, 1]", over="b.r[:, 0]").axes  # element by element
    np.testing.assert_array_equal(axis.lines[3].get_xdata(), VALUES["b.r", 0][:, 3, 0])
    for arguments, message in (
        ({"x": "s"}, "x='s' is none of 'linear', 'log'. To draw over a variable: over='s'."),
        ({"over": "c.p.v"}, "r has 3 elements and c.p.v has 5"),
        ({"over": "q"}, "has no 'q'"),
    ):
        with pytest.raises(ModelError) as caught:
            result.plot("r", **arguments)
        assert message in str(caught.value)
    with pytest.raises(ModelError, match=r"l\[0\].x has no positive values"):
        result.plot("l[0].x", y="log")
    with pytest.raises(ModelError, match="big.u has 1000 elements"):
        result.plot("big.u", over="s")


def test_a_pattern_is_a_panel():
    (axis,) = sample_result().plot("?").axes  # s and r; not m, which is a parameter
    assert labels(axis) == ["s", "r[0]", "r[1]", "r[2]"]
    with pytest.raises(UnknownNameError, match=r"Nothing in the result of Sample matches 'q\.\*'"):
        sample_result().plot("q.*")


def test_several_results_with_labels():
    runs = {"long": sample_result(), "short": sample_result(points=5)}
    figure = plot_results(runs, "s", ("s", "r"))
    first, second = figure.axes
    assert labels(first) == ["long", "short"]
    assert labels(second) == ["long: s", "short: s", *(f"{run}: r[{k}]" for run in runs for k in range(3))]
    assert first.get_ylabel() == "s in m"
    np.testing.assert_array_equal(first.lines[1].get_xdata(), TIME[:5])
    figure = sample_result().plot("s", label="one")
    sample_result(points=9).plot("s", label="two", axes=figure.axes)
    assert labels(figure.axes[0]) == ["one", "two"]
    assert len({line.get_color() for line in figure.axes[0].lines}) == 2
    with pytest.raises(ModelError, match="needs results by their labels"):
        plot_results({}, "s")


def made(name, values, time=TIME, **events):
    variable = ResultVariable(name, values.shape[1:], unit="K")
    return Result(
        "Made",
        time,
        {name: variable},
        lambda _, order: values if order == 0 else None,
        parameters={"z": np.linspace(0.5, 2.0, 4)},
        **events,
    )


def test_what_is_constant_is_drawn_as_that():
    noise = 1e-12 * np.sin(100 * TIME)
    (axis,) = made("T", 300 + noise).plot("T").axes
    low, high = axis.get_ylim()
    assert (low, high) == pytest.approx((285, 315))
    (axis,) = made("T", 300 + 1e7 * noise).plot("T").axes  # no rounding: it is shown, without an offset
    assert axis.get_ylim()[1] - axis.get_ylim()[0] < 1e-4
    axis.figure.draw_without_rendering()
    assert axis.yaxis.get_offset_text().get_text() == ""


def test_events_are_lines_and_points():
    time = np.array([0.0, 1.0, 1.0, 2.0])
    values = np.array([0.0, 1.0, 3.0, 4.0])
    result = made("T", values, time, events=EventTable([Event(1.0, "crossing", "T < 1")]))
    (axis,) = result.plot("T", events=True).axes
    assert len(axis.collections) == 1
    np.testing.assert_array_equal(axis.lines[1].get_xydata(), [[1.0, 1.0], [1.0, 3.0]])
    (axis,) = result.plot("time", over="T", events=True).axes
    assert len(axis.collections) == 0
    np.testing.assert_array_equal(axis.lines[1].get_xydata(), [[1.0, 1.0], [3.0, 1.0]])


def test_profiles():
    values = TIME[:, None] * np.arange(4.0)
    result = made("T", values)
    (axis,) = result.plot_profile("T", times=[0.0, 1.05, 2.0], x="z").axes
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["0 s", "1.05 s", "2 s"]
    np.testing.assert_allclose(axis.lines[1].get_xydata(), np.stack([result["z"], 1.05 * np.arange(4)], 1))
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("z", "T in K")
    assert len(result.plot_profile("T").axes[0].lines) == 5
    for name, arguments, message in (
        ("T[0]", {}, "T[0] is a scalar: `plot` draws it"),
        ("z", {}, "z is a parameter"),
        ("T", {"times": [3.0]}, "Time 3 is not in the result, which goes from 0 to 2 s."),
        ("T", {"x": [1, 2]}, "x has shape (2,); T has 4 elements"),
        ("T", {"x": [1, 3, 2, 4]}, "x must increase"),
        ("T", {"x": "T"}, "T moves"),
    ):
        with pytest.raises(ModelError) as caught:
            result.plot_profile(name, **arguments)
        assert message in str(caught.value)


def test_maps_over_time_and_space_and_at_times():
    values = TIME[:, None, None] * np.arange(4.0)[:, None] + np.arange(3.0)
    result = made("T", values)
    axis, scale = result.plot_map("T[:, 1]").axes
    assert (axis.get_xlabel(), axis.get_ylabel(), scale.get_ylabel()) == (
        "time in s",
        "i of T[i, 1]",
        "T[:, 1] in K",
    )
    np.testing.assert_array_equal(axis.collections[0].get_array(), values[:, :, 1].T)
    first, second, _ = result.plot_map("T", times=[1.0, 2.0], x="z").axes
    assert (first.get_title(), second.get_title()) == ("1 s", "2 s")
    assert (first.get_xlabel(), first.get_ylabel()) == ("z", "j of T[i, j]")
    np.testing.assert_array_equal(second.collections[0].get_array(), values[-1].T)
    assert first.collections[0].get_clim() == second.collections[0].get_clim() == (0.0, 8.0)
    cube = made("T", TIME[:, None, None, None] * np.arange(24.0).reshape(2, 3, 4))
    cuts = cube.plot_map("T").axes[:3]
    assert [axis.get_title() for axis in cuts] == [
        f"T{cut} at 2 s" for cut in ("[:, :, 2]", "[:, 1, :]", "[1, :, :]")
    ]
    np.testing.assert_array_equal(cuts[0].collections[0].get_array(), cube["T"][-1, :, :, 2].T)
    signed = made("T", np.outer(TIME, [-2.0, 1.0]))
    assert signed.plot_map("T").axes[0].collections[0].get_clim() == (-4.0, 4.0)
    with pytest.raises(ModelError, match=r"plot_profile\('T', times=...\)"):
        signed.plot_map("T", times=1.0)


def test_an_event_has_the_row_after_it_in_maps_and_profiles():
    time = np.array([0.0, 1.0, 1.0, 2.0])
    result = made("T", np.array([[0.0, 0.0], [1.0, 1.0], [5.0, 6.0], [7.0, 8.0]]), time)
    line = result.plot_profile("T", times=[1.0]).axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), [5.0, 6.0])
    shown = result.plot_map("T").axes[0].collections[0].get_array()
    np.testing.assert_array_equal(shown, [[0.0, 5.0, 7.0], [0.0, 6.0, 8.0]])


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_animations(axes, tmp_path):
    shape = (2, 3, 4)[:axes]
    result = made("T", TIME.reshape(-1, *[1] * axes) + np.arange(np.prod(shape)).reshape(shape))
    animation = result.animate("T", frames=3, fps=5, file=tmp_path / "T.gif")
    from PIL import Image

    with Image.open(tmp_path / "T.gif") as image:
        assert (image.n_frames, image.info["duration"]) == (3, 200)
    assert animation._repr_html_().startswith('<img src="data:image/gif;base64,R0lGOD')
    assert repr(animation) == "<Animation of T: 3 frames>"
    with pytest.raises(ModelError, match=r"T.avi: an animation is a file that ends with .gif, .mp4"):
        animation.save("T.avi")


def test_a_movie_needs_ffmpeg(tmp_path, monkeypatch):
    import matplotlib.animation

    animation = made("T", np.outer(TIME, [1.0, 2.0])).animate("T", frames=2)
    monkeypatch.setattr(matplotlib.animation.FFMpegWriter, "isAvailable", lambda: False)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "imageio_ffmpeg", None)
        with pytest.raises(MissingPackageError, match=r'pip install "modia_py\[movie\]"'):
            animation.save(tmp_path / "T.mp4")
    pytest.importorskip("imageio_ffmpeg")
    animation.save(tmp_path / "T.mp4")
    assert b"ftyp" in (tmp_path / "T.mp4").read_bytes()[:16]


def test_a_file_is_written_without_any_window(tmp_path):
    import matplotlib.pyplot as plt

    for ending in ("png", "svg", "pdf"):
        sample_result().plot("s", "big.u", file=tmp_path / f"out.{ending}")
        assert (tmp_path / f"out.{ending}").stat().st_size > 3000
    assert plt.get_fignums() == []


def test_an_unknown_name_leaves_no_figure_behind():
    import matplotlib.pyplot as plt

    with pytest.raises(UnknownNameError, match="has no 'q'"):
        sample_result().plot("s", "q")
    assert plt.get_fignums() == []


def test_a_run_without_points_can_be_plotted(tmp_path):
    sample_result(points=0).plot("s", "r", "b.r", "big.u", file=tmp_path / "out.png")


def test_the_style_of_the_user_is_left_alone():
    before = dict(matplotlib.rcParams)
    sample_result().plot("s")
    assert dict(matplotlib.rcParams) == before


def test_matplotlib_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        MissingPackageError, match=r'Plotting needs matplotlib.*pip install "modia_py\[plot\]"'
    ):
        sample_result().plot("s")
