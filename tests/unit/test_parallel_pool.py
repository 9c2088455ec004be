# SPDX-License-Identifier: Apache-2.0
"""The thread pool in isolation: distribution of iterations, and no leaks."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from xtc.core import knobs
from xtc.core.errors import ToolError
from xtc_targets.host import pool_library

LOOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PIECES = 4  # pieces of a thread's work, so that others can take some of them
FOREVER = 10**12  # microseconds
SECONDS = 20  # seconds that a thread waits for another one before a test fails

Body = Callable[[int, int], None]


class Runtime:
    """The library, called with loops that are written in Python."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def run(self, body: Body, count: int, threads: int) -> None:
        """Run a loop; errors of `body` are raised here."""
        errors: list[BaseException] = []

        def call(_context: int, first: int, last: int) -> None:
            try:
                body(first, last)
            except BaseException as error:
                errors.append(error)

        arguments = (ctypes.c_void_p(), ctypes.c_int64(count), ctypes.c_int64(threads))
        self._library.xtc_parallel_run(LOOP(call), *arguments)
        if errors:
            raise errors[0]

    def spin(self, microseconds: int) -> None:
        self._library.xtc_parallel_spin(ctypes.c_int64(microseconds))

    def stop(self) -> None:
        self._library.xtc_parallel_stop()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that no compiled module uses."""
    path = tmp_path_factory.mktemp("library") / "pool.so"
    path.write_bytes(pool_library.built())
    return path


@pytest.fixture
def runtime(library: Path) -> Iterator[Runtime]:
    runtime = Runtime(library)
    runtime.spin(knobs.SPIN.default)
    yield runtime
    runtime.stop()


def threads_of_process() -> int:
    return psutil.Process().num_threads()


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("count", [0, 1, 2, 6, 7, 8, 100])
def test_every_iteration_runs_once(runtime: Runtime, count: int, threads: int) -> None:
    ranges: list[tuple[int, int]] = []
    runtime.run(lambda first, last: ranges.append((first, last)), count, threads)
    assert sorted(i for first, last in ranges for i in range(first, last)) == list(range(count))
    assert min(count, threads) <= len(ranges) <= max(1, PIECES * threads)
    lengths = {last - first for first, last in ranges}
    assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("threads", [2, 5])
def test_the_requested_threads_run_concurrently(runtime: Runtime, threads: int) -> None:
    meet_in_a_loop(runtime, threads)


def test_a_loop_returns_when_every_iteration_is_done(runtime: Runtime) -> None:
    together = threading.Barrier(3)
    slow: list[int] = []

    def body(first: int, _last: int) -> None:
        together.wait(SECONDS)
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.05)
            slow.append(first)

    runtime.run(body, 3, 3)
    assert len(slow) == 2


def meet_in_a_loop(runtime: Runtime, threads: int) -> None:
    together = threading.Barrier(threads)
    runtime.run(lambda _first, _last: void(together.wait(SECONDS)), threads, threads)


@pytest.mark.skipif(sys.platform != "linux", reason="cores are chosen on Linux alone")
def test_workers_run_on_other_cores_than_the_callers(runtime: Runtime) -> None:
    mine = os.sched_getaffinity(0)
    if len(mine) < 2:
        pytest.skip("the process may use one core only")
    together = threading.Barrier(2)
    seen: dict[bool, set[int]] = {}

    def body(_first: int, _last: int) -> None:
        together.wait(SECONDS)
        is_caller = threading.current_thread() is threading.main_thread()
        seen[is_caller] = os.sched_getaffinity(0)

    runtime.run(body, 2, 2)
    assert seen[True] == mine  # the program chooses the caller's cores
    assert seen[False] < mine
    assert len(seen[False]) == len(mine) - 1
    os.sched_setaffinity(0, {min(mine)})
    try:
        runtime.run(body, 2, 2)  # no other core is left, so they stay
    finally:
        os.sched_setaffinity(0, mine)


def void(_: object) -> None:
    """For a function whose result says nothing."""


def test_threads_stay_for_the_next_loop_and_end_when_stopped(runtime: Runtime) -> None:
    before = threads_of_process()
    for _ in range(20):
        runtime.run(lambda _first, _last: None, 64, 4)
        assert threads_of_process() == before + 3
    runtime.run(lambda _first, _last: None, 64, 2)
    assert threads_of_process() == before + 3
    runtime.stop()
    assert threads_of_process() == before
    runtime.stop()
    runtime.run(lambda _first, _last: None, 64, 3)
    assert threads_of_process() == before + 2


def test_one_thread_or_one_iteration_starts_no_worker(runtime: Runtime) -> None:
    before = threads_of_process()
    runtime.run(lambda _first, _last: None, 64, 1)
    runtime.run(lambda _first, _last: None, 1, 8)
    assert threads_of_process() == before


def test_a_thread_takes_pieces_that_another_has_not_begun(runtime: Runtime) -> None:
    done = threading.Semaphore(0)

    def body(first: int, _last: int) -> None:
        if first > 0:
            done.release()
        else:
            assert all(done.acquire(timeout=SECONDS) for _ in range(2 * PIECES - 1))

    runtime.run(body, 2 * PIECES, 2)


@pytest.mark.parametrize("spin", [0, 1000, FOREVER])
def test_threads_find_every_loop_however_long_they_stay_awake(runtime: Runtime, spin: int) -> None:
    runtime.spin(spin)
    for threads in (2, 2, 3, 2, 4):
        meet_in_a_loop(runtime, threads)
        time.sleep(0.001)
    runtime.stop()  # also ends those that are still awake


def idle_seconds_of_cores() -> float:
    """The CPU time that this process uses while it is idle."""
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.3)
    return time.process_time() - before


def test_idle_threads_sleep_after_the_spin_time(runtime: Runtime) -> None:
    runtime.run(lambda _first, _last: None, 64, 2)
    assert idle_seconds_of_cores() < 0.1


def test_more_threads_than_cores_sleep_at_once(runtime: Runtime) -> None:
    runtime.spin(FOREVER)
    threads = (psutil.cpu_count() or 1) + 1
    runtime.run(lambda _first, _last: None, threads, threads)
    assert idle_seconds_of_cores() < 0.1


def test_a_caller_with_too_few_cores_sleeps_while_it_waits(runtime: Runtime) -> None:
    runtime.spin(FOREVER)
    threads = (psutil.cpu_count() or 1) + 1
    together = threading.Barrier(threads)
    before = time.process_time()

    def body(_first: int, _last: int) -> None:
        together.wait(SECONDS)
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.3)

    runtime.run(body, threads, threads)
    assert time.process_time() - before < 0.2


def test_a_nested_loop_runs_on_its_thread(runtime: Runtime) -> None:
    met: list[tuple[int, int]] = []

    def outer(_first: int, _last: int) -> None:
        me = threading.get_ident()
        runtime.run(lambda first, last: inner(me, first, last), 10, 4)

    def inner(outside: int, first: int, last: int) -> None:
        assert threading.get_ident() == outside
        met.append((first, last))

    runtime.run(outer, 4, 4)
    assert met == [(0, 10)] * 4


def test_concurrent_loops_do_not_wait_for_each_other(runtime: Runtime) -> None:
    done = threading.Event()
    started = threading.Event()

    def long(_first: int, _last: int) -> None:
        started.set()
        assert done.wait(SECONDS)

    other = threading.Thread(target=runtime.run, args=(long, 2, 2))
    other.start()
    assert started.wait(SECONDS)
    ranges: list[tuple[int, int]] = []
    runtime.run(lambda first, last: ranges.append((first, last)), 10, 2)
    done.set()
    other.join()
    assert ranges == [(0, 10)]


def test_a_child_process_has_a_separate_pool(runtime: Runtime) -> None:
    runtime.run(lambda _first, _last: None, 4, 4)
    child = os.fork()
    if child == 0:
        os._exit(_threads_of_three_chunks(runtime))
    impatience = threading.Timer(2 * SECONDS, os.kill, (child, signal.SIGKILL))
    impatience.start()
    _, status = os.waitpid(child, 0)
    impatience.cancel()
    assert os.waitstatus_to_exitcode(status) == 3


def _threads_of_three_chunks(runtime: Runtime) -> int:
    """The number of threads after three ran concurrently; 99 if they did not."""
    together = threading.Barrier(3)
    try:
        runtime.run(lambda _first, _last: void(together.wait(SECONDS)), 3, 3)
        return threads_of_process()
    except BaseException:
        return 99


def test_signals_go_to_the_threads_of_the_program(runtime: Runtime) -> None:
    blocked: list[set[int]] = []
    together = threading.Barrier(2)

    def body(_first: int, _last: int) -> None:
        together.wait(SECONDS)
        if threading.current_thread() is not threading.main_thread():
            blocked.append({int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])})

    runtime.run(body, 2, 2)
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGCHLD} <= blocked[0]
    assert not {signal.SIGSEGV, signal.SIGFPE} & blocked[0]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_building_the_library_reports_a_missing_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XTC_CC", "no-such-compiler")
    with pytest.raises(ToolError, match=r"compiling parallel\.so needs .*no-such-compiler"):
        pool_library.built.__wrapped__()
