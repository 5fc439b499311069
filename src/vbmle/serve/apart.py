"""A process of its own for agents: what they compute neither holds up requests nor outlives the order to stop.

It is asked through a socket, one question at a time, and answers in MessagePack. It keeps the agents of the loops that
it was asked about. It reads models, events and snapshots from the folder and writes nothing. It ends when its socket
does, and so with the server, however that ends. `workers` starts it, gives it its turn, and stops it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import msgspec
import numpy as np

from vbmle.agents.catalogue import agents
from vbmle.common import messages
from vbmle.common.files import from_npz_bytes, npz_of
from vbmle.common.validation import Floats
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve.bodies import ModelAnswer
from vbmle.serve.cost import require_affordable
from vbmle.serve.counterfactual import replay
from vbmle.serve.event_log import EventLog
from vbmle.serve.events import Created
from vbmle.serve.export import parquet
from vbmle.serve.folder import Folder
from vbmle.serve.insight import look
from vbmle.serve.learner import Learner, Policy, agent_bytes
from vbmle.serve.ledger import Outcome, encode_ledger
from vbmle.serve.outcomes import Outcomes
from vbmle.serve.restoring import restore
from vbmle.serve.solves import Copy

MODELS_KEPT = 8
"""Models that the process keeps in memory beside those of its agents; others are read again when they are needed."""


class Question(msgspec.Struct, frozen=True, tag=True):
    """Something that a process apart is asked."""


class Hello(Question, frozen=True):
    """Whether the process has come up."""


class Make(Question, frozen=True):
    """A new agent for a loop, asked about the likeliest first state."""

    loop: str
    created: Created


class Restore(Question, frozen=True):
    """A loop as it is on disk, and its agent."""

    loop: str


class Solve(Question, frozen=True):
    """The next policy of a loop."""

    loop: str
    version: int
    outcomes: list[Outcome]
    state: int


class Save(Question, frozen=True):
    """The arrays of a loop's learner, as an .npz."""

    loop: str


class CopyOf(Question, frozen=True):
    """The file of a loop's agent."""

    loop: str


class Look(Question, frozen=True):
    """What the data say, by the copy of an agent."""

    copy: Copy
    created: Created


class Replayed(Question, frozen=True):
    """What another agent would have played."""

    loop: str
    created: Created
    agent: str
    settings: dict[str, Any]


class Exported(Question, frozen=True):
    """All decisions of a loop, as Parquet."""

    loop: str
    created: Created


class Checked(Question, frozen=True):
    """Whether bytes are the .npz of a model."""

    name: str
    npz: bytes


AnyQuestion = Hello | Make | Restore | Solve | Save | CopyOf | Look | Replayed | Exported | Checked


class Array(msgspec.Struct, frozen=True):
    """An array of numbers."""

    shape: tuple[int, ...]
    content: bytes

    @classmethod
    def of(cls, array: Floats | None) -> Array | None:
        return None if array is None else cls(array.shape, array.tobytes())

    def floats(self) -> Floats:
        return np.frombuffer(self.content, np.float64).reshape(self.shape)


class SentPolicy(msgspec.Struct, frozen=True):
    """A policy on its way."""

    version: int
    actions: list[int]
    theta: Array | None
    Q: Array | None
    error: str | None

    @classmethod
    def of(cls, policy: Policy) -> SentPolicy:
        return cls(policy.version, policy.actions, Array.of(policy.theta), Array.of(policy.Q), policy.error)

    def policy(self) -> Policy:
        theta, Q = (None if one is None else one.floats() for one in (self.theta, self.Q))
        return Policy(self.version, self.actions, theta, Q, self.error)


class Restored(msgspec.Struct, frozen=True):
    """A loop as it is on disk."""

    ledger: bytes
    policy: SentPolicy
    kept: int
    said: str


class Answer(msgspec.Struct, frozen=True):
    """What was found; or, in one line, why nothing was, and in which kind of error."""

    found: msgspec.Raw = msgspec.Raw()
    error: str | None = None
    kind: str = ""


