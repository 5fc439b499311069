"""Experiments from TOML files.

    name = "rivers"                          # the file's name if left out
    title = "Swimming upstream"              # of the report; the name if left out
    reference = "VBMLE"                      # whom the report compares the others with; all with all if left out
    sections = "mypages:sections"            # what adds to the report (`vbmle.report.sections`)
    trials = 20
    horizon = 600

    [record]                                 # optional
    steps = "log"
    metrics = { "queue length" = "mypackage.queues:length" }   # of your own, called with a vbmle.Step

    [stop]                                   # optional: comparisons decide how many trials it takes (`stopping`)
    reference = "VBMLE"
    rivals = ["greedy"]
    looks = { "river length=4" = [100, 200, 400] }             # for each world

    [worlds.river]                           # the label in the report
    world = "riverswim"                      # the name in the catalogue; the label if left out
    length = { sweep = [4, 6, 8] }           # three worlds: "river length=4", ...

    [worlds.depot]
    world = { model = "depot.npz", theta = "random" }      # a file of yours, beside this one

    [agents.VBMLE]
    bias = "log"

    [agents.greedy]
    agent = "mypackage.controllers:Greedy"   # code of yours (`vbmle.experiments.own_parts`)
    role = "greedy"                          # it does not explore; by default what its class says

Errors give a one-line message: the file, the field, what it needs and the nearest match. Names and
types are checked against signatures, values by making every world and every agent once.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

from vbmle.agents.base import Role
from vbmle.common.settings import fit, nearest
from vbmle.experiments import InputError, catalogue, own_parts, playing, toml
from vbmle.experiments.spec import Choice, Experiment, Recording
from vbmle.experiments.stopping import Stopping
from vbmle.model.world import World
from vbmle.simulation import checked_metrics

FIELDS = Experiment.__struct_fields__
SWEEP = "sweep"

REFUSALS = (ValueError, TypeError, ArithmeticError, MemoryError)
"""What making a world or an agent from wrong values may raise."""


def read(path: Path, **changes: int | None) -> Experiment:
    """The experiment that a file describes, with these fields in place of the file's."""
    content = _content(path) | {key: value for key, value in changes.items() if value is not None}
    return described({"name": path.stem} | content, str(path), path.parent)


def described(content: Mapping[str, Any], where: str, folder: Path) -> Experiment:
    """The experiment that the tables of a file describe; `where` they stand, and the folder of files that they name."""
    for key in content:
        if key not in FIELDS:
            raise InputError(f"{where}: unknown field {key!r}{nearest(key, FIELDS, 'Known fields')}")
    for key in ("worlds", "agents", "trials", "horizon"):
        if key not in content:
            raise InputError(f"{where}: {key} is missing; {_example(key)}")
    words = {key: content[key] for key in ("name", "title", "reference", "sections") if key in content}
    for field, value in words.items():
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{where}: {field} is {value!r}; it needs a string")
    own_parts.look_in(folder, Path.cwd())
    record = _recording(f"{where}: record", content.get("record", {}))
    worlds = _choices(where, folder, "world", content["worlds"])
    agents = _choices(where, folder, "agent", content["agents"])
    rest = {"trials": content["trials"], "horizon": content["horizon"], "stop": _stopping(where, content)}
    try:
        return Experiment(worlds=worlds, agents=agents, record=record, **words, **rest)
    except InputError as error:
        raise InputError(f"{where}: {str(error).removeprefix(words['name'] + ': ')}") from None


def written(experiment: Experiment) -> str:
    """The same as TOML, which `read` makes equal to it."""
    return toml.written(told(experiment))


def told(experiment: Experiment) -> dict[str, Any]:
    """The tables of a file that describes it; what a sweep of settings made stands label by label."""
    content: dict[str, Any] = {"name": experiment.name}
    words = ("title", "reference", "sections")
    content |= {key: value for key in words if (value := getattr(experiment, key))}
    content |= {"trials": experiment.trials, "horizon": experiment.horizon}
    record = experiment.record.told()
    if record:
        content["record"] = record
    if experiment.stop is not None:
        content["stop"] = {k: v for k, v in msgspec.to_builtins(experiment.stop).items() if v is not None}
    for kind in ("world", "agent"):
        content[f"{kind}s"] = {
            label: _told(kind, choice) for label, choice in getattr(experiment, f"{kind}s").items()
        }
    return content


def _told(kind: str, choice: Choice) -> dict[str, Any]:
    """The table of a world or an agent."""
    role = {"role": choice.role} if choice.role and kind == "agent" else {}
    if choice.name == own_parts.FROM_FILE:
        return {kind: choice.settings}
    return {kind: choice.name, **choice.settings, **role}


