"""An ensemble in one NetCDF file, with checksums behind it."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NoResultFileError, ResultFileError
from ..optional_packages import require
from ..results.checksums import DamagedFile, checked_seal, seal
from .lane_runs import Output

OWN = ("lane_status", "lane_message", "lane_steps")
CHECKED = 2**40


def save(ensemble: Any, path: str | PathLike[str]) -> None:
    """Write beside the path, and take its place once all is there."""
    for package in ("h5netcdf", "h5py"):
        require(package, "io", "Saving an ensemble")
    target = Path(path)
    if target.is_dir():
        raise ResultFileError(f"{target} is a folder: give the name of a file in it.")
    partial = target.with_name(target.name + ".partial")
    data = ensemble.to_xarray()
    data.attrs["modia_py_ensemble"] = 1
    unfilled = {name: {"_FillValue": None} for name in data.variables if data[name].dtype.kind == "f"}
    try:
        data.to_netcdf(partial, mode="w", engine="h5netcdf", encoding=unfilled)
        seal(partial)
        os.replace(partial, target)
    except OSError as error:
        raise ResultFileError(f"{target} cannot be written: {error}.") from error
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | PathLike[str]) -> dict[str, Any]:
    """The arguments of the ensemble that was saved in a file."""
    xarray = require("xarray", "io", "Loading an ensemble")
    file = Path(path)
    if not file.exists():
        raise NoResultFileError(f"There is no file {file}.")
    try:
        sealed = checked_seal(file, CHECKED)
        data = xarray.load_dataset(file, engine="h5netcdf")
    except DamagedFile as damage:
        raise ResultFileError(f"{file} is damaged: {damage}. Copy it again from where it came.") from None
    except Exception as error:
        raise ResultFileError(f"{file} cannot be read: damaged, or no ensemble ({error}).") from error
    if sealed is None or "modia_py_ensemble" not in data.attrs:
        raise ResultFileError(f"{file} was not written by Ensemble.save, or its end is damaged.")
    values = {name: np.asarray(entry) for name, entry in data.data_vars.items() if name not in OWN}
    outputs = [Output(name, v.shape[2:], data[name].attrs.get("units")) for name, v in values.items()]
    columns = {
        name: np.asarray(entry) for name, entry in data.coords.items() if name not in ("lane", "time")
    }
    status, message, steps = (np.asarray(data[name]) for name in OWN)
    return {
        "model": data.attrs["model"],
        "time": np.asarray(data["time"]),
        "outputs": outputs,
        "read": values.__getitem__,
        "parameters": columns,
        "status": status,
        "message": message,
        "steps": steps,
    }
