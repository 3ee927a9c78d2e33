"""A fit as a picture: measured points on simulated curves, and residuals in units of the noise."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from ..results.figures import COLOURS, PANEL_HEIGHT, SINGLE_HEIGHT, WIDTH, new_figure, our_style
from ..results.result import Result
from .measured import Measured

MOST_ELEMENTS = 4
"""Of a vector, that are drawn."""
EXPECTED = 1.96
"""95 % of normal errors are smaller, in units of their standard deviation."""
POINTS: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 3.2, "alpha": 0.75}


def fit_figure(
    measured: Mapping[str, tuple[Measured, ...]],
    results: Mapping[str, Result],
    file: str | PathLike[str] | None,
) -> Any:
    """See `Estimate.plot`."""
    rows = [(name, own) for name, signals in measured.items() for own in signals]
    height = SINGLE_HEIGHT if len(rows) == 1 else PANEL_HEIGHT * len(rows) + 0.5
    with our_style():
        figure = new_figure((1.45 * WIDTH, height), without_window=file is not None)
        grid = figure.subplots(len(rows), 2, squeeze=False, width_ratios=[1.6, 1.0])
        for (left, right), (name, own) in zip(grid, rows, strict=True):
            _draw_fit(left, name, own, results[name])
            _draw_residuals(right, own)
        for axis in grid[-1]:
            axis.set_xlabel("time in s")
        figure.align_ylabels(list(grid[:, 0]))
        if file is not None:
            figure.savefig(file)
    return figure


def _draw_fit(axis: Any, experiment: str, own: Measured, result: Result) -> None:
    curves = np.asarray(result[own.name]).reshape(len(result.time), -1)
    for k in range(min(curves.shape[1], MOST_ELEMENTS)):
        colour = COLOURS[k % len(COLOURS)]
        several = f", element {k}" if curves.shape[1] > 1 else ""
        axis.plot(result.time, curves[:, k], color=colour, label=f"simulated{several}")
        axis.plot(own.times, own.values[:, k], color=colour, label="measured" if not k else None, **POINTS)
    axis.set_ylabel(f"{own.name} in {own.unit}" if own.unit else own.name)
    if experiment:
        axis.set_title(experiment, fontsize=9.5, loc="left")
    axis.margins(x=0.02)
    axis.legend(loc="best")


def _draw_residuals(axis: Any, own: Measured) -> None:
    axis.axhspan(-EXPECTED, EXPECTED, color="#e9ebee", linewidth=0)
    axis.axhline(0.0, color="#707070", linewidth=0.8)
    for k in range(min(own.values.shape[1], MOST_ELEMENTS)):
        scaled = own.residuals[:, k] / own.noise[:, k]
        axis.plot(own.times, scaled, color=COLOURS[k % len(COLOURS)], **POINTS)
    axis.set_ylabel("residual / noise")
    axis.margins(x=0.02)
