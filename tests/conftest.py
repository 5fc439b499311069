"""Settings that all tests share."""

import gc
import os

import pytest
from hypothesis import settings

# The same examples in every run, and no clock: a test fails because of the code, never of the machine.
settings.register_profile("house", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("house")


def pytest_collection_finish() -> None:
    """What is there before the first test stays to the end: no garbage collection need look at it again.

    Thousands of tests and all that they import are a million objects. A test that asks for a collection would pay for
    them each time.
    """
    gc.collect()
    gc.freeze()


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """In CI a skipped test is a test that does not exist: make it a failure that says so."""
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason} (in CI every test must run)"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    report = yield
    _fail_if_skipped(report)
    return report
