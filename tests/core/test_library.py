"""The loader of the compiled core: what it picks, and what it says when there is nothing to pick."""

import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from vbmle.core import library
from vbmle.core.generated import vb_statuses

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _nothing_chosen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(library.CHOSEN, raising=False)


def refused(folder: Path, checkout: Path) -> str:
    """What the loader says, as one line."""
    with pytest.raises(ImportError) as error:
        library.load(folder, checkout)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_every_status_has_a_text_of_its_own():
    unknown = library.status_text(-1)
    texts = [library.status_text(status) for status in vb_statuses]
    assert len(set(texts)) == len(texts)
    assert unknown not in texts


def test_only_a_refused_call_raises():
    for status in vb_statuses:
        if status < library.REFUSED:
            library.check(status)
            continue
        error = MemoryError if status == vb_statuses.VB_OUT_OF_MEMORY else ValueError
        with pytest.raises(error, match=re.escape(library.status_text(status))):
            library.check(status)


def test_wide_vectors_where_the_processor_has_them():
    folder = Path(library.__file__).parent
    baseline = ctypes.CDLL(str(folder / f"libvbmle{library.ENDING}"))
    wide = folder / f"libvbmle_wide{library.ENDING}"
    expected = wide.name if baseline.vb_runs_wide() and wide.exists() else f"libvbmle{library.ENDING}"
    assert Path(library.load()._name).name == expected


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="no list of the processor's abilities")
def test_the_processor_is_asked_rightly():
    """Against Linux, which lists what the processor can do, under its own names for x86-64-v3."""
    lists = re.findall(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    second = {"pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "cx16", "lahf_lm"}
    needed = second | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
    assert library.lib.vb_runs_wide() == int(bool(lists) and needed <= set(lists[0].split()))


def test_a_library_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    baseline = Path(library.__file__).with_name(f"libvbmle{library.ENDING}")
    monkeypatch.setenv(library.CHOSEN, str(baseline))
    assert library.load()._name == str(baseline)
    monkeypatch.setenv(library.CHOSEN, str(tmp_path / "none.so"))
    assert f"{tmp_path / 'none.so'} is missing; VBMLE_LIBRARY must name" in refused(tmp_path, tmp_path)


def test_a_missing_library_in_a_checkout(tmp_path: Path):
    assert refused(tmp_path, ROOT).endswith("is missing; build it with: make core")


def test_a_missing_library_in_an_installation(tmp_path: Path):
    said = refused(tmp_path, tmp_path)
    assert said.endswith("is missing; install it with: pip install --force-reinstall --no-deps vbmle")


def test_a_library_that_was_made_from_other_headers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(library, "INTERFACE", 0x1234)
    said = refused(Path(library.__file__).parent, ROOT)
    assert f"speaks interface {library.lib.vb_interface():016x}" in said
    assert said.endswith("and this package 0000000000001234; build it with: make core")


def test_a_package_without_its_binding(tmp_path: Path):
    """As from a folder of sources that nobody has built."""
    sources = tmp_path / "src" / "vbmle"
    unmade = shutil.ignore_patterns("generated.py", "libvbmle*", "__pycache__")
    shutil.copytree(ROOT / "src" / "vbmle", sources, ignore=unmade)
    done = subprocess.run(
        [sys.executable, "-c", "import vbmle.core.library"],
        env={**os.environ, "PYTHONPATH": str(sources.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "vbmle.core.generated, is missing; install it with: pip install" in last


def test_a_file_that_is_no_library(tmp_path: Path):
    (tmp_path / f"libvbmle{library.ENDING}").write_text("not a library")
    assert "does not load" in refused(tmp_path, ROOT)


def test_sources_younger_than_the_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = Path(library.__file__).parent
    source = tmp_path / "core" / "src" / "climbing" / "climb.cpp"
    source.parent.mkdir(parents=True)
    source.write_text("")
    (tmp_path / "core" / "build.py").write_text("")
    made = (folder / f"libvbmle{library.ENDING}").stat().st_mtime_ns

    os.utime(source, ns=(made, made))
    library.load(folder, tmp_path)
    assert capsys.readouterr().err == ""

    os.utime(source, ns=(made + 10**9, made + 10**9))
    library.load(folder, tmp_path)
    said = "vbmle: the compiled core is older than its sources; build it with: make core\n"
    assert capsys.readouterr().err == said


LOG_2 = struct.pack("<d", 6.93147180369123816490e-01)
"""The upper part of log 2 in common/logarithm.hpp, as the library holds it."""


@pytest.mark.parametrize("copy", [f"libvbmle{library.ENDING}", f"libvbmle_wide{library.ENDING}"])
def test_a_library_that_computes_wrong_numbers(copy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One constant off by a billionth: the library is refused, with the compiler that is to blame and what to do."""
    whole = Path(library.__file__).with_name(copy).read_bytes()
    assert LOG_2 in whole
    doctored = tmp_path / f"libvbmle{library.ENDING}"
    doctored.write_bytes(whole.replace(LOG_2, struct.pack("<d", 6.93147180369123816490e-01 * (1.0 + 1e-9))))
    blamed = f"{doctored}, built by {library.built_by().partition(' for ')[0]}"
    for checkout, remedy in ((ROOT, "make core"), (tmp_path, "pip install")):
        said = refused(tmp_path, checkout)
        assert blamed in said
        assert "computes a logarithm wrongly" in said
        assert "another compiler" in said
        assert remedy in said
    monkeypatch.setenv(library.CHOSEN, str(doctored))
    assert "VBMLE_LIBRARY" in refused(tmp_path, ROOT)


def test_the_library_says_who_built_it():
    """A name, a version, and the processors it is for."""
    assert re.fullmatch(r"(gcc|clang|Apple clang|zig) \d+\.\d+\.\d+ for [\w-]+", library.built_by())


def test_a_function_that_the_headers_lack():
    with pytest.raises(AttributeError, match="vb_nonsense"):
        _ = library.lib.vb_nonsense
