"""The command `modia`: simulate a model of a file, report on its structure, run the demo.

Exit codes: 0 all went well; 1 the model or its simulation has an error; 2 the command makes no sense.
"""

from __future__ import annotations

import argparse
import ast
import sys
import traceback
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__
from .errors import ModelError, ModelWarning, ModiaError, SimulationInterrupted
from .model_reference import UsageError, make_model
from .optional_packages import require
from .results.result import Result
from .results.text import value_text

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
ROWS_SHOWN = 11

MODEL_HELP = (
    "FILE.py:Model or package.module:Model, with literal arguments if it takes any: 'rod.py:Rod(100)'"
)
EXAMPLES = """\
examples:
  modia simulate pendulum.py:Pendulum --stop 10 --plot pendulum.png
  modia simulate 'modia_py.models.examples:Ladder(1000)' --stop 1 -p source.V=5 --show 'c[0].u,c[-1].u'
  modia simulate rod.py:Rod --stop 30 --init 'T=[300, 310, 320]' --save rod.nc --quiet
  modia report pendulum.py:Pendulum
  modia demo
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code: int = options.run(options)
            return code
    except UsageError as error:
        _complain(f"modia: {error}")
        return USAGE
    except ModiaError as error:
        _complain(str(error))
        return FAILED
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    def command(name: str, run: Any, help: str) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=help, description=help, epilog=EXAMPLES, formatter_class=parser.formatter_class
        )
        added.set_defaults(run=run)
        return added

    parser = argparse.ArgumentParser(
        prog="modia",
        description="Simulate models of physical systems.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"modia_py {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    simulate = command("simulate", _simulate, "simulate a model and print, plot or save the result")
    simulate.add_argument("model", help=MODEL_HELP)
    simulate.add_argument("--stop", type=float, required=True, metavar="T", help="time at the end, in s")
    simulate.add_argument("--start", type=float, default=0.0, metavar="T", help="time at the start (0)")
    simulate.add_argument(
        "-p", "--param", action="append", default=[], metavar="NAME=VALUE", help="value of a parameter"
    )
    simulate.add_argument(
        "--init", action="append", default=[], metavar="NAME=VALUE", help="start value of a variable"
    )
    simulate.add_argument("--points", type=int, default=501, metavar="N", help="points of output (501)")
    simulate.add_argument("--rtol", type=float, default=1e-6, help="relative tolerance (1e-6)")
    simulate.add_argument(
        "--show",
        default="",
        metavar="NAMES",
        help="variables to print over time and to plot: s,der(s),c[0].u",
    )
    simulate.add_argument("--plot", metavar="FILE", help="draw a picture: out.png, out.pdf, out.svg")
    simulate.add_argument("--save", metavar="FILE", help="save the result: out.nc")
    simulate.add_argument("--quiet", action="store_true", help="no progress and no summary")

    report = command("report", _report, "tell what became of the equations of a model")
    report.add_argument("model", help=MODEL_HELP)

    command("demo", _demo, "run the demonstration; it writes demo.png")
    return parser


def _simulate(options: argparse.Namespace) -> int:
    params, init = _values(options.param), _values(options.init)
    names = split_names(options.show)
    _check(options)
    model = _model(options.model)

    from .translate import translate

    result: Result | None
    code = OK
    try:
        result = translate(model).simulate(
            options.stop,
            start_time=options.start,
            params=params,
            init=init,
            times=options.points,
            rtol=options.rtol,
            progress=not options.quiet and sys.stderr.isatty(),
        )
    except ModiaError as error:
        _complain(str(error))
        result = getattr(error, "result", None)  # what was computed before the run failed
        code = FAILED
    except SimulationInterrupted as interrupt:
        _complain(str(interrupt))
        result, code = interrupt.result, INTERRUPTED
    if result is None:
        return code
    _hand_over(result, names, options)
    return code if code or result.success else FAILED


def _hand_over(result: Result, names: list[str], options: argparse.Namespace) -> None:
    """Save first: a wrong name must not lose a long run."""
    try:
        if options.save:
            result.save(options.save)
        if not options.quiet:
            print(result)
        if names:
            print(("" if options.quiet else "\n") + time_table(result, names))
        if options.plot:
            result.plot(*names, file=options.plot, title=result.model)
    except OSError as error:
        raise UsageError(str(error)) from None


def _report(options: argparse.Namespace) -> int:
    model = _model(options.model)

    from .translate import translate

    print(translate(model).report())
    return OK


def _demo(_: argparse.Namespace) -> int:
    from .models import demo

    demo.main()
    return OK


def _model(reference: str) -> Any:
    """The model; if the user's own file fails, its traceback without our part of it."""
    try:
        return make_model(reference)
    except (UsageError, ModiaError):
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).parent != Path(__file__).parent]
        own = [frame for frame in own if "importlib" not in frame.filename]
        listed = "".join(traceback.format_list(own) + traceback.format_exception_only(error))
        raise ModelError(f"{reference} cannot be loaded:\n{listed.rstrip()}") from None


