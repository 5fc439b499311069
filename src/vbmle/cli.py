"""The command line. Thin: each command imports what it needs, so that help stays light.

How commands end, their exit codes included, is in `vbmle.terminal`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.markup import escape
from typer.core import TyperGroup

from vbmle.common.validation import InputError
from vbmle.serve import command as serving
from vbmle.terminal import FAILED, INTERRUPTED, name_failures, one_line, say

if TYPE_CHECKING:
    from vbmle.experiments.compute import Workers
    from vbmle.experiments.spec import Experiment
    from vbmle.model.world import World

UsageError = cast(type[typer.BadParameter], typer.BadParameter.__base__)
"""What typer raises for arguments that do not fit; it has no public name there."""


PIPED_WIDTH = 120
"""Columns where no terminal says how many."""

GROUPS = {
    "Experiments": ("run", "report", "export", "paper", "compare", "league", "study", "bench"),
    "Models": ("worth", "convert", "agents", "worlds", "play"),
    "Production": ("serve", "check"),
}
"""Where a command stands in the help."""


class OneLine(TyperGroup):
    """Commands in groups, whose complaints about their input are one line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """All commands with the whole of their descriptions."""
        for title, names in GROUPS.items():
            rows = [(name, (self.commands[name].help or "").partition("\n\n")[0]) for name in names]
            with formatter.section(title):
                formatter.write_dl([(name, " ".join(text.split())) for name, text in rows])

    def main(self, *args: Any, **extra: Any) -> Any:
        extra["standalone_mode"] = False
        with one_line():
            try:
                code = super().main(*args, **extra)
            except UsageError as error:
                raise InputError(f"{error.format_message().rstrip('.')} (see vbmle --help)") from error
            except typer.Abort as error:
                raise KeyboardInterrupt from error
            if code == INTERRUPTED:
                raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=OneLine,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Where the records are.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where records, figures, tables and the page go.")]
Spec = Annotated[Path, typer.Argument(metavar="SPEC.toml", help="Worlds, agents, trials and horizon.")]
Dask = Annotated[str | None, typer.Option(metavar="ADDRESS", help="A running dask cluster to use instead.")]
Trials = Annotated[int | None, typer.Option(metavar="N", help="Trials of every agent in every world.")]
Horizon = Annotated[int | None, typer.Option(metavar="T", help="Steps in each trial.")]
Allow = Annotated[
    list[str] | None,
    typer.Option(metavar="PACKAGE", help="A package of code that SPEC.toml may name, wherever it lies."),
]
Quick = Annotated[bool, typer.Option("--quick", help="Few trials and steps: a first look.")]
ExportTo = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Where the table goes; by default beside the records."),
]
Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show the settings of this one.")]
Jobs = Annotated[int | None, typer.Option(metavar="N", help="Processes; by default one per processor.")]


@contextmanager
def _files_of_yours() -> Iterator[None]:
    """What cannot be read or written, or makes no sense, ends the command in one line."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: no such file") from error
    except (OSError, ValueError) as error:
        raise InputError(str(error)) from error


def _show_version(wanted: bool) -> None:
    if wanted:
        from vbmle.core.library import built_by
        from vbmle.experiments.resume_key import version_of

        print(f"vbmle {version_of('vbmle')}, core by {built_by()}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
]


@app.callback(invoke_without_command=True)
def main(context: typer.Context, version: Version = False) -> None:
    """Learning to control systems whose behaviour is an unknown mix of known models."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="A", help="A model in any format that vbmle.read knows.")],
    to: Annotated[Path, typer.Argument(metavar="B", help="Ends in .npz, .csv, .pomdpx, .POMDP or .MDP.")],
    discount: Annotated[
        float | None, typer.Option(metavar="G", help="For files that do not say it, or in its place.")
    ] = None,
) -> None:
    """Convert a model from one format to another; the endings say which."""
    from vbmle.formats.files import read, write

    with _files_of_yours():
        mdp = read(source, discount)
        write(mdp, to)
    print(f"{to}: {mdp}")
    if to.suffix.lower() == ".csv":
        say(
            "vbmle: CSV has no place for names, the discount, the prior and the first state; they are left out"
        )


