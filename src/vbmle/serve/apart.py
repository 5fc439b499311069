"""A process of its own for looking at agents: in a thread, looking would keep the interpreter from requests.

It is started when it is first needed, asked through its standard input, and answers through its standard output, in
MessagePack. It reads models from the database of the folder and writes nothing. It ends when its input ends, and so
with the server, however that ends.

It goes second where there is more to do than there are cores. A process may be made to wait, but no thread of the
server: one that waits for a core while it holds the interpreter would keep the event loop waiting too.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import IO

import msgspec

from vbmle.agents.catalogue import agents
from vbmle.common import messages
from vbmle.common.files import from_npz_bytes
from vbmle.common.threads import ONE_THREAD
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve.events import Created
from vbmle.serve.insight import Insight, Unseen, look
from vbmle.serve.outcomes import Outcomes
from vbmle.serve.solves import Copy

MODELS_KEPT = 8
"""Models that the process keeps in memory; others are read again when they are needed."""


LOWER, LEAST = 10, 19
"""Added to its nice value, up to the least: where cores are short, it gets a tenth of the time that an equal would."""


class Question(msgspec.Struct, frozen=True):
    """Which agent to look at, and on which model it rests."""

    copy: Copy
    created: Created


class Answer(msgspec.Struct, frozen=True):
    """What was seen; or, in one line, why nothing was."""

    insight: Insight | None
    error: str | None = None


class Apart:
    """The process, seen from the server: it is started again where it has ended. For one thread, `close` excepted."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._process: subprocess.Popen[bytes] | None = None
        self._starting, self._closed = threading.Lock(), False

    def look(self, copy: Copy, created: Created, outcomes: Outcomes) -> Insight:
        """The insight that an agent's copy gives; Unseen where there is none."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            messages.write(process.stdin, msgspec.msgpack.encode(Question(copy, created)))
            content = messages.read(process.stdout)
        except OSError:
            content = None
        if content is None:
            raise Unseen(f"the process that computes bounds and alarm {_ending(self._end(process))}")
        answer = msgspec.msgpack.decode(content, type=Answer)
        if answer.insight is None:
            raise Unseen(f"bounds and alarm could not be computed: {answer.error}")
        return answer.insight

    def _running(self) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._closed:
                raise Unseen("the server is stopping")
            if self._process is None:
                try:
                    self._process = start(self._database)
                except OSError as error:
                    text = f"a process that computes bounds and alarm cannot be started ({error})"
                    raise Unseen(text) from error
            return self._process

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        """Let go of a process that does not answer; how it ended."""
        with self._starting:
            self._process = None
            return messages.end(process)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._starting:
            self._closed = True
            if self._process is not None:
                self._process.kill()

    def clear(self) -> None:
        """After `close`, and when nobody looks any more: give everything back."""
        if self._process is not None:
            self._end(self._process)


def start(database: Path) -> subprocess.Popen[bytes]:
    """The process, out of reach of a Ctrl-C that is meant for the server."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "vbmle.serve.apart", str(database.absolute())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | ONE_THREAD,
        start_new_session=True,
    )
    with suppress(OSError):  # it is slower to answer others where that is not allowed, and nothing else
        lower_process(process.pid)
    return process


def lower_process(pid: int) -> None:
    """Let a process wait for others."""
    usual = os.getpriority(os.PRIO_PROCESS, pid)
    os.setpriority(os.PRIO_PROCESS, pid, min(usual + LOWER, LEAST))


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}; make sure that there is enough memory"
    return f"ended with code {code}; see the log of the server"


def answer(database: Path, content: bytes) -> bytes:
    """What the process has to say to a question."""
    question = msgspec.msgpack.decode(content, type=Question)
    created = question.created
    try:
        outcomes = _outcomes(database, created.model, created.fingerprint)
        found = Answer(look(question.copy, agents()[created.agent], outcomes))
    except Exception as error:  # whatever an agent does, the next one is looked at
        found = Answer(None, " ".join(f"{type(error).__name__}: {error}".split()))
    return msgspec.msgpack.encode(found)


@lru_cache(MODELS_KEPT)
def _outcomes(database: Path, name: str, fingerprint: str) -> Outcomes:
    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    try:
        query = "SELECT npz FROM models WHERE name = ? AND fingerprint = ?"
        ((npz,),) = connection.execute(query, (name, fingerprint)).fetchall()
    finally:
        connection.close()
    return Outcomes(from_npz_bytes(npz, LinearMixtureMDP.load))


def _listen(pipe: IO[bytes], questions: SimpleQueue[bytes]) -> None:
    """Take questions, and end the process, also in the middle of one, when nobody is there to ask."""
    while (content := messages.read(pipe)) is not None:
        questions.put(content)
    os._exit(0)


def main(database: Path) -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # systemd sends it to all; the server ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no answer
    questions: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, questions), daemon=True).start()
    while True:
        messages.write(answers, answer(database, questions.get()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
