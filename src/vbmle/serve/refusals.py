"""Requests that are not carried out: a status of HTTP and one line that says what, where and what would be right."""

from __future__ import annotations


class Refusal(Exception):
    """A request that changes nothing."""

    status = 400


class BadInput(Refusal):
    """The request says something that cannot be."""

    status = 422


class Conflict(Refusal):
    """The request contradicts what is recorded."""

    status = 409


class NotFound(Refusal):
    """There is nothing of that name."""

    status = 404


class Busy(Refusal):
    """Not now: send it again in a moment."""

    status = 503
