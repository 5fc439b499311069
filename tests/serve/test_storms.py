"""A slice of the stories in hostile weather: `make soak` tells them all (tests/storms.py)."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from serving import PATIENCE

STORMS = Path(__file__).parents[1] / "storms.py"


@pytest.mark.parametrize(("count", "others"), [(16, []), (2, ["--server"])])
def test_whatever_the_system_refuses_nothing_answered_is_lost(count: int, others: list[str]):
    done = subprocess.run(
        [sys.executable, str(STORMS), str(count), *others], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    told = re.search(rf"{count} stories.*?(\d+) struck.* 0 broken", done.stdout)
    assert told, done.stdout
    assert int(told[1]) >= count // 4, "faults have to strike"