def _check(options: argparse.Namespace) -> None:
    """Whatever can be refused is refused before a long run, not after it."""
    if options.points < 2:
        raise UsageError(f"--points {options.points}: at least the start and the end are needed.")
    if not options.stop > options.start:
        raise UsageError(f"--stop {options.stop:g} is not after the start, {options.start:g}.")
    if not 0 < options.rtol < 1:
        raise UsageError(f"--rtol {options.rtol:g} is not between 0 and 1.")
    for file in (options.save, options.plot):
        if file and not Path(file).resolve().parent.is_dir():
            raise UsageError(f"There is no folder {Path(file).parent} for {file}.")
    if options.save:
        for package in ("xarray", "h5netcdf", "h5py"):
            require(package, "io", "--save")
    if options.plot:
        figure = require("matplotlib.figure", "plot", "--plot").Figure()
        formats = figure.canvas.get_supported_filetypes()
        ending = Path(options.plot).suffix[1:]
        if ending.lower() not in formats:
            raise UsageError(f"--plot {options.plot}: the ending must be one of {', '.join(formats)}.")


def _values(assignments: Iterable[str]) -> dict[str, Any]:
    """`name=value` with numbers or lists of numbers."""
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        try:
            value = ast.literal_eval(text.strip())
            np.asarray(value, dtype=np.float64)
        except (SyntaxError, ValueError, TypeError):
            equals = ""
        if not equals or not name.strip():
            raise UsageError(f"{assignment!r} is not NAME=VALUE with a number or a list, such as r.R=2.5.")
        values[name.strip()] = value
    return values


def split_names(text: str) -> list[str]:
    """Names between commas, but not between those inside brackets.

    >>> split_names("s, c[0, 1].u,der(s)")
    ['s', 'c[0, 1].u', 'der(s)']
    """
    names, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    return [name.strip() for name in names if name.strip()]


def time_table(result: Result, names: Sequence[str]) -> str:
    """Variables at a few times, evenly chosen among the points of the result."""
    if not len(result.time):
        return "no points were computed"
    chosen = np.linspace(0, len(result.time) - 1, min(ROWS_SHOWN, len(result.time))).round().astype(int)
    columns = [["time", *(f"{time:g}" for time in result.time[chosen])]]
    for name in names:
        selection = result.select(name)
        values = [selection.values] * len(chosen) if selection.constant else list(selection.values[chosen])
        heading = f"{name} in {selection.unit}" if selection.unit else name
        columns.append([heading, *(value_text(np.asarray(value)) for value in values)])
    widths = [max(map(len, column)) for column in columns]
    rows = zip(*columns, strict=True)
    return "\n".join(
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    word = "warning" if issubclass(category, ModelWarning) else category.__name__
    _complain(f"{word}: {message}")


def _complain(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
