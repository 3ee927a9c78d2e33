"""Damaged, foreign, old and new files of results: an error that names the file, never other numbers."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from modia_py import ModiaError, Par, Var, der, simulate
from modia_py.language.model import Model
from modia_py.results import files as result_files
from modia_py.results.result import Result

from .sample_results import TIME, VALUES, VARIABLES, sample_result

xarray = pytest.importorskip("xarray")
h5py = pytest.importorskip("h5py")
pytest.importorskip("h5netcdf")

NAMES = [name for name in VARIABLES if name != "big.u"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "a.nc"
    sample_result(NAMES).save(path)
    return path.read_bytes()


def read_all(path):
    """Everything a user can get from a file."""
    result = Result.load(path)
    values = {(name, order): result.trajectory(name, order) for name in result.names for order in range(3)}
    return (
        (result.model, result.status, result.message, result.notes, repr(result.stats), result.names),
        dict(result.variables),
        {key: None if value is None else value.tobytes() for key, value in values.items()},
        {name: (value.shape, value.tobytes()) for name, value in result.parameters.items()},
        result.time.tobytes(),
    )


def outcome(path, content):
    path.write_bytes(content)
    try:
        return read_all(path)
    except ModiaError as error:
        text = str(error)
    assert path.name in text
    assert "again" in text or "update" in text, text
    return None


def flipped(content, bit):
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_one_flipped_bit_is_never_read(saved, tmp_path):
    chosen = random.Random(1)
    bits = [chosen.randrange(8 * len(saved)) for _ in range(600)]
    bits += range(8 * (len(saved) - 64), 8 * len(saved), 5)  # where the checksums are found
    bits += range(8 * 96)  # and where HDF5 begins
    for bit in bits:
        assert outcome(tmp_path / "flipped.nc", flipped(saved, bit)) is None, bit


@pytest.mark.slow
def test_no_flipped_byte_is_read(saved, tmp_path):
    for byte in range(len(saved)):
        assert outcome(tmp_path / "flipped.nc", flipped(saved, 8 * byte + byte % 8)) is None, byte


def test_what_is_cut_off_overwritten_or_appended_is_never_read(saved, tmp_path):
    chosen, whole = random.Random(2), read_all_of(saved, tmp_path)
    path = tmp_path / "cut.nc"
    lengths = [*range(1, 200, 40), *(chosen.randrange(len(saved)) for _ in range(30))]
    for length in (*lengths, *range(len(saved) - 80, len(saved), 9)):
        assert outcome(path, saved[:length]) is None, length
        assert outcome(path, saved[length:]) is None, length
    for _ in range(100):
        start, count = chosen.randrange(len(saved)), chosen.randrange(1, 3000)
        zeroed = (saved[:start] + bytes(count) + saved[start + count :])[: len(saved)]
        assert outcome(path, zeroed) in ((whole, None) if zeroed == saved else (None,))
    for more in (b"\0", b"more", bytes(4096)):
        assert outcome(path, saved + more) is None
    half = len(saved) // 2
    assert outcome(path, saved[half:] + saved[:half]) is None
    assert outcome(path, saved) == whole


def read_all_of(content, folder):
    (folder / "whole.nc").write_bytes(content)
    return read_all(folder / "whole.nc")


def test_damage_after_loading_is_found_when_a_variable_is_read(saved, tmp_path, monkeypatch):
    path = tmp_path / "late.nc"
    path.write_bytes(saved)
    with h5py.File(path) as file:
        place = file["b.r"].id.get_offset()
    loaded, times = Result.load(path), path.stat()
    with path.open("r+b") as file:
        file.seek(place + 100)
        byte = file.read(1)
        file.seek(place + 100)
        file.write(bytes([byte[0] ^ 4]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a bad disk would do it
    np.testing.assert_array_equal(loaded["s"], TIME**2)
    with pytest.raises(ModiaError, match=r"late.nc is damaged: the values of b.r are not those"):
        loaded["b.r"]
    with pytest.raises(ModiaError, match=r"late.nc is damaged: the values of b.r are not those"):
        Result.load(path)
    # Large files are not read as a whole: what is not damaged is still there.
    monkeypatch.setattr(result_files, "CHECKED_AT_ONCE", 0)
    again = Result.load(path)
    with pytest.raises(ModiaError, match=r"late.nc is damaged: the values of b.r are not those"):
        again["b.r"]
    np.testing.assert_array_equal(again["r"], VALUES["r", 0])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is empty"),
        (b"x", "no file of Result.save"),
        (b"time,s\n0.0,1.0\n", "no file of Result.save"),
        (bytes(10_000), "no file of Result.save"),
        (b"\x89HDF\r\n\x1a\n", "no file of Result.save"),
        (b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 40, "no file of Result.save"),
        (b"CDF\x01" + bytes(100), "no file of Result.save"),
        (b"modia_py checked", "no file of Result.save"),
        (bytes(100) + b"modia_py checked", "is damaged: it is not as long as"),
    ],
)
def test_files_that_are_something_else(content, text, tmp_path):
    path = tmp_path / "else.nc"
    path.write_bytes(content)
    with pytest.raises(ModiaError, match=rf"else\.nc .*{text}"):
        Result.load(path)


def test_folders_and_missing_files(tmp_path):
    with pytest.raises(ModiaError, match="is a folder: name a saved result"):
        Result.load(tmp_path)
    with pytest.raises(ModiaError, match=r"There is no file .*none\.nc") as caught:
        Result.load(tmp_path / "none.nc")
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(ModiaError, match="is a folder: give the name of a file in it"):
        sample_result().save(tmp_path)
    with pytest.raises(ModiaError, match=r"none.a\.nc cannot be written: ") as caught:
        sample_result().save(tmp_path / "none" / "a.nc")
    assert isinstance(caught.value, OSError)
    assert not list(tmp_path.iterdir())


def test_formats_older_and_newer(tmp_path, monkeypatch):
    monkeypatch.setattr(result_files, "FORMAT", 7)
    sample_result(NAMES).save(tmp_path / "new.nc")
    monkeypatch.undo()
    with pytest.raises(
        ModiaError, match=r"new\.nc was written by a newer modia_py \(format 7, .* up to 2\): update"
    ):
        Result.load(tmp_path / "new.nc")

    monkeypatch.setattr(result_files, "FORMAT", 1)
    monkeypatch.setattr(result_files, "seal", lambda path: None)
    sample_result(NAMES).save(tmp_path / "old.nc")
    monkeypatch.undo()
    old = Result.load(tmp_path / "old.nc")
    np.testing.assert_array_equal(old["r"], VALUES["r", 0])
    assert "old.nc has format 1, which has no checksums" in old.notes[-1]
    content = (tmp_path / "old.nc").read_bytes()
    for length in range(1, len(content), len(content) // 20):
        assert outcome(tmp_path / "short.nc", content[:length]) is None


def test_a_file_that_another_program_has_written_to(tmp_path):
    path = tmp_path / "touched.nc"
    sample_result(NAMES).save(path)
    with h5py.File(path, "a") as file:
        file.attrs["model"] = "Another"
    with pytest.raises(ModiaError, match=r"touched\.nc (has lost its checksums|is damaged)"):
        Result.load(path)
    with xarray.open_dataset(path, engine="h5netcdf", decode_times=False) as data:
        np.testing.assert_array_equal(data["s"], TIME**2)


class Decay(Model):
    k = Par(2.0)
    x = Var(3, init=[1.0, 2.0, 3.0])
    y = Var()

    def equations(self):
        return [der(self.x) == -self.k * self.x, self.y == self.x.sum()]


def test_a_simulated_result_and_what_xarray_sees_of_it(tmp_path):
    result = simulate(Decay(), 1.0, times=11)
    path = tmp_path / "decay.nc"
    result.save(path)
    result.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["decay.nc"]
    loaded = Result.load(path)
    for name in ("x", "y", "der(x)", "k", "time"):
        np.testing.assert_array_equal(loaded[name], result[name])
    assert loaded.notes == result.notes
    for engine in ("h5netcdf", None):
        with xarray.open_dataset(path, engine=engine, decode_times=False) as data:
            np.testing.assert_array_equal(data["x"], result["x"])
            assert data.attrs["modia_py_format"] == 2
    loaded.save(tmp_path / "again.nc")
    assert read_all(tmp_path / "again.nc") == read_all(path)
