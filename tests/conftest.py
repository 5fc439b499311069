"""Settings that all tests share."""

import os

import pytest
from hypothesis import settings

# The same examples in every run, and no clock: a test fails because of the code, never of the machine.
settings.register_profile("house", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("house")


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
