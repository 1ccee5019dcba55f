"""The pytest plugin: collects `@warpline.proved`, and shows the counterexample of a failed test.

Installed with the package. It imports the native library only with the first kernel.
"""

from __future__ import annotations

from typing import Any, Iterator

import pytest

_VERDICTS = pytest.StashKey[list[Any]]()


def _is_proved(obj: Any) -> bool:
    return getattr(obj, "__warpline_proved__", False) is True


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> Any:
    """A decorated function is a test under any name, in the module that defines it."""
    own = getattr(obj, "__module__", "") == getattr(collector.obj, "__name__", None)
    if _is_proved(obj) and own and not collector.funcnamefilter(name):
        return list(collector._genfunctions(name, obj))
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> Any:
    """A test that returns its kernel is no mistake."""
    __tracebackhide__ = True
    if not _is_proved(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Keep the verdicts of a test that are not proofs."""
    import warpline._api as api

    found: list[Any] = []
    item.stash[_VERDICTS] = found

    def hear(verdict: Any) -> None:
        if not verdict.proved:
            found.append(verdict)

    api.on_verdict.append(hear)
    try:
        yield
    finally:
        api.on_verdict.remove(hear)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Show the verdicts of a failed test that are not proofs: each with its counterexample."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.when == "call" and report.failed and not _is_proved(getattr(item, "obj", None)):
        for verdict in item.stash.get(_VERDICTS, []):
            report.sections.append((f"warpline: {verdict.scenario}", str(verdict)))
