"""Puts the compiled core into wheels and editable installs, and says what pip must bring for that."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
OLDEST_GLIBC = 17
"""2.17 is the oldest that installers know for every processor."""


def core_build() -> Any:
    """core/build.py as a module."""
    spec = importlib.util.spec_from_file_location("vbmle_core_build", ROOT / "core" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def platform_tag(libraries: list[Path]) -> str:
    """The platforms that the libraries run on.

    They need the C library alone, so on Linux the newest version of it that they name is all there is to know.
    """
    machine = platform.machine().lower()
    if sys.platform == "darwin":
        release = os.environ.get("MACOSX_DEPLOYMENT_TARGET", "11.0").replace(".", "_")
        return f"macosx_{release}_{machine}"
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        named = [
            int(minor) for path in libraries for minor in re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes())
        ]
        return f"manylinux_2_{max([OLDEST_GLIBC, *named])}_{machine}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


class CoreHook(BuildHookInterface[Any]):
    """One wheel for each platform: nothing in it depends on the version of Python."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """A compiler, where the system has none."""
        build = core_build()
        try:
            return [] if build.system_compiler() else [build.ZIG]
        except build.BuildError as error:
            raise SystemExit(f"vbmle: {error}") from None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the core into the package, and list what was built."""
        if self.target_name != "wheel":
            return
        build = core_build()
        try:
            libraries: list[Path] = build.build(here=version == "editable")
        except build.BuildError as error:
            raise SystemExit(f"vbmle: {error}") from None
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(libraries)}"
        if version != "editable":
            made = [*libraries, build.BINDING]
            build_data["force_include"].update({str(path): f"vbmle/core/{path.name}" for path in made})
