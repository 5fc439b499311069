"""python -m vbmle.bench DIR [--quick]: what `vbmle bench` starts, with the threads of this environment."""

from __future__ import annotations

import sys
from pathlib import Path

from vbmle.bench.runner import run

if __name__ == "__main__":
    try:
        run(Path(sys.argv[1]), quick="--quick" in sys.argv[2:])
    except KeyboardInterrupt:
        sys.exit(130)
