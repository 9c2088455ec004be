# SPDX-License-Identifier: Apache-2.0
"""Options and fixtures of the unit tests."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# The same cases in every run, so that failures are reproducible; "long" generates new ones.
settings.register_profile("default", deadline=None, max_examples=30, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=2000, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="try many more random cases (hypothesis profile 'long')"
    )


def pytest_configure(config: pytest.Config) -> None:
    # Shells start background processes with interrupts ignored, and children inherit that.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("long" if config.getoption("--long") else "default")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    gc.disable()  # modules and tests live until the end of the session
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # tests that look for leaks need not scan the objects of pytest


def _shared_folder(config: pytest.Config, factory: pytest.TempPathFactory) -> Path:
    """The folder of this test run, shared by all its processes."""
    folder = factory.getbasetemp()
    is_worker = hasattr(config, "workerinput")
    return folder.parent if is_worker else folder


@pytest.fixture(scope="session", autouse=True)
def _own_cache(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """A cache for this run only; the user's cache is not touched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XTC_CACHE", "0")  # a test may replace code, which must not affect later tests
        native = _shared_folder(pytestconfig, tmp_path_factory) / "native"
        patch.setenv("XTC_NATIVE_DIR", str(native))
        patch.delenv("XTC_CACHE_DIR", raising=False)
        patch.delenv("XTC_CACHE_LIMIT", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the simulators' reports with the other files of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("reports")))
        yield


@pytest.fixture(scope="module", autouse=True)
def _no_device_of_tile_kernels() -> Iterator[None]:
    """Close the device that tile kernels opened, which releases its number."""
    yield
    config = sys.modules.get("xtc.tile.config")
    if config is not None:
        config.close_default()
        gc.collect()


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    """Whether long tests were requested: `make unit-long`."""
    return bool(request.config.getoption("--long"))


@pytest.fixture
def artifact_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache for this test only, and an empty tuning database."""
    monkeypatch.setenv("XTC_CACHE", "1")
    monkeypatch.setenv("XTC_TUNING_DB", str(tmp_path / "tuning.db"))
    monkeypatch.setenv("XTC_CACHE_DIR", str(tmp_path / "artifacts"))
    return tmp_path / "artifacts"


@pytest.fixture
def collected() -> None:
    """Collect garbage first, so that no device of an earlier test keeps its number."""
    gc.collect()


@pytest.fixture
def lit_suite(tmp_path: Path) -> Path:
    """An empty folder for lit tests with the configuration of tests/filecheck."""
    real = Path(__file__).parents[1] / "filecheck" / "lit.cfg.py"
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "lit.cfg.py").write_text(
        f"lit_config.load_config(config, {str(real)!r})\n"
        f"config.test_source_root = config.test_exec_root = {str(suite)!r}\n"
        "config.test_format.packages = ()  # not worth their time for one test\n"
    )
    return suite
