"""An ensemble on disk: a folder with a description and a NetCDF file for each block of lanes.

A block is there once it is complete: written beside its name, sealed with checksums (`results.checksums`),
then renamed. A call that finds a folder computes the blocks that are missing or damaged, and refuses one of
another model, other values or other options.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, NoResultFileError, ResultFileError
from ..optional_packages import require
from ..results.checksums import DamagedFile, checked_seal, seal
from .lane_runs import Block, Output

FORMAT = 1
DESCRIPTION = "ensemble.json"
CHECKED = 2**40
"""Bytes of a block up to which all of it is checked: always."""


@dataclass(frozen=True, eq=False)
class Description:
    """What an ensemble is of: all that its results depend on, as text and digests."""

    model: str
    lanes: int
    block: int
    outputs: tuple[Output, ...]
    times: np.ndarray
    of_model: str
    """A digest of the model,"""
    of_values: str
    """of the values of all lanes,"""
    of_options: str
    """and the options of the runs, written out."""

    def as_json(self) -> str:
        own = {**vars(self), "format": FORMAT, "times": self.times.tolist()}
        own["outputs"] = [(out.name, list(out.shape), out.unit) for out in self.outputs]
        return json.dumps(own, indent=1)

    @staticmethod
    def from_json(text: str) -> Description:
        own: dict[str, Any] = json.loads(text)
        if own.pop("format") > FORMAT:
            raise ValueError("it was written by a newer modia_py")
        own["times"] = np.asarray(own["times"], float)
        own["outputs"] = tuple(Output(name, tuple(shape), unit) for name, shape, unit in own["outputs"])
        return Description(**own)

    def firsts(self) -> list[int]:
        """The first lane of each block."""
        return list(range(0, self.lanes, self.block))


def digest_of_columns(columns: dict[str, np.ndarray]) -> str:
    """A number for the values of all lanes."""
    found = hashlib.blake2b(digest_size=16)
    for name in sorted(columns):
        found.update(f"{name}{columns[name].shape}".encode())
        found.update(np.ascontiguousarray(columns[name]).tobytes())
    return found.hexdigest()


class EnsembleStore:
    """A folder with the blocks of one ensemble."""

    def __init__(self, folder: Path, description: Description, columns: dict[str, np.ndarray]):
        self.folder, self.description, self.columns = folder, description, columns

    @staticmethod
    def begun(
        path: str | PathLike[str], description: Description, columns: dict[str, np.ndarray]
    ) -> EnsembleStore:
        """The store of an ensemble at a path: a new one, or the one that is there if it is the same."""
        for package in ("xarray", "h5netcdf", "h5py"):
            require(package, "io", "A store of an ensemble")
        folder = Path(path)
        if folder.exists() and not folder.is_dir():
            raise ResultFileError(f"{folder} is a file: the store of an ensemble is a folder.")
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / DESCRIPTION
        if file.exists():
            _refuse_another(folder, _description(file), description)
        elif any(folder.iterdir()) and not all(p.name.endswith(".partial") for p in folder.iterdir()):
            raise ResultFileError(f"{folder} has files in it and is no store of an ensemble: name another.")
        else:
            _replace(file, description.as_json())
        return EnsembleStore(folder, description, columns)

    @staticmethod
    def opened(path: str | PathLike[str]) -> EnsembleStore:
        """A store that is there."""
        file = Path(path) / DESCRIPTION
        if not file.exists():
            raise NoResultFileError(f"{Path(path)} is no store of an ensemble: it has no {DESCRIPTION}.")
        return EnsembleStore(Path(path), _description(file), {})

    def file(self, first: int) -> Path:
        return self.folder / f"lanes_{first:08d}.nc"

    def missing(self) -> list[int]:
        """The first lanes of blocks that are not there, or are damaged."""
        return [first for first in self.description.firsts() if not self._is_complete(first)]

    def _is_complete(self, first: int) -> bool:
        try:
            return checked_seal(self.file(first), CHECKED) is not None
        except (OSError, DamagedFile, ValueError, KeyError):
            return False

    def put(self, block: Block) -> None:
        """Write a block; it is there when it is complete."""
        xarray = require("xarray", "io", "A store of an ensemble")
        end = block.first + block.count
        coords: dict[str, Any] = {
            name: (("lane", *_axes(name, column.ndim - 1)), column[block.first : end])
            for name, column in self.columns.items()
        }
        data: dict[str, Any] = {
            name: (("lane", "time", *_axes(name, v.ndim - 2)), v) for name, v in block.values.items()
        }
        data |= {
            "lane_status": ("lane", block.status.astype(str)),
            "lane_message": ("lane", block.message.astype(str)),
            "lane_steps": ("lane", block.steps),
        }
        coords |= {
            "lane": ("lane", np.arange(block.first, end)),
            "time": ("time", self.description.times),
        }
        target = self.file(block.first)
        partial = target.with_suffix(".partial")
        try:
            unfilled = {name: {"_FillValue": None} for name in block.values}
            xarray.Dataset(data, coords=coords).to_netcdf(
                partial, mode="w", engine="h5netcdf", encoding=unfilled
            )
            seal(partial)
            os.replace(partial, target)
        except OSError as error:
            raise ResultFileError(f"{target} cannot be written: {error}.") from error
        finally:
            partial.unlink(missing_ok=True)

    def read(self, name: str) -> np.ndarray:
        """An entry of all blocks, one after the other; lanes that are missing are NaN or empty."""
        import h5netcdf

        parts = []
        for first in self.description.firsts():
            if not self._is_complete(first):
                parts.append(
                    self._nothing(name, min(self.description.block, self.description.lanes - first))
                )
                continue
            with h5netcdf.File(self.file(first), "r") as file:
                values = file.variables[name][...]
                parts.append(values.astype(str) if values.dtype.kind in "OSU" else np.asarray(values))
        return np.concatenate(parts)

    def _nothing(self, name: str, lanes: int) -> np.ndarray:
        if name == "lane_status":
            return np.full(lanes, "NOT_RUN")
        if name == "lane_message":
            return np.full(lanes, "")
        if name == "lane_steps":
            return np.zeros(lanes, np.int64)
        shapes = {out.name: (len(self.description.times), *out.shape) for out in self.description.outputs}
        return np.full((lanes, *shapes.get(name, ())), np.nan)

    def stored_columns(self) -> dict[str, np.ndarray]:
        """Values of the lanes by name, as they are in the blocks."""
        import h5netcdf

        known = {"lane", "time", "lane_status", "lane_message", "lane_steps"}
        known |= {out.name for out in self.description.outputs}
        for first in self.description.firsts():
            if self._is_complete(first):
                with h5netcdf.File(self.file(first), "r") as file:
                    names = [name for name in file.variables if name not in known]
                return {name: self.read(name) for name in names}
        return {}


def _axes(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}_axis{k}" for k in range(count))


def _description(file: Path) -> Description:
    try:
        return Description.from_json(file.read_text())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultFileError(
            f"{file} cannot be read: it is damaged, or no store of an ensemble ({error}). Name another "
            f"store."
        ) from None


def _refuse_another(folder: Path, there: Description, wanted: Description) -> None:
    """ModelError where a store holds something else than what is asked for."""

    def refuse(what: str) -> None:
        raise ModelError(f"The store {folder} is of {what}. Name another store, or remove this one.")

    if there.model != wanted.model:
        refuse(f"another model: {there.model}, not {wanted.model}")
    if there.of_model != wanted.of_model:
        refuse(f"another model: {there.model} had other equations or declared values when it was begun")
    if there.lanes != wanted.lanes:
        refuse(f"an ensemble of {there.lanes} lanes, not {wanted.lanes}")
    if there.of_values != wanted.of_values:
        refuse("an ensemble with other values of parameters or start values")
    if there.of_options != wanted.of_options or not np.array_equal(there.times, wanted.times):
        refuse(f"an ensemble with other options ({there.of_options}; now {wanted.of_options})")
    if [out.name for out in there.outputs] != [out.name for out in wanted.outputs]:
        refuse("an ensemble with other outputs")
    if there.block != wanted.block:
        refuse(f"an ensemble in blocks of {there.block} lanes, not {wanted.block}")


def _replace(file: Path, text: str) -> None:
    partial = file.with_suffix(".partial")
    partial.write_text(text)
    os.replace(partial, file)
