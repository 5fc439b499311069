"""What a longer run of a trial goes on from: the agent, where the run stood, and what the next row still needs.

A row of a record may stand for many steps, and the last step of a short run need not be a row of a longer one
(`Recording.shared`). So the steps since the last row that both have are kept one by one; where the error of the
estimate is recorded, which is found from the path alone, so is the path. The rest is in the record.

Everything in this file decides numbers, so it is part of the resume key (`vbmle.experiments.resume_key`).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vbmle.common.files import arrays_in, npz_of
from vbmle.simulation import History, Moment

if TYPE_CHECKING:
    from vbmle.experiments.spec import Trial
    from vbmle.model.mdp import LinearMixtureMDP

MOST_BYTES = 1 << 20
"""Of one trial: with more to keep, a longer run begins from the beginning."""

PATH = ("states", "actions", "next_states")

METRIC = "metric."
"""What the name of a metric is kept under begins with."""


@dataclass(frozen=True, eq=False)
class Rest:
    """Where a run stands, and what of its history the rows to come need."""

    moment: Moment
    tail: dict[str, NDArray[Any]]
    """Arrays of a `History`, of the steps since the last row that is kept."""
    path: NDArray[Any] | None
    """States, actions and next states of all steps, where they are needed."""
    agent: bytes
    """As `save` wrote it."""

    @property
    def since(self) -> int:
        """The step of the last row that is kept."""
        return self.moment.step - len(self.tail["regret"])

    def player(self, fresh: Any, mdp: LinearMixtureMDP) -> Any:
        """The agent, as it was; `fresh` is one that has seen nothing."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "agent.npz"
            path.write_bytes(self.agent)
            return type(fresh).load(path, mdp)

    @property
    def history(self) -> History:
        """The steps since the last row that is kept, for `simulate(..., after=...)`."""
        columns: dict[str, Any] = {name: array for name, array in self.tail.items() if METRIC not in name}
        metrics = {name.partition(METRIC)[2]: array for name, array in self.tail.items() if METRIC in name}
        # of the moment before them only the step is known, and only that is asked for unless there are none
        return History(**columns, metrics=metrics, before=self.moment._replace(step=self.since))


def paths(rest: Rest | None, history: History) -> NDArray[Any]:
    """States, actions and next states from the first step on."""
    played = np.stack([getattr(history, name) for name in PATH])
    if rest is None or rest.path is None:
        return played
    return np.concatenate([rest.path, played[:, rest.moment.step - history.begun :]], axis=1)


def packed(trial: Trial, player: Any, history: History, path: NDArray[Any] | None) -> bytes | None:
    """What a run that is over leaves to a longer one; None where it is too large, or the agent cannot be saved."""
    agent = _saved(player)
    if agent is None:
        return None
    since = trial.record.shared(trial.horizon) - history.begun
    named = {field.name: getattr(history, field.name) for field in fields(history)}
    named |= {f"{METRIC}{name}": array for name, array in history.metrics.items()}
    tail = {name: array[since:] for name, array in named.items() if isinstance(array, np.ndarray)}
    arrays = {f"tail.{name}": array for name, array in tail.items()}
    arrays |= {"agent": np.frombuffer(agent, np.uint8), "moment": np.array(history.end, dtype=np.float64)}
    if path is not None:
        arrays["path"] = path.astype(np.min_scalar_type(path.max()))
    content = npz_of(arrays)
    return content if len(content) <= MOST_BYTES else None


def unpacked(content: bytes) -> Rest:
    """What `packed` left."""
    arrays = arrays_in(BytesIO(content), len(content))
    step, state, regret = arrays["moment"].tolist()
    tail = {name.removeprefix("tail."): array for name, array in arrays.items() if name.startswith("tail.")}
    path = arrays["path"].astype(np.int64) if "path" in arrays else None
    return Rest(Moment(int(step), int(state), regret), tail, path, arrays["agent"].tobytes())


def _saved(player: Any) -> bytes | None:
    """What `save` writes; None for an agent that cannot be saved, which may be one of yours."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.npz"
        try:
            player.save(path)
            return path.read_bytes()
        except Exception:  # whatever code of yours raises
            return None
