"""The chain it is built from: locks with hashes, assets as they were published, licences on the list, and the bill."""

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from email.message import Message
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import licences
import locks
import pytest
import sbom
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
HASHED = (
    "requirements.lock",
    "requirements-paper.lock",
    "requirements-compiler.lock",
    "requirements-peers.lock",
)
ASSETS: list[dict[str, str]] = tomllib.loads((ROOT / "chain" / "assets.toml").read_text())["asset"]


def pins(name: str) -> list[locks.Pin]:
    return locks.read_lock((ROOT / name).read_text())[1]


@pytest.mark.parametrize("name", HASHED)
def test_every_package_of_a_lock_has_hashes(name: str):
    assert pins(name)
    assert [pin.name for pin in pins(name) if not pin.hashes] == []


@pytest.mark.parametrize("name", HASHED)
def test_a_lock_is_written_as_it_is_read(name: str):
    text = (ROOT / name).read_text()
    assert locks.write_lock(*locks.read_lock(text)) == text


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-paper.lock"])
def test_a_lock_has_all_that_its_packages_need(name: str):
    """With --require-hashes, pip refuses what is not in the lock."""
    found = {locks.plain(pin.name) for pin in pins(name)}
    missing = [
        f"{pin.name} needs {line}"
        for pin in pins(name)
        for line in distribution(pin.name).requires or []
        if (wanted := Requirement(line)) and (wanted.marker is None or wanted.marker.evaluate({"extra": ""}))
        if locks.plain(wanted.name) not in found
    ]
    assert missing == []


def test_what_builds_it_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = {locks.plain(pin.name): pin.version for pin in pins("requirements-paper.lock")}
    for line in project["build-system"]["requires"]:
        assert found[locks.plain(Requirement(line).name)] in Requirement(line).specifier
    needs = re.search(r'^ZIG = "ziglang(.+)"', (ROOT / "core" / "build.py").read_text(), re.MULTILINE)
    assert needs
    (compiler,) = pins("requirements-compiler.lock")
    assert compiler.name == "ziglang"
    assert compiler.version in SpecifierSet(needs.group(1))


def test_make_installs_nothing_without_hashes():
    """But torch, for `make peers`, whose wheels differ from index to index."""
    lines = [line for line in (ROOT / "Makefile").read_text().splitlines() if "pip install" in line]
    loose = [
        line.strip() for line in lines if "--require-hashes" not in line and "--no-deps -e ." not in line
    ]
    assert loose == ["$(PEERS) -m pip install -q --no-deps -r requirements-torch.lock"]
    assert all("--no-build-isolation" in line for line in lines if "-e ." in line)


def test_pip_refuses_a_file_of_another_hash(tmp_path: Path):
    (tmp_path / "thing-1.0-py3-none-any.whl").write_bytes(b"not what was locked")
    (tmp_path / "lock").write_text(locks.write_lock([], [locks.Pin("thing", "1.0", ("0" * 64,))]))
    pip = [sys.executable, "-m", "pip", "--isolated", "install", "--no-index", "--require-hashes"]
    place = ["--target", str(tmp_path / "there"), "--find-links", str(tmp_path), "-r", str(tmp_path / "lock")]
    done = subprocess.run([*pip, *place], capture_output=True, text=True, timeout=900)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr


PAGE = """
<a href="../f/two_words-1.0-py3-none-any.whl#sha256={a}">x</a>
<a href="../f/two-words-1.0.tar.gz#sha256={b}">x</a>
<a href="../f/two_words-1.0.1-py3-none-any.whl#sha256={c}">x</a>
<a href="../f/two_words-1.0.win32.exe#sha256={c}">x</a>
"""


def test_hashes_are_those_of_the_version_alone():
    page = PAGE.format(a="a" * 64, b="b" * 64, c="c" * 64)
    assert locks.hashes_on(page, "Two.Words", "1.0") == ("a" * 64, "b" * 64)
    with pytest.raises(ValueError, match="has no file of it"):
        locks.hashes_on(page, "two-words", "2.0")
    with pytest.raises(ValueError, match="has no SHA-256"):
        locks.hashes_on(page.replace("sha256", "md5"), "two-words", "1.0")


def test_a_line_that_is_no_pin_is_refused():
    for line in ("numpy>=1", "numpy==1 --hash=md5:0", "-r other.lock"):
        with pytest.raises(ValueError, match="is no pin"):
            locks.read_lock(line)


