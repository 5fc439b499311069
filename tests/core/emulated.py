"""Python for aarch64 on a machine that is none, under qemu's emulation: Debian's own, with the packages of our locks.

Nothing is installed: what apt-get and pip bring lies in core/build/aarch64, and stays there for the next run.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

from builds import BUILT, ROOT
from locks import Pin, plain, read_lock
from packaging.requirements import Requirement

FOLDER = BUILT / "aarch64"
QEMU = "qemu-aarch64-static"
NEEDED = ("numpy", "scipy", "pytest", "hypothesis", "cvxpy")
APT = """\
APT::Architecture "arm64";
APT::Architectures {{ "arm64"; }};
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
"""


def is_possible() -> bool:
    return all(shutil.which(tool) for tool in (QEMU, "apt-get", "dpkg"))


def python() -> list[str]:
    """The command that runs it, with its packages; they are fetched at the first call."""
    pins = list(pinned(NEEDED))
    ready = hashlib.sha256(repr(pins).encode()).hexdigest()
    root, stamp = FOLDER / "root", FOLDER / "ready"
    if not stamp.exists() or stamp.read_text() != ready:
        shutil.rmtree(FOLDER, ignore_errors=True)
        unpack_debian(root)
        install_packages(pins, (root / "usr/bin/python3").readlink().name.removeprefix("python"))
        stamp.write_text(ready)
    return [QEMU, "-L", str(root), str(root / "usr/bin/python3")]


def environment(core: Path) -> dict[str, str]:
    """With the packages and our own sources on its path, and this library as the core."""
    paths = os.pathsep.join([str(FOLDER / "packages"), str(ROOT / "src")])
    return {
        "PYTHONPATH": paths,
        "PYTHONDONTWRITEBYTECODE": "1",
        "VBMLE_LIBRARY": str(core),
        "PATH": os.environ["PATH"],
    }


def run(*command: str | Path, **environ: str) -> None:
    done = subprocess.run(
        command, env={**os.environ, **environ}, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def unpack_debian(root: Path) -> None:
    """Python and what it depends on, from Debian's packages for arm64; the system's own state is left alone."""
    for name in ("state/lists/partial", "cache/archives/partial"):
        (FOLDER / name).mkdir(parents=True)
    (FOLDER / "status").touch()
    config = FOLDER / "apt.conf"
    config.write_text(
        APT.format(folder=FOLDER) + ('APT::Sandbox::User "root";\n' if os.geteuid() == 0 else "")
    )
    fetch = (
        "apt-get",
        "install",
        "-y",
        "--download-only",
        "--no-install-recommends",
        "python3",
        "libstdc++6",
    )
    run("apt-get", "update", APT_CONFIG=str(config))
    run(*fetch, APT_CONFIG=str(config))
    for package in sorted((FOLDER / "cache" / "archives").glob("*.deb")):
        run("dpkg", "-x", package, root)


def pinned(names: Iterable[str]) -> Iterable[Pin]:
    """These packages and all that they need, at the versions of our locks."""
    wanted: set[str] = set()
    waiting = [plain(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            needs = [Requirement(text) for text in distribution(name).requires or []]
            waiting += [
                plain(need.name) for need in needs if not need.marker or need.marker.evaluate({"extra": ""})
            ]
    locks = [(ROOT / lock).read_text() for lock in ("requirements-paper.lock", "requirements.lock")]
    found = {plain(pin.name): pin for lock in locks for pin in read_lock(lock)[1]}
    return [found[name] for name in sorted(wanted)]


def install_packages(pins: Iterable[Pin], version: str) -> None:
    """Wheels for aarch64, checked against the hashes of our locks."""
    lines = [
        f"{pin.name}=={pin.version} " + " ".join(f"--hash=sha256:{one}" for one in pin.hashes) for pin in pins
    ]
    (FOLDER / "requirements").write_text("\n".join(lines) + "\n")
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in range(36, 16, -1)]
    run(
        *(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", "--require-hashes"),
        *(
            *platforms,
            "--platform=manylinux2014_aarch64",
            f"--python-version={version}",
            "--implementation=cp",
        ),
        *("--only-binary=:all:", f"--target={FOLDER / 'packages'}", "-r", str(FOLDER / "requirements")),
    )
