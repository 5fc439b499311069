"""Sweeps from Python: the same object that a TOML file describes, run by the same loop into the same records.

    sweep = vbmle.Sweep(worlds=["riverswim"], agents=[vbmle.VBMLE, vbmle.PSRL], trials=20, horizon=600)
    sweep.run("rivers").records             # a frame; run it again to resume, with a longer horizon to go on

A world or an agent is a name of the catalogue, "module:name" of your own, the class or function itself, a
`functools.partial` of it with settings, or a table as in the file (`vbmle.experiments.spec_file`). A world may
also be a `vbmle.World`, which is saved beside the records.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from vbmle.common import showing
from vbmle.common.validation import nearest
from vbmle.experiments import (
    InputError,
    catalogue,
    compute,
    own_parts,
    progress,
    record_file,
    records,
    spec_file,
)
from vbmle.experiments.record_table import read_records
from vbmle.experiments.run import Failure, is_complete, run_all
from vbmle.experiments.spec import Experiment, folder_name
from vbmle.model.world import DriftingWorld, World
from vbmle.report import latex, runs, significance, words
from vbmle.report import write as write_report

if TYPE_CHECKING:
    import polars

Part = str | Mapping[str, Any] | Callable[..., Any]
"""What makes a world or an agent: a name, a table as in a file, or the maker itself."""

MODELS = "models"
"""The folder beside the records that has the worlds which were given as such."""


class Sweep:
    """Worlds x agents x trials, as `vbmle run` runs them.

    Parameters
    ----------
    worlds : dict of worlds by label, or a list of them
        Each is a name ("riverswim", or "module:name" of your own), the function that makes it, a `functools.partial` of
        that with settings, a `vbmle.World`, or a table as in the file,
        {"world": "riverswim", "length": {"sweep": [4, 6]}}.
    agents : dict of agents by label, or a list of them
        The same, of agents; classes and functions of your own have to stand in a module, not in the notebook.
    trials : int
        Of every agent in every world.
    horizon : int
        Steps in each trial.
    name : str, default "sweep"
        Of the experiment: part of every seed.
    title : str, default ""
        What the report is called.
    reference : str, default ""
        The label of the agent that the report compares the others with.
    record : dict, optional
        What is recorded, as in the table [record]: steps, distance, mle_error, trajectories.
    metrics : dict, optional
        Metrics of your own by name: functions of a `vbmle.Step` that stand in a module, or "module:function".
    stop : dict, optional
        As in the table [stop]: comparisons decide how many trials it takes.

    Raises
    ------
    ValueError
        In one line, if a name, a setting or a type does not fit.

    Examples
    --------
    >>> import vbmle
    >>> sweep = vbmle.Sweep(worlds=["riverswim"], agents=[vbmle.VBMLE, vbmle.PSRL], trials=6, horizon=100)
    >>> sweep.run(jobs=2).compare("VBMLE", "PSRL")  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        worlds: Mapping[str, Part | World] | Iterable[Part],
        agents: Mapping[str, Part] | Iterable[Part],
        trials: int,
        horizon: int,
        name: str = "sweep",
        title: str = "",
        reference: str = "",
        record: Mapping[str, Any] | None = None,
        metrics: Mapping[str, str | Callable[..., float]] | None = None,
        stop: Mapping[str, Any] | None = None,
    ) -> None:
        recorded = dict(record or {})
        if metrics:
            recorded["metrics"] = {label: _name_of("metric", maker) for label, maker in metrics.items()}
        words = {"title": title, "reference": reference}
        self._content: dict[str, Any] = {
            "name": name,
            **{key: value for key, value in words.items() if value},
            "trials": trials,
            "horizon": horizon,
            **({"record": recorded} if recorded else {}),
            **({"stop": stop} if stop else {}),
            "worlds": _tables("world", worlds),
            "agents": _tables("agent", agents),
        }
        self._where, self._beside = "Sweep", Path.cwd()
        self.folder: Path | None = None
        self.failures: list[Failure] = []
        """Trials that failed in the last run."""
        if not any(isinstance(table, World) for table in self._content["worlds"].values()):
            self._experiment(Path.cwd())

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The sweep that a TOML file describes."""
        return cls._of(spec_file.read(Path(path)), str(path), Path(path).parent)

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """The sweep whose records a folder holds, to be read or to go on with."""
        results = records.load(Path(folder))
        if len(results) > 1:
            names = ", ".join(one.experiment.name for one in results)
            raise InputError(f"{folder} holds {len(results)} experiments ({names}); a Sweep is one")
        made = cls._of(results[0].experiment, str(folder), Path(folder))
        made.folder = Path(folder)
        return made

    @classmethod
    def _of(cls, experiment: Experiment, where: str, beside: Path) -> Self:
        made = object.__new__(cls)
        made._content = spec_file.told(experiment)
        made._where, made._beside = where, beside
        made.folder, made.failures = None, []
        return made

    def write(self, path: str | Path) -> Path:
        """Write it as a TOML file for `vbmle run`; worlds that were given as such are saved in models/ beside it."""
        target = Path(path)
        target.write_text(spec_file.written(self._experiment(target.parent)), encoding="utf-8")
        return target

    def run(
        self,
        folder: str | Path | None = None,
        jobs: int | None = None,
        dask: str | None = None,
    ) -> Self:
        """Run what has no record yet, and return the sweep.

        Parameters
        ----------
        folder : str or Path, optional
            Where records go; a run there is resumed, or continued where the horizon is longer. By default a temporary
            folder, which is gone with the sweep.
        jobs : int, optional
            Processes; by default one per processor.
        dask : str, optional
            The address of a dask cluster to use instead.
        """
        if jobs is not None and dask is not None:
            raise InputError(
                "jobs and dask are both given; on a cluster its workers decide, so leave jobs out"
            )
        if jobs is not None and jobs < 1:
            raise InputError(f"jobs is {jobs}; it needs a whole number that is at least 1")
        home = Path(folder) if folder is not None else self.folder or self._temporary()
        experiment = self._experiment(home)
        self.folder, self.failures = home, []
        if is_complete([experiment], home):
            return self
        spec_file.try_out(experiment, self._where)
        with progress.watch() as watcher:
            workers = _workers(jobs, dask, watcher.say)
            self.failures = run_all([experiment], home, workers, watcher)[0].failures
        if self.failures:
            first, count = self.failures[0], len(self.failures)
            warnings.warn(
                f"{count} trials failed (sweep.failures has them): {first}", RuntimeWarning, stacklevel=2
            )
        return self

    @property
    def experiment(self) -> Experiment:
        """What is run, as data."""
        return self._experiment(self.folder or self._temporary())

    @property
    def records(self) -> polars.DataFrame:
        """A frame with a row for each recorded step of each trial: see `vbmle.read_records`."""
        return read_records(self._ran())

    def report(self, pictures: bool = True) -> Path:
        """Write the page, with its figures and tables as PDF, CSV and LaTeX, into the folder; returns the page."""
        return write_report(self._ran(), pictures)

    def compare(self, agent: str, against: str) -> Comparison:
        """The mean paired difference of final regret in each world, with a 95% interval: below 0 `agent` is better."""
        (part,) = runs.read(self._ran())
        for label in (agent, against):
            if label not in part.experiment.agents:
                known = nearest(label, part.experiment.agents, "Its agents")
                raise InputError(f"unknown agent {label!r} of this sweep{known}")
        found = [(world.label, significance.difference(world, agent, against)) for world in part.worlds]
        return Comparison(agent, against, {label: gap for label, gap in found if gap is not None})

    def _ran(self) -> Path:
        if self.folder is None or not (self.folder / record_file.NAME).exists():
            raise InputError("this sweep has no records yet; call run() first")
        return self.folder

    def _experiment(self, home: Path) -> Experiment:
        """What is described, with the worlds that were given as such saved under `home`."""
        worlds = {
            label: _saved(table, label, home / MODELS) if isinstance(table, World) else table
            for label, table in self._content["worlds"].items()
        }
        return spec_file.described(self._content | {"worlds": worlds}, self._where, self._beside)

    def _temporary(self) -> Path:
        """A folder that is removed with this object."""
        if not hasattr(self, "_folder"):
            self._folder = Path(tempfile.mkdtemp(prefix="vbmle-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def _shown(self) -> list[tuple[str, str]]:
        content = self._content
        return [
            *((f"{kind}s", showing.some(content[f"{kind}s"])) for kind in ("world", "agent")),
            ("trials", f"{content['trials']} of {content['horizon']} steps"),
            ("folder", str(self.folder) if self.folder else "not run yet"),
        ]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{key}={len(self._content[key])}" for key in ("worlds", "agents"))
        return f"Sweep({sizes}, trials={self._content['trials']}, horizon={self._content['horizon']})"

    def _repr_html_(self) -> str:
        return showing.as_html(repr(self), self._shown())


@dataclass(frozen=True)
class Comparison:
    """Two agents compared in each world of a sweep, by trials that both have; differences are agent minus other.

    Attributes
    ----------
    agent : str
        Below 0 it is better.
    against : str
        What it is compared with.
    worlds : dict of differences
        By the label of the world: means, the difference with its interval, and the outcome.

    Examples
    --------
    >>> import vbmle
    >>> print(vbmle.Sweep.open("rivers").compare("VBMLE", "PSRL").to_latex())  # doctest: +SKIP
    """

    agent: str
    against: str
    worlds: Mapping[str, significance.Difference]

    def to_frame(self) -> polars.DataFrame:
        """A row for each world: trials, both means, the difference with its interval, and the outcome."""
        import polars

        rows = [
            {
                "world": label,
                "agent": gap.agent,
                "against": gap.against,
                "trials": gap.trials,
                "mean": gap.mean,
                "against_mean": gap.against_mean,
                **{f"{'difference' if k == 'value' else k}": v for k, v in asdict(gap.found).items()},
                "outcome": gap.outcome,
            }
            for label, gap in self.worlds.items()
        ]
        return polars.DataFrame(rows)

    def to_latex(self) -> str:
        """A tabular for a paper; it needs no package."""
        head = ["world", f"{self.agent}", f"{self.against}", "difference", r"95\% interval"]
        lines = [
            r"\begin{tabular}{lrrrr}",
            r"\hline",
            " & ".join([head[0], *map(latex.escape, head[1:4]), head[4]]),
        ]
        lines[-1] += r" \\"
        lines.append(r"\hline")
        lines += [" & ".join(map(latex.escape, row)) + r" \\" for row in self._rows()]
        return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])

    def _rows(self) -> list[list[str]]:
        return [
            [
                label,
                words.short(gap.mean),
                words.short(gap.against_mean),
                words.short(gap.found.value),
                _ends(gap),
            ]
            for label, gap in self.worlds.items()
        ]

    def __repr__(self) -> str:
        told = ", ".join(f"{label}: {gap.outcome}" for label, gap in list(self.worlds.items())[:4])
        return f"Comparison({self.agent!r} against {self.against!r}: {told})"

    def _repr_html_(self) -> str:
        head = ["world", self.agent, self.against, "difference", "95% interval", "outcome"]
        rows = [[*row, gap.outcome] for row, gap in zip(self._rows(), self.worlds.values(), strict=True)]
        return showing.table(head, rows)


def _ends(gap: significance.Difference) -> str:
    known = gap.found.known
    return f"{words.short(gap.found.low)} to {words.short(gap.found.high)}" if known else "too few trials"


def _workers(jobs: int | None, dask: str | None, say: Callable[[str], None]) -> compute.Workers:
    if dask is None:
        return compute.Workers(jobs or compute.processors())
    from vbmle.experiments.cluster import connect

    return connect(dask, say)


def _tables(kind: str, given: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """A table, as in the file, for each label; worlds that are given as such stay what they are."""
    if isinstance(given, str):
        raise InputError(f"{kind}s is the text {given!r}; it needs a list, or a dict by label")
    if not isinstance(given, Mapping):
        listed = list(given)
        given = {_label(kind, part): part for part in listed}
        if len(given) < len(listed):
            raise InputError(f"two {kind}s have one name; give {kind}s as a dict by label")
    return {label: _table(kind, part, label) for label, part in given.items()}


def _label(kind: str, part: Any) -> str:
    if isinstance(part, World | partial | Mapping):
        raise InputError(f"a {type(part).__name__} has no name; give {kind}s as a dict by label")
    return _name_of(kind, part).rpartition(":")[2]


def _table(kind: str, part: Any, label: str) -> Any:
    if isinstance(part, World):
        if kind != "world" or isinstance(part, DriftingWorld):
            raise InputError(f"{kind} {label!r} is a {type(part).__name__}, which a sweep does not take")
        return part
    if isinstance(part, Mapping):
        maker = part.get(kind, label)
        return {**part, kind: maker if isinstance(maker, Mapping) else _name_of(kind, maker)}
    if isinstance(part, partial):
        if part.args:
            raise InputError(f"{kind} {label!r} is a partial with arguments by place; give settings by name")
        return {kind: _name_of(kind, part.func), **part.keywords}
    return {kind: _name_of(kind, part)}


def _name_of(kind: str, maker: Any) -> str:
    """The name by which a worker finds it; what Python code names is trusted as that code is."""
    if isinstance(maker, str):
        if own_parts.is_own(maker):
            own_parts.allow(maker.partition(":")[0].partition(".")[0])
        return maker
    if not callable(maker):
        raise InputError(f"{kind} is of type {type(maker).__name__}; it needs a name or what makes it")
    known = {"world": catalogue.worlds(), "agent": dict[str, Any](catalogue.agents())}
    for name, ours in known.get(kind, {}).items():
        if ours is maker:
            return name
    module, name = getattr(maker, "__module__", "__main__"), getattr(maker, "__qualname__", "<lambda>")
    if module == "__main__" or not name.isidentifier():
        raise InputError(
            f"{kind} {name} stands in the notebook or script itself, where no worker finds it; put it into a module"
        )
    return _name_of(kind, f"{module}:{name}")


def _saved(world: World, label: str, home: Path) -> dict[str, Any]:
    """The table of a world that is kept in a file."""
    path = (home / f"{folder_name(label)}.npz").resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    world.mdp.save(path)
    return {"world": {"model": str(path), "theta": world.theta.tolist()}}
