"""The command line: what it prints, what it leaves behind, and how it ends."""

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from refusals import require_told
from small_files import LINES
from sweeps import count, found

import vbmle
from vbmle.cli import GROUPS, app
from vbmle.core.library import built_by
from vbmle.experiments import catalogue
from vbmle.experiments.spec import Choice, Experiment
from vbmle.experiments.spec_file import read
from vbmle.paper import suite as paper

# What a shell starts in the background ignores interrupts, and so does all that it starts, but for this.
HEED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
COMMAND = [sys.executable, "-c", f"{HEED}; from vbmle.cli import app; app()"]
COMMANDS = sorted(
    command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands
)
PATIENCE = 900  # seconds, against hanging only
HEAVY = "numba matplotlib polars gymnasium plotly scipy.optimize"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Run a command in this process: its exit code, stdout and stderr."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer sets its own

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            app([str(item) for item in arguments], prog_name="vbmle")
        out, err = capsys.readouterr()
        code = end.value.code
        assert isinstance(code, int)
        return code, out, err

    return run


def tiny(quick: bool = False, trials: int | None = None, horizon: int | None = None) -> Experiment:
    """In place of the paper's experiment: one of the two agents fails."""
    network = Choice("random_network", {"states": 3, "actions": 2, "dimension": 2})
    agents = {"plain": Choice("MaximumLikelihood"), "bad": Choice("MaximumLikelihood", {"ridge": -1.0})}
    return Experiment(name="tiny", worlds={"net": network}, agents=agents, trials=2, horizon=3)


def test_a_model_is_converted(call, tmp_path: Path):
    (tmp_path / "small.mdp").write_text(LINES)
    code, out, err = call("convert", tmp_path / "small.mdp", tmp_path / "small.csv", "--discount", 0.9)
    assert code == 0, err
    require_told(out.strip(), "small.csv", "states=2")
    assert "left out" in err
    code, _, err = call("convert", tmp_path / "small.csv", tmp_path / "small.npz")
    assert code == 2
    require_told(err.strip(), "small.csv", "discount=0.95")
    code, _, err = call("convert", tmp_path / "small.mdp", tmp_path / "small.doc", "--discount", 0.9)
    assert code == 2
    require_told(err.strip(), "small.doc", ".pomdpx")


def test_every_agent_and_world_has_its_line(call):
    for command, known in (("agents", catalogue.agents()), ("worlds", catalogue.worlds())):
        code, out, err = call(command)
        assert (code, err) == (0, "")
        lines = [line for line in out.splitlines() if line[0] != " "]
        assert [line.split()[0] for line in lines] == list(known)
        for maker in known.values():
            assert catalogue.about(maker) in " ".join(out.split())


def test_one_agent_or_world_is_shown_with_its_settings(call):
    code, out, err = call("agents", "VBMLE")
    assert (code, err) == (0, "")
    for word in ("setting", "default", "bias_scale", "'sqrt' | 'log' | 'constant'", "ridge"):
        assert word in out
    code, out, _ = call("worlds", "random_network")
    assert code == 0
    assert "temperature" in out
    code, _, err = call("agents", "VBLME")
    assert code == 2
    require_told(err.strip(), "'VBLME'", "did you mean 'VBMLE'?")
    for kind in (catalogue.agents(), catalogue.worlds()):
        for name, maker in kind.items():
            assert all(meaning for *_, meaning in catalogue.described(maker)), name


def test_the_help_has_every_command_in_a_group_and_cuts_nothing_off(call):
    code, out, _ = call("--help")
    assert code == 0
    assert sorted(name for names in GROUPS.values() for name in names) == COMMANDS
    assert "..." not in out.partition("Experiments:")[2]


