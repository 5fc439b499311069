"""Two clocks: one that tells people when, and one that never goes back, by which waiting is measured."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

EPOCH = date(1970, 1, 1)


class Clock:
    """The clocks of the machine. A wall clock that is set back changes the times shown, and nothing else."""

    def wall(self) -> float:
        """Seconds since 1970, as far as the machine knows."""
        return time.time()

    def steady(self) -> float:
        """Seconds since some moment; never goes back."""
        return time.monotonic()


def day(seconds: float) -> str:
    """The day in UTC, as 2026-01-31."""
    return _day(int(seconds // 86400))


@lru_cache(8)  # nearly always it is the day of the event before
def _day(number: int) -> str:
    return (EPOCH + timedelta(number)).isoformat()


def moment(seconds: float) -> str:
    """The time in UTC to the second, as 2026-01-31T12:00:00Z."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
