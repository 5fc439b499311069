"""Examples run as they stand."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_picture_of_the_readme_is_drawn(tmp_path: Path):
    picture = tmp_path / "regret.png"
    command = [sys.executable, str(EXAMPLES / "regret.py"), str(picture), "2", "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