@pytest.mark.parametrize("command", [["play", "--model"], ["worth"], ["convert"]])
def test_a_file_that_is_not_there(call, command: list[str], tmp_path: Path):
    more = [tmp_path / "b.npz"] if command == ["convert"] else []
    code, _, err = call(*command, tmp_path / "nosuch.npz", *more)
    assert code == 2
    require_told(err.strip(), "nosuch.npz", "no such file")


def test_a_folder_that_cannot_be_made(call, tmp_path: Path):
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'name = "x"\ntrials = 1\nhorizon = 5\nworlds.a.world = "riverswim"\nagents.b.agent = "Random"\n'
    )
    code, _, err = call("run", spec, "--out", "/proc/nowhere/x")
    assert code == 2
    require_told(err.strip(), "--out /proc/nowhere/x", "cannot write there")


def test_help_is_light_for_every_command():
    code = (
        "import sys\nfrom vbmle.cli import app\n"
        "for name in ('paper', 'run', 'report', 'agents', 'worlds'):\n"
        "    try: app([name, '--help'])\n"
        "    except SystemExit as end: assert end.code == 0\n"
        f"print([name for name in {HEAVY.split()} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")
    assert all(option in done.stdout for option in ("--quick", "--out", "--jobs", "--dask", "--horizon"))


def test_the_version_is_told(call):
    assert call("--version") == (0, f"vbmle {vbmle.__version__}, core by {built_by()}\n", "")


@pytest.mark.parametrize(
    "command", [[], *([name] for name in COMMANDS)], ids=lambda command: " ".join(command)
)
def test_h_is_help_for_every_command(call, command: list[str]):
    short, long = call(*command, "-h"), call(*command, "--help")
    assert short == long
    code, out, err = short
    assert (code, err) == (0, "")
    assert out.startswith(" ".join(["Usage: vbmle", *command]))
    assert "-h, --help" in out


