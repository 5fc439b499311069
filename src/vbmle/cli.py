"""The command line. Thin: each command imports what it needs, so that help stays light.

Exit codes: 0 done; 1 some trials failed (named, the others kept); 2 bad input (one line that says what and
where); 130 stopped by Ctrl-C (what is complete is kept).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from vbmle.experiments import InputError

if TYPE_CHECKING:
    from vbmle.experiments.spec import Experiment

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
FAILURES_SHOWN = 5

UsageError = cast(type[Exception], typer.BadParameter.__base__)


class OneLine(TyperGroup):
    """Commands whose complaints about their input are one line."""

    def main(self, *args: Any, **extra: Any) -> Any:
        extra["standalone_mode"] = False
        try:
            code = super().main(*args, **extra)
        except UsageError as error:
            problem = error.format_message().rstrip(".")  # type: ignore[attr-defined]
            code = _complain(f"{problem} (see vbmle --help)")
        except InputError as error:
            code = _complain(str(error))
        except typer.Abort:
            code = INTERRUPTED
        if code == INTERRUPTED:
            _say("vbmle: interrupted; what is complete is kept, run again to go on")
        sys.exit(code if isinstance(code, int) else 0)


def _complain(text: str) -> int:
    _say("vbmle: " + " ".join(text.split()))
    return BAD_INPUT


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


app = typer.Typer(cls=OneLine, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Where records are.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where records, figures, tables and the page go.")]
Jobs = Annotated[int | None, typer.Option(metavar="N", help="Processes; by default one per processor.")]


@app.callback(invoke_without_command=True)
def main(context: typer.Context) -> None:
    """Learning to control systems whose behaviour is an unknown mix of known models."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def paper(
    quick: Annotated[bool, typer.Option("--quick", help="5 trials of 200 steps: a first look.")] = False,
    out: Out = Path("paper"),
    jobs: Jobs = None,
    trials: Annotated[int | None, typer.Option(metavar="N", help="Worlds drawn for each size.")] = None,
    horizon: Annotated[int | None, typer.Option(metavar="T", help="Steps in each.")] = None,
) -> None:
    """Run what the paper shows; ends in DIR/report.html. Run again to resume."""
    from vbmle.experiments.paper import experiment

    _run(experiment(quick, trials, horizon), out, jobs)


@app.command()
def report(folder: Folder) -> None:
    """Make the page, the figures and the tables again, from records alone."""
    _report(folder)


@app.command()
def agents() -> None:
    """List the agents: settings with their defaults, and what each is."""
    from vbmle.experiments import catalogue

    for name, maker in catalogue.agents().items():
        print(catalogue.describe(name, maker))


@app.command()
def worlds() -> None:
    """List the worlds: settings with their defaults, and what each is."""
    from vbmle.experiments import catalogue

    for name, maker in catalogue.worlds().items():
        print(catalogue.describe(name, maker))


def _run(experiment: Experiment, out: Path, jobs: int | None) -> None:
    """Run an experiment, report it, and end with the code that says how it went."""
    from vbmle.experiments import compute, progress, run

    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs is {jobs}; it needs a whole number that is at least 1")
    try:
        with progress.watch() as watcher:
            summary = run.run(experiment, out, jobs or compute.processors(), watcher)
        _report(out)
    except run.Stopped as error:
        _say(f"vbmle: {error}")
        raise typer.Exit(FAILED) from None
    for failure in summary.failures[:FAILURES_SHOWN]:
        _say(f"vbmle: {failure}")
    if summary.failures:
        more = len(summary.failures) - FAILURES_SHOWN
        _say(f"vbmle: {len(summary.failures)} trials failed{f', {more} more than shown' if more > 0 else ''}")
        raise typer.Exit(FAILED)


def _report(folder: Path) -> None:
    from vbmle.report import write

    page = write(folder)
    _say(f"see {page}")