class Desk:
    """The agents that this process keeps, and what it can answer."""

    def __init__(self, folder: Path) -> None:
        self._log = EventLog.reading(Folder.read_only(folder))
        self._learners: dict[str, Learner] = {}
        self._outcomes = lru_cache(MODELS_KEPT)(self._read_outcomes)

    def _read_outcomes(self, name: str) -> Outcomes:
        """Of a model; a name stands for one content for ever."""
        return Outcomes(from_npz_bytes(self._log.model(name) or b"", LinearMixtureMDP.load))

    def answer(self, question: AnyQuestion) -> Any:
        """What there is to say."""
        if isinstance(question, Make | Restore | Solve | Save | CopyOf):
            return self._of_learner(question)
        if isinstance(question, Hello):
            return None
        if isinstance(question, Checked):
            mdp = from_npz_bytes(question.npz, LinearMixtureMDP.load)
            return ModelAnswer(
                question.name, mdp.fingerprint(), mdp.num_states, mdp.num_actions, mdp.dimension
            )
        outcomes = self._outcomes(question.created.model)
        match question:
            case Look(copy, created):
                return look(copy, agents()[created.agent], outcomes)
            case Replayed(loop, _, agent, settings):
                require_affordable(outcomes.mdp, agent, settings)
                return replay(self._log.read(loop), outcomes.mdp, agent, settings)
            case Exported(loop):
                return parquet(self._log.read(loop), outcomes)

    def _of_learner(self, question: Make | Restore | Solve | Save | CopyOf) -> Any:
        name = question.loop
        match question:
            case Make(_, created):
                mdp = self._outcomes(created.model).mdp
                require_affordable(mdp, created.agent, created.settings)
                self._learners[name] = Learner.fresh(mdp, created.agent, created.settings)
                return SentPolicy.of(self._learners[name].policy)
            case Restore():
                return self._restored(name)
            case Solve(_, version, outcomes, state):
                return SentPolicy.of(self._learners[name].solve(version, outcomes, state))
            case Save():
                return npz_of(self._learners[name].save())
            case CopyOf():
                return agent_bytes(self._learners[name].agent)

    def _restored(self, name: str) -> Restored:
        first = self._log.lookup(name, "created", "created")
        assert first is not None
        assert isinstance(first.event, Created)
        said: list[str] = []
        mdp = self._outcomes(first.event.model).mdp
        ledger, learner = restore(self._log, name, mdp, said.append)
        self._learners[name] = learner
        return Restored(encode_ledger(ledger), SentPolicy.of(learner.policy), learner.kept, said[0])


def answered(desk: Desk, content: bytes) -> bytes:
    """The answer to a question, in bytes; an error is one."""
    try:
        found = desk.answer(msgspec.msgpack.decode(content, type=AnyQuestion))
        return msgspec.msgpack.encode(Answer(msgspec.Raw(msgspec.msgpack.encode(found))))
    except Exception as error:  # whatever an agent does, the next question is answered
        text = " ".join(str(error).split())
        return msgspec.msgpack.encode(Answer(msgspec.Raw(b"\xc0"), text, type(error).__name__))


def _limit_memory(most: int) -> None:
    """Let an allocation beyond so many bytes fail, where the system can."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _listen(pipe: Any, questions: SimpleQueue[bytes]) -> None:
    """Take questions, and end the process, also in the middle of one, when nobody is there to ask."""
    with suppress(OSError):
        while (content := messages.read(pipe)) is not None:
            questions.put(content)
    os._exit(0)


def main(folder: Path, most_memory: int) -> None:
    """Answer until the socket ends."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # systemd sends it to all; the server ends this process
    with socket.socket(fileno=os.dup(0)) as asked:
        os.dup2(2, 1)  # what anything prints is no answer
        _limit_memory(most_memory)
        desk, questions, answers = Desk(folder), SimpleQueue[bytes](), asked.makefile("wb")
        threading.Thread(target=_listen, args=(asked.makefile("rb"), questions), daemon=True).start()
        while True:
            messages.write(answers, answered(desk, questions.get()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
