"""Results as tables of other packages, and as NetCDF files.

A file is what `to_xarray` gives: a variable for each variable of the model under its own name, with the
derivatives that are known beside it (`der(s)`), and the parameters without an axis of time. The table of
events has a variable for each of its columns. Everything else is an attribute: numbers and text, nothing
that runs when it is read.

A file carries checksums (see `file_checksums`). What is read from it is what was saved, or an error that
names the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, ModiaError, NoResultFileError, ResultFileError
from ..expressions.printing import der_text
from ..optional_packages import require
from ..solvers.status import Status
from .checksums import DamagedFile, Seal, checked_seal, seal
from .event_files import EVENT, OUTPUT_ROWS, event_entries, loaded_events
from .events import EventTable
from .selections import TIME, ResultVariable
from .statistics import RunStatistics
from .trajectories import Trajectories

FORMAT = 2  # of files; raise it when an older version could misread a new one
FIRST_WITH_CHECKSUMS = 2
CHECKED_AT_ONCE = 2**26  # bytes of a file that is checked as a whole when it is loaded
TWICE = "at an event there are two rows: just before and just after it"
ORDERS = (0, 1, 2)  # of derivatives that are kept
MOST_COLUMNS = 100_000
BATCH = 2**26  # bytes in memory at a time while a file is written

Entry = tuple[str, tuple[Sequence[str], np.ndarray, dict[str, Any]]]


def to_xarray(result: Trajectories) -> Any:
    xarray = require("xarray", "io", "to_xarray")
    return xarray.Dataset(
        dict(_entries(result, keep=True)), coords={"time": _time(result)}, attrs=_attributes(result)
    )


def to_pandas(result: Trajectories, names: Sequence[str] = ()) -> Any:
    pandas = require("pandas", "io", "to_pandas")
    if not names:
        _refuse_columns(sum(variable.size for variable in result.variables.values()))
    columns: dict[str, np.ndarray] = {}
    chosen = [name for pattern in names for name in result.expand(pattern)]
    for name in chosen or result.names:
        selection = result.find(name)
        _refuse_columns(len(columns) + selection.elements.size)
        values = selection.values
        if selection.constant:
            values = np.broadcast_to(values, (len(result.time), *values.shape))
        table = values.reshape(len(result.time), selection.elements.size)
        for k in range(table.shape[1]):
            columns[selection.label(k)] = table[:, k]
    return pandas.DataFrame(columns, index=pandas.Index(result.time, name="time"))


def _refuse_columns(count: int) -> None:
    if count > MOST_COLUMNS:
        raise ModelError(
            f"The table would have {count} columns, more than {MOST_COLUMNS}. Name the variables you "
            f"need, to_pandas('c[::100].u', ...), or use to_xarray(), which keeps arrays together."
        )


OTHER_FORMATS = frozenset(
    {".csv", ".txt", ".tsv", ".xls", ".xlsx", ".json", ".mat", ".npy", ".npz", ".pkl", ".png"}
)
"""Ends of names of files that nobody expects NetCDF in."""


def save(result: Trajectories, path: str | PathLike[str]) -> None:
    """Write batch by batch, to a file beside the path that takes its place once it is complete."""
    xarray = require("xarray", "io", "Saving a result")
    for package in ("h5netcdf", "h5py"):
        require(package, "io", "Saving a result")
    target = Path(path)
    if target.is_dir():
        raise ResultFileError(f"{target} is a folder: give the name of a file in it.")
    if not target.parent.is_dir():
        raise ResultFileError(f"{target} cannot be written: there is no folder {target.parent}.")
    check_ending(target)
    partial = target.with_name(target.name + ".partial")
    try:
        header = xarray.Dataset(coords={"time": _time(result)}, attrs=_attributes(result))
        header.to_netcdf(partial, mode="w", engine="h5netcdf")
        for batch in _batches(result):
            unfilled = {name: {"_FillValue": None} for name in batch}
            xarray.Dataset(batch).to_netcdf(partial, mode="a", engine="h5netcdf", encoding=unfilled)
        seal(partial)
        os.replace(partial, target)
    except ModiaError:
        raise
    except OSError as error:
        raise ResultFileError(f"{target} cannot be written: {_first_line(error)}.") from error
    finally:
        partial.unlink(missing_ok=True)


def check_ending(target: Path) -> None:
    """Nobody expects NetCDF in a file whose name ends as that of another format."""
    if target.suffix.lower() in OTHER_FORMATS:
        raise ResultFileError(
            f"{target} would be a file of NetCDF under the name of another format: save('result.nc'). "
            f"A table is result.to_pandas(...), which has to_csv and the like."
        )


def load(path: str | PathLike[str]) -> dict[str, Any]:
    """The arguments of the result that was saved in a file; its variables are read when asked for."""
    file = Path(path)
    if not file.exists():
        raise NoResultFileError(f"There is no file {file}.")
    if not file.is_file():
        raise ResultFileError(
            f"{file} is {'a folder' if file.is_dir() else 'no file'}: name a saved result."
        )
    if not file.stat().st_size:
        raise ResultFileError(f"{file} is empty: nothing was saved in it. Simulate and save again.")
    version = _version(file)
    with _reading(file, CHECKED_AT_ONCE) as (data, sums):
        notes = [] if sums is not None else [_without_checksums(file, data)]
        entries = data.variables
        present = set(entries)
        columns = {entry.attrs["column"]: name for name, entry in entries.items() if _is(entry, EVENT)}
        arguments = {
            "model": data.attrs["model"],
            "time": _values(data, "time", sums),
            "variables": {
                name: _variable(name, entry) for name, entry in entries.items() if _is(entry, "variable")
            },
            "output_rows": next(
                (_values(data, name, sums) for name, entry in entries.items() if _is(entry, OUTPUT_ROWS)),
                None,
            ),
            "parameters": {
                name: _values(data, name, sums)
                for name, entry in entries.items()
                if _is(entry, "parameter")
            },
            "stats": RunStatistics.from_json(data.attrs["stats"]),
            "status": Status[data.attrs["status"]],
            "message": data.attrs["message"],
            "notes": (*json.loads(data.attrs["notes"]), *notes),
        }

    def stored_values(name: str) -> np.ndarray:
        if _version(file) != version:
            raise ResultFileError(f"{file} was changed after it was loaded: load it again.")
        with _reading(file) as (data, sums):
            return _values(data, name, sums)

    def read(name: str, order: int) -> np.ndarray | None:
        stored = der_text(name, order)
        return stored_values(stored) if stored in present else None

    def events() -> EventTable:
        return loaded_events(lambda column: stored_values(columns[column])) if columns else EventTable()

    return {**arguments, "read": read, "events": events}


@contextmanager
def _reading(file: Path, values_up_to: int = 0) -> Iterator[tuple[Any, Seal | None]]:
    """The dataset of a file and its checksums. Whatever goes wrong with it is an error that names the file:
    of what HDF5 and xarray may raise for a damaged file there is no list."""
    try:
        sums = checked_seal(file, values_up_to)
        with _open(file) as data:
            _check_format(file, data, sums)
            yield data, sums
    except ModiaError:
        raise
    except DamagedFile as damage:
        raise ResultFileError(
            f"{file} is damaged: {damage}. Copy it again from where it came, or simulate and save again."
        ) from None
    except Exception as error:
        raise ResultFileError(
            f"{file} cannot be read: it is damaged or incomplete, or it is no file of Result.save "
            f"({_first_line(error)}). Copy it again from where it came, or simulate and save again."
        ) from error


def _check_format(file: Path, data: Any, sums: Seal | None) -> None:
    if "modia_py_format" not in data.attrs:
        raise ResultFileError(f"{file} was not written by Result.save: read it with xarray.open_dataset.")
    if data.attrs["modia_py_format"] > FORMAT:
        raise ResultFileError(
            f"{file} was written by a newer modia_py (format {data.attrs['modia_py_format']}, known are "
            f"those up to {FORMAT}): update to read it."
        )
    if sums is None and data.attrs["modia_py_format"] >= FIRST_WITH_CHECKSUMS:
        raise ResultFileError(
            f"{file} has lost its checksums: its end is damaged, or another program has written to it. "
            f"Copy it again from where it came; xarray.open_dataset reads what is there, unchecked."
        )


def _without_checksums(file: Path, data: Any) -> str:
    return (
        f"{file.name} has format {data.attrs['modia_py_format']}, which has no checksums: damage would go "
        f"unnoticed. Save it again to add them"
    )


def _values(data: Any, name: str, sums: Seal | None) -> np.ndarray:
    values: np.ndarray = data[name].values
    if sums is not None:
        sums.check_values(name, values)
    # Files have no truth values: xarray writes bytes, and says so in this attribute.
    return values.astype(bool) if data[name].attrs.get("dtype") == "bool" else values


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


def _open(file: Path) -> Any:
    xarray = require("xarray", "io", "Loading a result")
    for package in ("h5netcdf", "h5py"):
        require(package, "io", "Loading a result")
    # Undecoded: a duration in s is a number here, not a time of the calendar.
    return xarray.open_dataset(file, engine="h5netcdf", decode_cf=False, cache=False)


def _version(file: Path) -> tuple[int, int] | None:
    if not file.exists():
        return None
    status = file.stat()
    return status.st_mtime_ns, status.st_size


def _is(entry: Any, kind: str) -> bool:
    return bool(entry.attrs.get("kind") == kind)


def _variable(name: str, entry: Any) -> ResultVariable:
    arrays = json.loads(entry.attrs.get("arrays", "null"))
    return ResultVariable(
        name,
        entry.shape[1:],
        int(entry.attrs["lead"]),
        entry.attrs.get("units"),
        entry.attrs.get("long_name"),
        None if arrays is None else tuple(arrays),
        bool(entry.attrs.get("discrete", 0)),
        entry.attrs.get("role", ""),
    )


def _batches(result: Trajectories) -> Iterator[dict[str, Any]]:
    batch: dict[str, Any] = {}
    size = 0
    for name, entry in _entries(result, keep=False):
        batch[name] = entry
        size += entry[1].nbytes
        if size > BATCH:
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch


def _entries(result: Trajectories, *, keep: bool) -> Iterator[Entry]:
    """Variables, derivatives and parameters, each with the names of its axes and its attributes."""
    axes = _Axes(result)
    for variable in result.variables.values():
        dimensions = ("time", *axes.of(variable))
        for order in ORDERS:
            values = result.trajectory(variable.name, order, keep=keep)
            if values is not None:
                attributes = _variable_attributes(variable, order)
                yield der_text(variable.name, order), (dimensions, values, attributes)
    for name, value in result.parameters.items():
        yield name, (axes.of(ResultVariable(name, value.shape)), value, {"kind": "parameter"})
    yield from event_entries(result, axes.unused)


def _variable_attributes(variable: ResultVariable, order: int) -> dict[str, Any]:
    if order:
        return {"kind": "derivative", "of": variable.name, "order": order}
    attributes: dict[str, Any] = {"kind": "variable", "lead": variable.lead}
    if variable.arrays is not None:
        attributes["arrays"] = json.dumps(variable.arrays)
    if variable.is_discrete:
        attributes["discrete"] = 1
    if variable.role:
        attributes["role"] = variable.role
    # The names of the CF conventions: xarray labels plots with them.
    if variable.unit is not None:
        attributes["units"] = variable.unit
    if variable.doc is not None:
        attributes["long_name"] = variable.doc
    return attributes


def _time(result: Trajectories) -> tuple[str, np.ndarray, dict[str, Any]]:
    attributes = {"units": TIME.unit, "long_name": TIME.doc}
    if (np.diff(result.time) == 0).any():
        attributes["comment"] = TWICE
    return "time", result.time, attributes


def _attributes(result: Trajectories) -> dict[str, Any]:
    return {
        "modia_py_format": FORMAT,
        "model": result.model,
        "status": result.status.name,
        "message": result.message,
        "notes": json.dumps(result.notes),
        "stats": result.stats.to_json(),
    }


class _Axes:
    """Names of axes: that of the component array for its copies, `r_0`, `r_1` for the variable's own.

    An axis has one length and must not have the name of a variable, which xarray would take for its
    coordinate; in either case underscores are appended.
    """

    def __init__(self, result: Trajectories):
        self.taken = {*result.variables, *result.parameters, "time"}
        self.lengths: dict[str, int] = {}

    def of(self, variable: ResultVariable) -> tuple[str, ...]:
        segments = variable.name.split(".")
        paths = [".".join(segments[:end]) for end in range(1, len(segments))]
        if variable.arrays is not None:
            wanted = [paths[segment] for segment in variable.arrays]
        else:  # parameters: what is known as an array, and as long
            wanted = []
            for path in paths:
                if self.lengths.get(path) in variable.shape[len(wanted) : len(wanted) + 1]:
                    wanted.append(path)
        own = len(variable.shape) - len(wanted)
        wanted += [f"{variable.name}_{axis}" for axis in range(own)]
        return tuple(self._named(*pair) for pair in zip(wanted, variable.shape, strict=True))

    def unused(self, wanted: str) -> str:
        """A name that nothing has, for a variable or an axis."""
        while wanted in self.taken or wanted in self.lengths:
            wanted += "_"
        self.taken.add(wanted)
        return wanted

    def _named(self, wanted: str, length: int) -> str:
        while wanted in self.taken or self.lengths.setdefault(wanted, length) != length:
            wanted += "_"
        return wanted