def _recording(where: str, content: Any) -> Recording:
    table = dict(_table(where, content))
    named = _table(f"{where}: metrics", table.pop("metrics", {}))
    metrics = {label: own_parts.metric(name, f"{where}: metrics.{label}") for label, name in named.items()}
    try:
        checked_metrics({label: own_parts.find("metric", metric.name) for label, metric in metrics.items()})
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    return Recording(**fit(where, "record", Recording, table), metrics=metrics)


def _stopping(where: str, content: Mapping[str, Any]) -> Stopping | None:
    if "stop" not in content:
        return None
    try:
        return msgspec.convert(content["stop"], Stopping)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: stop: {error}") from None


def try_out(experiment: Experiment, where: str | Path) -> None:
    """Make every world, and every agent in the smallest of them: their own checks know which values can be."""
    agent, worlds = next(iter(experiment.agents)), {}
    for label in experiment.worlds:
        try:
            worlds[label] = playing.make_world(experiment.trial(label, agent, 0))
        except _refusals(experiment.worlds[label]) as error:
            raise InputError(f"{where}: worlds.{label}: {_said(error)}") from None
    smallest = min(worlds, key=lambda label: _size(worlds[label]))
    for agent in experiment.agents:
        try:
            playing.make_agent(experiment.trial(smallest, agent, 0), worlds[smallest])
        except _refusals(experiment.agents[agent]) as error:
            raise InputError(f"{where}: agents.{agent} (in worlds.{smallest}): {_said(error)}") from None


def _refusals(choice: Choice) -> tuple[type[Exception], ...]:
    """What making it may raise: ours refuse in known ways, code of yours may raise anything."""
    return (Exception,) if choice.own else REFUSALS


def _said(error: Exception) -> str:
    return " ".join(
        (str(error) if isinstance(error, REFUSALS) else f"{type(error).__name__}: {error}").split()
    )


def _size(world: World) -> int:
    return world.mdp.transitions.count * world.mdp.dimension


def _content(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: it is not a TOML file (not UTF-8 text)") from None
    except RecursionError:
        raise InputError(f"{path}: its brackets are nested too deeply; a spec needs three levels") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: it is not TOML: {error}") from None


def _choices(home: str, folder: Path, kind: str, tables: Any) -> dict[str, Choice]:
    """Labels and choices of [worlds] or [agents], a swept setting as one choice per value."""
    found: dict[str, Choice] = {}
    for label, content in _table(f"{home}: {kind}s", tables).items():
        where = f"{home}: {kind}s.{label}"
        table = dict(_table(where, content))
        name = table.pop(kind, label)
        if kind == "world" and isinstance(name, dict):
            name, told = own_parts.from_file(name, folder, where)
            table |= told
        if not isinstance(name, str):
            raise InputError(f"{where}: {kind} is {name!r}; it needs the name of one (see vbmle {kind}s)")
        for suffix, settings in _swept(where, table):
            if label + suffix in found:
                raise InputError(f"{where}: there are two {kind}s {label + suffix!r}")
            found[label + suffix] = _choice(kind, name, settings, where)
    return found


def _choice(kind: str, name: str, settings: dict[str, Any], where: str) -> Choice:
    """One of ours, or one of yours; refused in one line where a name, a setting or a type does not fit."""
    role = _role(settings.pop("role"), where) if kind == "agent" and "role" in settings else msgspec.UNSET
    if own_parts.is_own(name):
        fitted, own = own_parts.describe(kind, name, settings, where)
        said = getattr(own_parts.find(kind, name), "role", msgspec.UNSET)
        return Choice(name, fitted, own, role or said)
    return Choice(name, catalogue.require(kind, name, settings, where), role=role)


def _role(value: Any, where: str) -> Role:
    try:
        return msgspec.convert(value, Role)
    except msgspec.ValidationError:
        known = nearest(str(value), get_args(Role), "Known roles")
        raise InputError(f"{where}: unknown role {value!r}{known}") from None


def _swept(where: str, table: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every combination of swept values: what it adds to the label, and the settings."""
    lists: dict[str, list[Any]] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            if list(value) != [SWEEP] or not isinstance(value[SWEEP], list) or not value[SWEEP]:
                raise InputError(
                    f"{where}: {key} is {value!r}; it needs a value, or {{ sweep = [one, two, ...] }}"
                )
            lists[key] = value[SWEEP]
    combinations = (dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values()))
    return [("".join(f" {k}={v}" for k, v in chosen.items()), table | chosen) for chosen in combinations]


def _table(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where} is {value!r}; it needs a table")
    return value


def _example(key: str) -> str:
    if key in ("worlds", "agents"):
        return f"it needs at least one table [{key}.<label>] (see vbmle {key})"
    return "it needs a whole number that is at least 1"