@app.command()
def paper(
    quick: Quick = False,
    thorough: Annotated[
        bool,
        typer.Option("--thorough", help="Up to 800 worlds, T to 100,000, all that the paper leaves open."),
    ] = False,
    out: Out = Path("paper"),
    jobs: Jobs = None,
    trials: Trials = None,
    horizon: Horizon = None,
) -> None:
    """Reproduce the paper's experiments, and the ones its reviewers asked for, into DIR. Run again to resume."""
    from vbmle.experiments import world_measures
    from vbmle.paper.suite import experiments, measured

    if quick and thorough:
        raise InputError("--quick and --thorough are both given; leave one out")
    planned, most = experiments(quick, trials, horizon, thorough), measured(quick, thorough)
    if _is_shown(planned, out) and not world_measures.missing(planned[0], out, most):
        _say_done(out)
        _verdicts(out)
        return
    with _home(jobs) as workers:
        failures = _records(planned, out, workers)
        failures += _measured(planned[0], most, out, workers)
        _report(out, not quick, workers)
    _verdicts(out)
    name_failures(failures)


@app.command()
def run(
    spec: Spec,
    out: Out,
    jobs: Jobs = None,
    dask: Dask = None,
    trials: Trials = None,
    horizon: Horizon = None,
    allow: Allow = None,
) -> None:
    """Run the sweep that SPEC.toml describes; ends in DIR/report.html. Run again to resume."""
    from vbmle.experiments import compute, own_parts, progress, spec_file

    own_parts.allow(*allow or ())
    if dask is not None and jobs is not None:
        raise InputError(
            "--jobs and --dask are both given; on a cluster its workers decide, so leave --jobs out"
        )
    experiment = spec_file.read(spec, trials=trials, horizon=horizon)
    if _is_shown([experiment], out):
        _say_done(out)
        return
    with progress.busy(f"checking {spec}"), compute.ends_at_once():  # nothing is written yet
        spec_file.try_out(experiment, spec)
    _run([experiment], out, _home(jobs) if dask is None else _cluster(dask))


@app.command()
def study(
    quick: Quick = False,
    out: Out = Path("study"),
    jobs: Jobs = None,
) -> None:
    """Measure what the maximiser and the bias do to regret; ends in DIR/report.html. Run again to resume."""
    from vbmle.suites import study as suite
    from vbmle.suites.study_page import write

    sizes = suite.QUICK if quick else suite.FULL
    failures = _records(suite.experiments(sizes), out, _home(jobs))
    audits = suite.audits(sizes)
    say(f"comparing {sum(audit.steps for audit in audits)} steps with the certified maximum")
    failures += suite.run_audits(audits, out, _processes(jobs))
    _report(out, not quick, _home(jobs))
    print((page := write(out, audits)).read_text(encoding="utf-8"))
    say(f"see {page}")
    name_failures(failures)


@app.command()
def compare(
    quick: Quick = False,
    out: Out = Path("compare"),
    jobs: Jobs = None,
) -> None:
    """Run all agents, default and tuned; ends in DIR/comparison.md and the page. Run again to resume."""
    from vbmle.suites import compare as suite
    from vbmle.suites.compare_page import write

    size = suite.QUICK if quick else suite.FULL
    failures = _records(suite.tuning(size), out / "tuning", _home(jobs))
    chosen = suite.choose(out / "tuning")
    failures += _records(suite.comparison(chosen, size), out, _home(jobs))
    _report(out, not quick, _home(jobs))
    print((page := write(out, chosen)).read_text(encoding="utf-8"))
    say(f"see {page}")
    name_failures(failures)


@app.command()
def league(
    quick: Quick = False,
    out: Out = Path("league"),
    jobs: Jobs = None,
    trials: Trials = None,
) -> None:
    """Run all agents in worlds of many kinds; ends in DIR/league.md and the page. Run again to resume."""
    from vbmle.suites import league as suite
    from vbmle.suites.league_page import write

    size = suite.QUICK if quick else suite.FULL
    if trials is not None:
        size = size._replace(trials=trials)
    failures = _records(suite.experiments(size), out, _home(jobs))
    _report(out, not quick, _home(jobs))
    try:
        page = write(out)
    except ValueError as error:  # every trial of some agent failed
        name_failures([*failures, str(error)])
        return
    print(page.read_text())
    say(f"see {page}")
    name_failures(failures)


