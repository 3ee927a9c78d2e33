"""The command `modia`: simulate a model of a file, report on its structure, begin a new one.

Exit codes: 0 all went well; 1 the model or its simulation has an error; 2 the command makes no sense.
"""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__
from .command_values import Asked, assignments, input_assignments, split_names, times_of_output, values_of
from .errors import ModelError, ModelWarning, ModiaError, ResultFileError, SimulationInterrupted
from .model_reference import UsageError, make_model
from .new_model import DEFAULT_FILE, write_new_model
from .optional_packages import require
from .results.files import check_ending
from .results.result import Result
from .results.text import value_text
from .simulation.request import RTOL_LIMITS, times_between

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
  modia simulate plant.py:Plant --stop 5 --input u=table.csv --times 0:5:0.1 --show 'y,arm.*.tau'
  modia report pendulum.py:Pendulum
  modia new pendulum.py
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
    simulate.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=TABLE",
        help="an input: a CSV file with times and values, u=table.csv or u=table.csv,previous; or a number",
    )
    simulate.add_argument("--points", type=int, default=501, metavar="N", help="points of output (501)")
    simulate.add_argument(
        "--times", metavar="TIMES", help="times of output instead: 0,0.5,2 or FIRST:LAST:STEP, 0:10:0.1"
    )
    simulate.add_argument("--rtol", type=float, default=1e-6, help="relative tolerance (1e-6)")
    simulate.add_argument(
        "--show",
        default="",
        metavar="NAMES",
        help="variables to print over time and to plot: s,der(s),c[0].u,arm.*.tau",
    )
    simulate.add_argument("--plot", metavar="FILE", help="draw a picture: out.png, out.pdf, out.svg")
    simulate.add_argument("--save", metavar="FILE", help="save the result: out.nc")
    simulate.add_argument("--quiet", action="store_true", help="no progress and no summary")

    report = command("report", _report, "tell what became of the equations of a model")
    report.add_argument("model", help=MODEL_HELP)

    new = command("new", _new, "write a small model to start from")
    new.add_argument("file", nargs="?", default=DEFAULT_FILE, help=f"the file to write ({DEFAULT_FILE})")

    command("demo", _demo, "run the demonstration; it writes demo.png")
    return parser


def _simulate(options: argparse.Namespace) -> int:
    asked = Asked(
        assignments("-p", options.param),
        assignments("--init", options.init),
        input_assignments(options.input),
        split_names(options.show),
    )
    times = options.points if options.times is None else times_of_output(options.times)
    _check(options)
    model = _model(options.model)

    from .translate import translate

    result: Result | None
    code = OK
    try:
        sim = translate(model)
        asked.check(sim, options.start, options.stop)
        if options.times is not None:
            _check_times(times, options)
        result = sim.simulate(
            options.stop,
            start_time=options.start,
            params=values_of(asked.params),
            init=values_of(asked.init),
            inputs=values_of(asked.inputs),
            times=times,
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
    _hand_over(result, asked.shown, options)
    return code if code or result.success else FAILED


def _check_times(times: Any, options: argparse.Namespace) -> None:
    try:
        times_between(times, options.start, options.stop)
    except ModiaError as error:
        raise UsageError(f"--times {options.times}: {error}") from None


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


def _new(options: argparse.Namespace) -> int:
    print(write_new_model(options.file))
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
    least, most = RTOL_LIMITS
    if not least <= options.rtol <= most:
        raise UsageError(f"--rtol {options.rtol:g} is not between {least:g} and {most:g}.")
    for file in (options.save, options.plot):
        if file and not Path(file).resolve().parent.is_dir():
            raise UsageError(f"There is no folder {Path(file).parent} for {file}.")
    if options.save:
        try:
            check_ending(Path(options.save))
        except ResultFileError as error:
            raise UsageError(f"--save {error}") from None
        for package in ("xarray", "h5netcdf", "h5py"):
            require(package, "io", "--save")
    if options.plot:
        figure = require("matplotlib.figure", "plot", "--plot").Figure()
        formats = figure.canvas.get_supported_filetypes()
        ending = Path(options.plot).suffix[1:]
        if ending.lower() not in formats:
            raise UsageError(f"--plot {options.plot}: the ending must be one of {', '.join(formats)}.")


def time_table(result: Result, names: Sequence[str]) -> str:
    """Variables at a few times, evenly chosen among the points of the result."""
    if not len(result.time):
        return "no points were computed"
    chosen = np.linspace(0, len(result.time) - 1, min(ROWS_SHOWN, len(result.time))).round().astype(int)
    columns = [["time", *(f"{time:g}" for time in result.time[chosen])]]
    for name in (own for pattern in names for own in result.expand(pattern)):
        selection = result.find(name)
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
