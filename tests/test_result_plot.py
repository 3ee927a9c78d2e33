"""Plots: panels, labels, curves, bands; never a display."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from modia_py.errors import MissingPackageError, ModelError, UnknownNameError

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
