"""Many runs as a picture: the median over the lanes, and bands between quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from ..results.figures import COLOURS, PANEL_HEIGHT, SINGLE_HEIGHT, WIDTH, new_figure, our_style

BANDS = ((0.05, 0.95), (0.25, 0.75))
"""Quantiles between which bands are drawn, the widest first."""
LIGHTEST, DARKEST = 0.18, 0.38


def fan_plot(
    times: np.ndarray,
    panels: Sequence[tuple[str, str | None, list[tuple[str, np.ndarray]]]],
    file: str | PathLike[str] | None,
    bands: Sequence[tuple[float, float]],
    title: str | None,
) -> Any:
    """A panel for each (name, unit, curves); each curve is (label, values of lanes over time)."""
    height = SINGLE_HEIGHT if len(panels) == 1 else PANEL_HEIGHT * len(panels) + 0.5
    with our_style():
        figure = new_figure((WIDTH, height), without_window=file is not None)
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False).ravel()
        for axis, (name, unit, curves) in zip(axes, panels, strict=True):
            for k, (label, values) in enumerate(curves):
                _draw_fan(axis, times, values, bands, COLOURS[k % len(COLOURS)], label)
            axis.set_ylabel(f"{name} in {unit}" if unit else name)
            axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        axes[-1].set_xlabel("time in s")
        if title is not None:
            figure.suptitle(title, fontsize=11)
        figure.align_ylabels(list(axes))
        if file is not None:
            figure.savefig(file)
    return figure


def _draw_fan(
    axis: Any, times: np.ndarray, values: np.ndarray, bands: Any, colour: str, label: str
) -> None:
    widest = sorted(bands, key=lambda band: band[0] - band[1])
    shades = np.linspace(LIGHTEST, DARKEST, max(1, len(widest)))
    for (low, high), shade in zip(widest, shades, strict=False):
        edges = np.nanquantile(values, [low, high], axis=0)
        text = f"{100 * low:g} to {100 * high:g} %"
        axis.fill_between(times, *edges, color=colour, alpha=shade, linewidth=0, label=text)
    axis.plot(times, np.nanmedian(values, axis=0), color=colour, label=label)