def digest(path: str) -> str:
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()


@pytest.mark.parametrize("asset", ASSETS, ids=lambda asset: asset["name"])
def test_assets_are_as_they_were_published(asset: dict[str, str]):
    assert digest(asset["path"]) == asset["sha256"]
    assert digest(asset["licence_path"]) == asset["licence_sha256"]
    head = (ROOT / asset["path"]).read_text(encoding="utf-8")[:200]
    assert set(re.findall(r"v(\d+\.\d+\.\d+)", head)) <= {asset["version"]}  # where it says its version
    assert asset["origin"].endswith(f"{asset['name']}@{asset['version']}")
    assert licences.is_allowed(asset["licence"])


def test_what_others_wrote_is_written_down():
    """Scripts and styles with a licence of their own, or lines that nobody writes by hand."""
    found = [
        path
        for top in ("src", "tests", "docs")
        for ending in ("js", "css")
        for path in (ROOT / top).rglob(f"*.{ending}")
    ]
    foreign = [
        str(path.relative_to(ROOT))
        for path in found
        if re.search(r"copyright|licen[sc]ed under", text := path.read_text(encoding="utf-8"), re.IGNORECASE)
        or max(map(len, text.splitlines())) > 1000
    ]
    assert sorted(foreign) == sorted(asset["path"] for asset in ASSETS)
    assert [asset["path"].split("/")[0] for asset in ASSETS if asset["scope"] == "required"] == ["src"]


def test_everything_installed_has_a_licence_on_the_list():
    found = {pin.name: licences.licence(distribution(pin.name)) for pin in licences.pins()}
    assert {name: told for name, told in found.items() if not licences.is_allowed(told)} == {}


class Told:
    """A package that says these things of itself."""

    def __init__(self, *lines: tuple[str, str]) -> None:
        self.metadata = Message()
        for name, value in (("Name", "thing"), *lines):
            self.metadata[name] = value


@pytest.mark.parametrize(
    ("lines", "expected", "fine"),
    [
        ([("License-Expression", "MIT")], "MIT", True),
        ([("License", "BSD-3-Clause")], "BSD-3-Clause", True),
        ([("License", "a long text"), ("Classifier", "License :: OSI Approved :: MIT License")], "MIT", True),
        ([("License-Expression", "GPL-3.0-only OR MIT")], "GPL-3.0-only OR MIT", True),
        ([("License-Expression", "MIT AND GPL-3.0-only")], "MIT AND GPL-3.0-only", False),
        ([("Classifier", "License :: OSI Approved :: GPLv3")], "GPLv3", False),
        ([], "", False),
    ],
)
def test_licences_are_read_from_what_a_package_says(lines: list[tuple[str, str]], expected: str, fine: bool):
    package: Any = Told(*lines)
    assert licences.licence(package) == expected
    assert licences.is_allowed(expected) is fine


def test_the_bill_lists_what_the_locks_and_the_assets_have(tmp_path: Path):
    sbom.main(str(tmp_path / "out" / "bill.json"))
    bill = json.loads((tmp_path / "out" / "bill.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    listed = {part["name"]: part for part in bill["components"]}
    everything = [(pin.name, pin.version) for pin in pins("requirements.lock")]
    assert [(part["name"], part["version"]) for part in bill["components"]] == [
        *everything,
        *((asset["name"], asset["version"]) for asset in ASSETS),
    ]
    required = {name for name, part in listed.items() if part["scope"] == "required"}
    assert required == {pin.name for pin in pins("requirements-paper.lock")} | {
        asset["name"] for asset in ASSETS if asset["scope"] == "required"
    }
    assert listed["numpy"]["purl"].startswith("pkg:pypi/numpy@")
    assert all(licences.is_allowed(part["licenses"][0]["expression"]) for part in bill["components"])
    references = [part["bom-ref"] for part in bill["components"]] + [bill["metadata"]["component"]["bom-ref"]]
    assert len(set(references)) == len(references)
    assert sorted(item["ref"] for item in bill["dependencies"]) == sorted(
        reference for reference in references if not reference.startswith("pkg:npm")
    )
    graph = {item["ref"]: item["dependsOn"] for item in bill["dependencies"]}
    assert all(needed in references for needs in graph.values() for needed in needs)
    assert listed["numpy"]["purl"] in graph[listed["scipy"]["purl"]]
    assert sbom.bill() == bill
