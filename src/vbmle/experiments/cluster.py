"""A running dask cluster in place of the process pool: `--dask ADDRESS`.

Dask runs a task again when the worker that had it is gone. What is left for us: say in one line why a cluster
cannot be used, and let go of it at once when the run is interrupted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any

from vbmle.experiments import InputError
from vbmle.experiments.compute import PoolGone, Workers

CONNECT_SECONDS = 5
CLOSE_SECONDS = 1
RETRIES = 3
"""How often a task is run again by the scheduler."""

NOISY = ("distributed", "tornado", "asyncio")
"""Loggers that tell of a lost connection with pages of traces."""

QUEUE = 1000
"""Tasks handed over at once: a cluster that grows with its queue must see one."""


class Cluster(Executor):
    """The executor of a dask client, which also closes the client."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(retries=RETRIES, pure=False)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Hand a task over; `PoolGone` if the client has found out meanwhile that the cluster is."""
        try:
            found: Future[Any] = self._executor.submit(function, *arguments, **named)
        except Exception:
            if self._client.status == "running":
                raise
            raise PoolGone from None
        return found

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Hang up: the scheduler then drops the tasks that nobody waits for."""
        if wait and not cancel_futures:
            self._executor.shutdown(wait=True)
        with suppress(Exception):  # late, or lost already: it ends with the process
            self._client.close(timeout=CLOSE_SECONDS)


def connect(address: str, say: Callable[[str], None]) -> Workers:
    """Workers on the cluster whose scheduler listens at `address`, e.g. tcp://10.0.0.1:8786."""
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise InputError("--dask needs the package distributed: pip install 'vbmle[cluster]'") from None
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in NOISY]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is said by us, once
    try:
        get_address_host_port(address)  # a client with an address it cannot parse is slow to be gone
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, ImportError, TypeError) as error:
        reason = str(error).split(". ")[0] or type(error).__name__
        raise InputError(f"--dask {address}: no scheduler answers there ({reason})") from None
    threads = sum(client.nthreads().values())
    say(
        f"on {threads} threads of the cluster at {address}"
        if threads
        else f"waiting for workers at {address}"
    )
    return Workers(QUEUE // 2, lambda: Cluster(client))