@app.command()
def report(folder: Folder, allow: Allow = None) -> None:
    """Make the page, the figures and the tables again, from records alone."""
    from vbmle.experiments import own_parts

    own_parts.allow(*allow or ())
    _report(folder)


@app.command()
def export(folder: Folder, out: ExportTo = None) -> None:
    """Write all records as one table, DIR/records.parquet and DIR/records.csv."""
    from vbmle.experiments.record_table import write

    for path in write(folder, out or folder):
        say(f"see {path}")


@app.command()
def bench(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the table goes, with all its numbers.")
    ] = Path("bench"),
    quick: Annotated[bool, typer.Option("--quick", help="Every row from few steps: a first look.")] = False,
    surface: Annotated[
        bool, typer.Option("--surface", help="What a decision costs over sizes of models, instead.")
    ] = False,
) -> None:
    """Benchmark vbmle against reference implementations, interleaved in one run."""
    import os
    import subprocess

    from vbmle.common.threads import ONE_THREAD

    sources = Path(__file__).parents[2]
    if not (sources / "benchmarks" / "__main__.py").is_file():
        raise InputError("the bench is not installed with the package; run it in a checkout of the sources")
    # A process of its own: BLAS reads the number of its threads when NumPy is first loaded.
    command = [sys.executable, "-P", "-m", "benchmarks", str(out)]
    command += ["--quick"] * quick + ["--surface"] * surface
    paths = [str(sources), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(paths)}
    code = subprocess.run(command, env=environment, check=False).returncode
    if code:
        raise typer.Exit(code)


@app.command()
def play(
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="Where the page goes.")] = Path(
        "playground.html"
    ),
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL.npz", help="A model of your own, by LinearMixtureMDP.save.")
    ] = None,
    theta: Annotated[str | None, typer.Option(metavar="W", help="Its true weights, as in .2,.3,.5.")] = None,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Write the playground: one offline page that shows a bias towards value at work."""
    import webbrowser

    from vbmle.play import write
    from vbmle.play.scenes import read

    with _files_of_yours():
        page = write(out, read(model, theta))
    say(f"see {page}")
    if show:
        webbrowser.open(page.resolve().as_uri())


@app.command(
    help=serving.ABOUT,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def serve(context: typer.Context) -> None:
    """Its arguments are read where its own extra is enough (`vbmle.serve.command`)."""
    serving.main(context.args)


@app.command(
    help=serving.ABOUT_CHECKING,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def check(context: typer.Context) -> None:
    """As that of `serve`."""
    serving.check(context.args)


@app.command()
def worth(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Candidates, in any format that vbmle.read knows.")
    ],
    prior: Annotated[
        str | None, typer.Option(metavar="W", help="The probability of each candidate, as in 0.5,0.3,0.2.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(metavar="T", help="After how many steps nothing more is earned.")
    ] = None,
    runs: Annotated[int, typer.Option(metavar="N", help="Simulations of each way that learns.")] = 10_000,
) -> None:
    """Say what it is worth to learn which candidate is true, to explore for that, and to be told."""
    from vbmle.formats.files import read
    from vbmle.value_of_learning import worth as found

    try:
        weights = None if prior is None else [float(part) for part in prior.split(",")]
    except ValueError:
        raise InputError(
            f"--prior is {prior!r}; it needs numbers between commas, as in 0.5,0.3,0.2"
        ) from None
    with _files_of_yours():
        print(found(read(model), weights, horizon, runs=runs))


@app.command()
def agents(name: Name = None) -> None:
    """List the agents, or show the settings of one."""
    from vbmle.experiments import catalogue

    _list("agent", catalogue.agents(), name)


@app.command()
def worlds(
    name: Name = None,
    draw: Annotated[
        tuple[str, Path] | None,
        typer.Option(metavar="NAME FILE.png", help="Draw a world with its best policy and value."),
    ] = None,
) -> None:
    """List the worlds, show the settings of one, or draw one."""
    from vbmle.experiments import catalogue

    if draw is not None:
        _draw(*draw)
    else:
        _list("world", catalogue.worlds(), name)


def _list(kind: str, known: Mapping[str, Any], name: str | None) -> None:
    """A line for each, as wide as the terminal; or one, with a table of its settings."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from vbmle.common.validation import nearest
    from vbmle.experiments import catalogue

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
    if name is None:
        table = Table.grid(padding=(0, 2))
        for one, maker in known.items():
            table.add_row(one, catalogue.about(maker))
        console.print(table)
        return
    if name not in known:
        raise InputError(f"unknown {kind} {name!r}{nearest(name, known, f'Known {kind}s')}")
    console.print(f"{name}: {catalogue.about(known[name])}", markup=False)
    table = Table("setting", "type", "default", "meaning", box=SIMPLE_HEAD)
    for row in catalogue.described(known[name]):
        table.add_row(*map(escape, row))
    if table.row_count:
        console.print(table)