def test_the_shell_completes_commands_and_options():
    def completed(*words: str) -> list[str]:
        asked = {
            "_VBMLE_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        command = [sys.executable, "-m", "vbmle"]
        done = subprocess.run(
            command, env=os.environ | asked, capture_output=True, text=True, timeout=PATIENCE, check=True
        )
        return done.stdout.split()

    assert sorted(completed("vbmle", "co")) == ["compare", "convert"]
    assert {"--out", "--jobs", "--dask"} <= set(completed("vbmle", "run", "--"))


def test_no_command_shows_the_help(call):
    code, out, _ = call()
    assert code == 0
    assert "paper" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["paper", "--trials", "0"], "trials is 0"),
        (["paper", "--horizon", "-1"], "horizon is -1"),
        (["paper", "--jobs", "0"], "--jobs is 0"),
        (["paper", "--trials", "many"], "--trials"),
        (["paper", "--quik"], "--quik"),
        (["papre"], "papre"),
        (["report"], "DIR"),
        (["run"], "SPEC.toml"),
        (["run", "{folder}/taken"], "--out"),
        (["run", "{folder}/taken", "--out", "{folder}/new"], "worlds is missing"),
        (["run", "{folder}/no.toml", "--out", "{folder}/new"], "no.toml: cannot be read (No such file"),
        (["report", "{folder}/nowhere"], "nowhere"),
        (["paper", "--out", "{folder}/taken"], "taken"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(call, tmp_path: Path, arguments: list[str], words: str):
    (tmp_path / "taken").write_text("")
    code, out, err = call(*(text.format(folder=tmp_path) for text in arguments))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("vbmle: ")
    assert words in err
    assert sorted(tmp_path.iterdir()) == [tmp_path / "taken"]


def test_failed_trials_are_named_the_others_kept_and_the_exit_code_is_1(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paper, "experiments", lambda *_: [tiny()])
    code, out, err = call("paper", "--out", tmp_path, "--jobs", 1)
    assert code == 1
    assert "tiny, world net, agent bad, trial 1 failed: ValueError: ridge is -1.0" in err
    assert "2 trials failed" in err
    assert "plain" in out
    kept = [record.trial for record in found(tmp_path, tiny()).values()]
    assert [(trial.agent, trial.index) for trial in kept] == [("plain", 0), ("plain", 1)]
    assert "plain" in (tmp_path / "report.html").read_text()


def test_the_report_is_remade_from_records_alone(call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = paper.experiments(trials=1, horizon=3)[:2]
    monkeypatch.setattr(paper, "experiments", lambda *_: first)
    code, _, err = call("paper", "--out", tmp_path)
    assert code == 0
    assert "paper: running 21 of 21 trials" in err
    assert "distance: running 4 of 4 trials" in err
    made = {
        p.relative_to(tmp_path)
        for p in tmp_path.rglob("*")
        if p.is_file() and p.suffix != ".sqlite" and not p.name.startswith(".")
    }
    for ending in ("png", "pdf", "csv", "tex"):
        assert {Path(f"figures/paper-regret.{ending}"), Path(f"tables/paper-regret.{ending}")} <= made
    assert {Path("tables/paper-regret.csv"), Path("tables/paper-pairs.csv"), Path("report.html")} <= made
    (claim, *_) = csv.DictReader((tmp_path / "tables" / "table-1.csv").read_text().splitlines())
    assert (claim["world"], claim["vbmle_printed"]) == ("(3,2)", "0.793"), "the paper's seconds per step"
    before = {path: (tmp_path / path).read_bytes() for path in made if path.suffix != ".json"}
    for path in before:
        (tmp_path / path).unlink()
    code, _, _ = call("report", tmp_path)
    assert code == 0
    assert {path: (tmp_path / path).read_bytes() for path in before} == before


LONG = """
trials = 2000
horizon = 100
[worlds.net]
world = "random_network"
states = 5
actions = 4
dimension = 5
[agents.VBMLE]
[agents.plain]
agent = "MaximumLikelihood"
"""


def start_long_run(folder: Path) -> subprocess.Popen[str]:
    """A run that would take minutes, in a process group of its own, as soon as its first record is there."""
    spec = folder / "long.toml"
    spec.write_text(LONG)
    arguments = ["run", str(spec), "--jobs", "2", "--out", str(folder)]
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and not count(folder):
        time.sleep(0.05)
    return process


def alive(group: int) -> list[str]:
    """The processes of a group that have not ended (one that waits to be collected has)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue  # it ended meanwhile
        state, _, its_group = rest.split()[:3]
        if int(its_group) == group and state != "Z":
            found.append(name)
    return found


def group_is_gone(group: int) -> bool:
    """Whether every process of a group ends, on however busy a machine."""
    for _ in range(int(PATIENCE / 0.05)):
        if not alive(group):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("whole_group", [True, False], ids=["Ctrl-C", "signal to the parent alone"])
def test_an_interrupt_stops_at_once_and_keeps_what_is_complete(tmp_path: Path, whole_group: bool):
    process = start_long_run(tmp_path)
    assert len(alive(process.pid)) > 2, "the parent and two workers"
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert err.splitlines()[-1].startswith("vbmle: interrupted")
    assert "Traceback" not in err
    assert group_is_gone(process.pid)
    experiment = read(tmp_path / "long.toml")
    there, plan = found(tmp_path, experiment), experiment.all_trials()
    assert 0 < len(there) == count(tmp_path) < len(plan) / 2, "it did not go on to the end"
    assert [path.name for path in tmp_path.glob("records*")] == ["records.sqlite"]


def test_workers_do_not_outlive_a_killed_run(tmp_path: Path):
    process = start_long_run(tmp_path)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert group_is_gone(process.pid)


def test_the_bench_is_for_checkouts(call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from vbmle import cli

    monkeypatch.setattr(cli, "__file__", str(tmp_path / "site-packages" / "vbmle" / "cli.py"))
    code, out, err = call("bench")
    assert (code, out) == (2, "")
    require_told(err.removesuffix("\n"), "bench", "checkout")
