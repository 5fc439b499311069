"""What a lean installation says where an extra is missing: one line that names it."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from locks import read_lock
from refusals import refused, require_told

import vbmle
from vbmle import worlds
from vbmle.common import extras

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def name(requirement: str) -> str:
    """numpy>=1.26 as numpy."""
    return re.split(r"[^\w-]", requirement)[0].lower()


@pytest.fixture
def lean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if nothing but numpy and scipy were there."""
    monkeypatch.setattr(extras, "find_spec", lambda package: None)
    extras.require.cache_clear()
    yield
    extras.require.cache_clear()


@pytest.mark.parametrize("extra", extras.EXTRAS)
def test_an_extra_has_the_packages_that_are_asked_for(extra: str):
    brought = {name(requirement) for requirement in PROJECT["optional-dependencies"][extra]} - {"vbmle"}
    assert brought == set(extras.EXTRAS[extra])


def test_what_comes_without_an_extra():
    asked = {package for packages in extras.EXTRAS.values() for package in packages}
    assert asked & {name(requirement) for requirement in PROJECT["dependencies"]} == set()


@pytest.mark.parametrize("path", ["requirements-paper.lock", "requirements-peers.lock"])
def test_the_smaller_locks_have_what_experiments_need(path: str):
    locked = {name(pin.name) for pin in read_lock((ROOT / path).read_text())[1]}
    assert set(extras.EXTRAS["experiments"]) <= locked


def test_locks_agree():
    full = read_lock((ROOT / "requirements.lock").read_text())[1]
    paper = read_lock((ROOT / "requirements-paper.lock").read_text())[1]
    assert [pin for pin in paper if pin not in full] == []


@pytest.mark.usefixtures("lean")
@pytest.mark.parametrize("make", [worlds.frozen_lake, worlds.cliff_walking, worlds.taxi])
def test_worlds_of_gymnasium_name_their_extra(make):
    with refused("gymnasium", 'pip install "vbmle[gym]"', by=ImportError):
        make()


@pytest.mark.usefixtures("lean")
def test_tables_name_their_extra(tmp_path: Path):
    with refused("polars", 'pip install "vbmle[tables]"', by=extras.MissingExtra):
        vbmle.models_from_table(tmp_path / "models.csv")


def in_lean(code: str) -> subprocess.CompletedProcess[str]:
    """Run code where no extra is installed."""
    bare = "import sys, vbmle.common.extras\nvbmle.common.extras.find_spec = lambda package: None\n"
    return subprocess.run([sys.executable, "-c", bare + code], capture_output=True, text=True, timeout=900)


def test_the_command_names_its_extra():
    done = in_lean("from vbmle.__main__ import main\nmain()")
    assert done.returncode == 2
    require_told(done.stderr.removesuffix("\n"), "vbmle", "typer", 'pip install "vbmle[experiments]"')


SERVES = """
import os, pkgutil, signal, sys, threading, urllib.error, urllib.request

for package in ("typer", "rich", "matplotlib", "gymnasium", "polars", "distributed"):
    sys.modules[package] = None

import vbmle
import vbmle.serve
from vbmle.__main__ import main
from vbmle.serve import command

def use(line):
    url = line.split(" at ")[1].split()[0]
    loop = vbmle.Client(url).loop("river")
    loop._client.put_model("river", vbmle.worlds.riverswim(length=4).mdp)
    loop.create("river")
    print(loop.observe(loop.act(0), 0))
    print(urllib.request.urlopen(url + "loops/river").status)
    try:
        urllib.request.urlopen(url + "v1/loops/river/export.parquet")
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
    for module in pkgutil.iter_modules(vbmle.serve.__path__):
        __import__(f"vbmle.serve.{module.name}")
    print([name for name in sys.modules if name.startswith(("vbmle.experiments", "vbmle.report"))])
    os.kill(os.getpid(), signal.SIGTERM)

command.say = lambda line: threading.Thread(target=use, args=(line,)).start()
main()
"""


def test_the_service_needs_its_own_extra_alone(tmp_path: Path):
    """A server starts, decides, learns and shows its page where nothing is installed but what the extra brings."""
    command = [sys.executable, "-c", SERVES, "serve", str(tmp_path / "folder"), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stderr) == (0, "")
    observed, page, export, laboratory = done.stdout.splitlines()
    assert (observed, page, laboratory) == ("{'recorded': 1, 'duplicates': 0}", "200", "[]")
    assert 'pip install "vbmle[tables]"' in json.loads(export.removeprefix("501 "))["error"]


def test_agents_and_worlds_need_no_extra():
    done = in_lean(
        "for package in ('typer', 'rich', 'msgspec', 'polars', 'matplotlib', 'gymnasium', 'jinja2'):\n"
        "    sys.modules[package] = None\n"
        "import vbmle\n"
        "gym = ('Drive', 'PolicyPlayer', 'WorldEnv', 'drive')\n"
        "laboratory = ('read_records', 'Sweep', 'Comparison')\n"
        "for name in vbmle.__all__:\n"
        "    if name not in (*gym, *laboratory):\n"
        "        getattr(vbmle, name)\n"
        "for name in laboratory:\n"
        "    try:\n"
        "        getattr(vbmle, name)\n"
        "    except ImportError as error:\n"
        "        assert 'vbmle[experiments]' in str(error)\n"
        "    else:\n"
        "        raise AssertionError(name)\n"
        "try:\n"
        "    vbmle.drive\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    assert (done.returncode, done.stderr) == (0, "")
    require_told(done.stdout.removesuffix("\n"), "gymnasium", 'pip install "vbmle[gym]"')