def _draw(name: str, path: Path) -> None:
    """The picture of a world by name, with the settings it has in Gymnasium's register."""
    from vbmle.common.settings import require
    from vbmle.experiments import catalogue
    from vbmle.plot.world_picture import write
    from vbmle.worlds import EXAMPLES

    if Path(name).suffix == ".npz":
        world = _model_as_world(Path(name))
    else:
        known, mine = dict(catalogue.worlds()), " (or the file of a model of yours, MODEL.npz)"
        settings = require("world", known, name, EXAMPLES.get(name, {}), "--draw", mine)
        world = known[name](**settings)
    try:
        write(world, Path(name).stem, path)
    except (OSError, ValueError) as error:
        raise InputError(f"--draw: cannot write {path} ({error})") from error
    say(f"see {path}")


def _model_as_world(path: Path) -> World:
    """A model of yours, under a theta well inside its feasible set."""
    from vbmle.model.mdp import LinearMixtureMDP
    from vbmle.model.world import World
    from vbmle.plot.plans import inside

    try:
        mdp = LinearMixtureMDP.load(path)
    except (OSError, ValueError) as error:
        raise InputError(f"--draw: {error}") from None
    return World(mdp, inside(mdp))


def _run(experiments: Sequence[Experiment], out: Path, workers: Workers, pictures: bool = True) -> None:
    """Run experiments, report them, and end with the code that says how it went."""
    failures = _records(experiments, out, workers)
    _report(out, pictures)
    name_failures(failures)


def _is_shown(experiments: Sequence[Experiment], out: Path) -> bool:
    """Whether all records are there, and a page that is younger than they are and than what makes it."""
    from vbmle import report
    from vbmle.experiments.run import is_complete

    return is_complete(experiments, out) and report.is_current(out)


def _say_done(out: Path) -> None:
    from vbmle.report import PAGE

    say(f"nothing to do: all trials have their records; see {out / PAGE}")


def _processes(jobs: int | None) -> int:
    from vbmle.experiments import compute

    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs is {jobs}; it needs a whole number that is at least 1")
    return jobs or compute.processors()


def _home(jobs: int | None) -> Workers:
    from vbmle.experiments.compute import Workers

    return Workers(_processes(jobs))


def _cluster(address: str) -> Workers:
    from vbmle.experiments.cluster import connect

    return connect(address, say)


def _records(experiments: Sequence[Experiment], out: Path, workers: Workers) -> list[str]:
    """Run what is missing of each; returns what failed, one entry each."""
    from vbmle.experiments import progress
    from vbmle.experiments.run import Stopped, run_all

    try:
        with progress.watch() as watcher:
            summaries = run_all(experiments, out, workers, watcher)
    except Stopped as error:
        say(f"vbmle: {error}")
        raise typer.Exit(FAILED) from None
    return [str(failure) for summary in summaries for failure in summary.failures]


def _measured(experiment: Experiment, most: Mapping[str, int], out: Path, workers: Workers) -> list[str]:
    """Measure the worlds that an experiment drew, so many of each; returns what failed, one entry each."""
    from vbmle.experiments import progress, world_measures

    with progress.watch() as watcher:
        failures = world_measures.run(experiment, out, workers, watcher, most)
    return [str(failure) for failure in failures]


def _verdicts(folder: Path) -> None:
    """What the records say about the paper's claims, a line each."""
    from vbmle.paper.claims import lines

    for line in lines(folder):
        print(line)


def _report(folder: Path, pictures: bool = True, workers: Workers | None = None) -> None:
    from vbmle.report import write

    try:
        page = write(folder, pictures, workers or _home(None))
    except OSError as error:
        say(f"vbmle: cannot write the report in {folder} ({error.strerror or error}); the records are kept")
        raise typer.Exit(FAILED) from None
    say(f"see {page}")
