"""Results as xarray, as pandas, and as files that come back as they were."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from modia_py.errors import MissingPackageError, ModelError
from modia_py.results.result import Result, ResultVariable
from modia_py.solvers.status import Status

from .sample_results import NOTES, STATISTICS, TIME, VALUES, VARIABLES, sample_result

xarray = pytest.importorskip("xarray")
pytest.importorskip("h5netcdf")
pandas = pytest.importorskip("pandas")


def test_a_dataset_has_everything_under_its_name():
    data = sample_result(status=Status.MAX_STEPS, message="Too many steps.").to_xarray()
    for (name, order), values in VALUES.items():
        np.testing.assert_array_equal(data[(name, f"der({name})", f"der2({name})")[order]], values)
    assert data["s"].attrs["units"] == "m"
    assert data["s"].attrs["long_name"] == "position on the rail"
    assert data["time"].attrs["units"] == "s"
    assert data["c.p.v"].dims == ("time", "c")
    assert data["c.C"].dims == ("c",)  # parameters share the axis of their components
    assert data["d.a.x"].dims == ("time", "d", "d.a")
    assert data["b.r"].dims == ("time", "b", "b.r_0")
    assert data.attrs["model"] == "Sample"
    assert data.attrs["status"] == "MAX_STEPS"
    assert data.attrs["message"] == "Too many steps."
    assert float(data["s"].sel(time=2.0)) == 4.0


def test_names_of_axes_never_collide():
    variables = {
        "x": ResultVariable("x", (2,)),
        "x_0": ResultVariable("x_0", ()),
        "a.u": ResultVariable("a.u", (2,), 1, arrays=(0,)),
        "a.w": ResultVariable("a.w", (3,), 1, arrays=(0,)),
    }
    values = {"x": np.ones((21, 2)), "x_0": TIME, "a.u": np.ones((21, 2)), "a.w": np.ones((21, 3))}
    result = Result("M", TIME, variables, lambda name, order: None if order else values[name])
    data = result.to_xarray()
    assert data["x"].dims == ("time", "x_0_")
    assert data["a.u"].dims == ("time", "a")
    assert data["a.w"].dims == ("time", "a_")


def test_a_saved_result_comes_back(tmp_path):
    path = tmp_path / "result.nc"
    saved = sample_result(status=Status.ERROR_TEST, message="Grüße, 3 < 4\nsecond line")
    saved.save(path)
    loaded = Result.load(path)
    assert [file.name for file in tmp_path.iterdir()] == ["result.nc"]
    assert dict(loaded.variables) == VARIABLES
    assert loaded.names == saved.names
    assert (loaded.model, loaded.status, loaded.message) == (saved.model, saved.status, saved.message)
    assert loaded.notes == NOTES
    assert loaded.stats == STATISTICS
    np.testing.assert_array_equal(loaded.time, TIME)
    for (name, order), values in VALUES.items():
        np.testing.assert_array_equal(loaded.trajectory(name, order), values)
    assert loaded.trajectory("c.p.v", 1) is None
    np.testing.assert_array_equal(loaded["der2(s)"], VALUES["s", 2])
    np.testing.assert_array_equal(loaded["b[1].r[2]"], VALUES["b.r", 0][:, 1, 2])
    assert loaded["m"] == 1.5
    np.testing.assert_array_equal(loaded["c.C"], np.arange(1.0, 6.0))
    assert repr(loaded) == repr(saved)


def test_nan_infinity_and_empty_runs_survive(tmp_path):
    values = np.array([1.0, np.nan, np.inf])
    result = Result(
        "M", np.arange(3.0), {"x": ResultVariable("x", ())}, lambda _, order: None if order else values
    )
    result.save(tmp_path / "a.nc")
    np.testing.assert_array_equal(Result.load(tmp_path / "a.nc")["x"], values)
    sample_result(points=0).save(tmp_path / "b.nc")
    assert Result.load(tmp_path / "b.nc")["b.r"].shape == (0, 4, 3)


def test_saving_writes_batch_by_batch_and_keeps_nothing(tmp_path, monkeypatch):
    from modia_py.results import files as result_files

    monkeypatch.setattr(result_files, "BATCH", 1000)
    result = sample_result()
    result.save(tmp_path / "a.nc")
    assert result._cache == {}
    np.testing.assert_array_equal(Result.load(tmp_path / "a.nc")["big.u"], VALUES["big.u", 0])


def test_a_file_may_be_saved_over_itself_and_a_failed_save_leaves_it(tmp_path):
    path = tmp_path / "a.nc"
    sample_result().save(path)
    Result.load(path).save(path)
    np.testing.assert_array_equal(Result.load(path)["s"], TIME**2)

    def broken(name, order):
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        Result("M", TIME, {"x": ResultVariable("x", ())}, broken).save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["a.nc"]
    np.testing.assert_array_equal(Result.load(path)["s"], TIME**2)


def test_variables_of_a_file_are_read_when_asked_for(tmp_path):
    path = tmp_path / "a.nc"
    sample_result().save(path)
    loaded = Result.load(path)
    loaded["s"]
    sample_result(names=["s"]).save(path)
    np.testing.assert_array_equal(loaded["s"], TIME**2)  # kept
    with pytest.raises(ModelError, match="a.nc was changed after it was loaded: load it again"):
        loaded["r"]


def test_files_that_are_no_results(tmp_path):
    xarray.Dataset({"x": 1.0}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ModelError, match="other.nc was not written by Result.save"):
        Result.load(tmp_path / "other.nc")
    with pytest.raises(FileNotFoundError, match="There is no file .*none.nc"):
        Result.load(tmp_path / "none.nc")


def test_other_programs_read_the_file_without_us(tmp_path):
    sample_result().save(tmp_path / "a.nc")
    with xarray.open_dataset(tmp_path / "a.nc", engine="h5netcdf", decode_times=False) as data:
        np.testing.assert_array_equal(data["l[0].x"], -TIME)
        assert data["time"].dtype == np.float64


def test_pandas_has_a_column_for_each_element():
    table = sample_result().to_pandas()
    assert list(table.columns[:10]) == [
        *("s", "r[0]", "r[1]", "r[2]"),
        *(f"c[{k}].p.v" for k in range(5)),
        "b[0].r[0]",
    ]
    assert len(table.columns) == 1 + 3 + 5 + 12 + 6 + 1000 + 1
    assert table.index.name == "time"
    assert table.loc[2.0, "b[3].r[1]"] == 33.0


def test_pandas_of_chosen_names():
    table = sample_result().to_pandas("der(s)", "big[::400].u", "m")
    assert list(table.columns) == ["der(s)", "big[0].u", "big[400].u", "big[800].u", "m"]
    assert set(table["m"]) == {1.5}


def test_pandas_refuses_tables_that_nobody_reads():
    huge = {"x": ResultVariable("x", (200_000,))}
    result = Result("M", TIME[:1], huge, lambda *_: np.zeros((1, 200_000)))
    with pytest.raises(ModelError, match="would have 200000 columns, more than 100000. Name the variables"):
        result.to_pandas()
    assert len(result.to_pandas("x[::100]").columns) == 2000


@pytest.mark.parametrize(
    ("package", "act"),
    [
        ("xarray", lambda result, path: result.to_xarray()),
        ("pandas", lambda result, path: result.to_pandas()),
        ("h5netcdf", lambda result, path: result.save(path)),
        ("h5py", lambda result, path: result.save(path)),
    ],
)
def test_a_missing_package_is_named(package, act, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingPackageError, match=rf'needs {package}.*pip install "modia_py\[io\]"'
    ) as caught:
        act(sample_result(), tmp_path / "a.nc")
    assert isinstance(caught.value, ImportError)
    assert not list(tmp_path.iterdir())


def test_some_variables_by_patterns():
    result = sample_result()
    data = result.to_xarray("?", "c.*")
    assert {*data.data_vars} == {"s", "der(s)", "der2(s)", "r", "der(r)", "m", "n", "c.C"}
    assert [*result.to_pandas("**.x").columns][:2] == ["d[0].a[0].x", "d[0].a[1].x"]


def test_roles_are_kept(tmp_path):
    values = np.zeros(3)
    variables = {"a": ResultVariable("a", (), role="alias"), "b": ResultVariable("b", (), role="state")}
    result = Result("M", np.arange(3.0), variables, lambda _, order: None if order else values)
    result.save(tmp_path / "roles.nc")
    again = Result.load(tmp_path / "roles.nc")
    assert again.names_in_order == ("b", "a")
    assert repr(again) == repr(result)
