# SPDX-License-Identifier: Apache-2.0
"""Work in child processes: results and errors come back, and crashes are contained."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.unit import guard_jobs
from xtc.core.errors import ChildDied, CompileError, DeviceTimeout, UserError
from xtc.system.sandbox import Limits, Workers, reply, run_in_child
from xtc.system.sandbox.server import send, write_request

MIB = 1 << 20
SHORT = Limits(seconds=0.5, memory_bytes=256 * MIB)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    found = Workers(guard_jobs.__name__)
    yield found
    found.close()


def ask(workers: Workers, do: str, on: Any = None, limits: Limits | None = None) -> str:
    return workers.ask({"do": do, "on": on}, limits or Limits(seconds=60), what="the work")


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.mark.slow
def test_a_server_whose_reader_was_killed_ends_silently() -> None:
    code = "from xtc.system.sandbox.server import serve; serve(lambda job: 'done')"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdout.close()
        send(server.stdin, write_request({}, Limits(seconds=60), "the work"))  # type: ignore[arg-type]
        server.stdin.flush()
        assert (server.wait(60), server.stderr.read()) == (0, b"")


@pytest.mark.slow
def test_results_are_returned(workers: Workers) -> None:
    assert ask(workers, "return", "é\n\0\u2028") == "é\n\0\u2028"
    assert ask(workers, "repeat", 3_000_000) == "é" * 3_000_000
    assert ask(workers, "return", "x" * 3_000_000) == "x" * 3_000_000


@pytest.mark.slow
def test_one_server_has_a_child_for_each_request(workers: Workers) -> None:
    (child, parent), (next_child, next_parent) = (ask(workers, "pid").split() for _ in range(2))
    assert parent == next_parent
    assert len({child, next_child, parent, str(os.getpid())}) == 4


def test_errors_are_raised_in_the_parent(workers: Workers) -> None:
    with pytest.raises(UserError) as failure:
        ask(workers, "fail", "user")
    error = failure.value
    assert (error.what, error.where) == ("wrong", "f.py:3")
    assert (error.notes, error.hints) == (("because",), ("try", "this"))
    with pytest.raises(DeviceTimeout, match="late"):
        ask(workers, "fail", "timeout")


def test_an_unexpected_exception_has_its_location(workers: Workers) -> None:
    with pytest.raises(
        CompileError, match="failed on this input with KeyError: 'no such key'"
    ) as at:
        ask(workers, "fail", "otherwise")
    assert "guard_jobs.py" in at.value.notes[-1]


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGTERM", "SIGBUS", "SIGILL"])
def test_a_crash_names_its_signal(workers: Workers, name: str) -> None:
    with pytest.raises(ChildDied, match=f"^the work crashed: the process was ended by {name}$"):
        ask(workers, "signal", getattr(signal, name))
    assert ask(workers, "return", "alive") == "alive"


def test_a_crash_quotes_the_last_output(workers: Workers) -> None:
    with pytest.raises(ChildDied, match="SIGSEGV") as failure:
        ask(workers, "say and crash", "x" * 10_000 + " the reason")
    (note,) = failure.value.notes
    assert note.endswith(" the reason")
    assert len(note) < 5_000


def test_work_that_ends_the_process_has_no_result(workers: Workers) -> None:
    with pytest.raises(CompileError, match="SystemExit"):
        ask(workers, "exit", 0)


@pytest.mark.parametrize("do", ["sleep", "spin"])
@pytest.mark.slow
def test_the_time_limit_ends_the_child(workers: Workers, do: str) -> None:
    with pytest.raises(ChildDied, match=r"took longer than 0\.5 s and was ended"):
        ask(workers, do, 60, SHORT)


@pytest.mark.slow
def test_a_child_that_ignores_its_alarm_is_killed(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from xtc.system.sandbox import child

    monkeypatch.setattr(child, "_GRACE", 0.2)
    before = children()
    with pytest.raises(ChildDied, match=r"took longer than 0\.5 s and was ended"):
        run_in_child(lambda: str(guard_jobs.WORK["deaf"](60)), SHORT, what="it")
    assert children() == before


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not limit address space")
@pytest.mark.slow
def test_the_memory_limit_ends_the_child(workers: Workers) -> None:
    with pytest.raises(ChildDied, match="the work ran out of memory") as failure:
        ask(workers, "memory", limits=Limits(memory_bytes=256 * MIB))
    assert "the limit is 256 MiB" in failure.value.notes[-1]


def test_limits_hold_in_the_child(workers: Workers) -> None:
    limits = json.loads(ask(workers, "limits", limits=Limits(7.5, 512 * MIB)))
    assert limits["RLIMIT_CORE"] == 0
    assert limits["RLIMIT_CPU"] == 9
    assert limits["RLIMIT_STACK"] <= 64 * MIB
    if sys.platform != "darwin":
        assert 512 * MIB < limits["RLIMIT_AS"] < 8 << 30


@pytest.mark.parametrize(
    ("seconds", "memory"),
    [(0, MIB), (-1, MIB), (float("nan"), MIB), (float("inf"), MIB), (1, 0), (1, -1), (1, 1 << 60)],
)
def test_invalid_limits_are_refused(seconds: float, memory: int) -> None:
    with pytest.raises(UserError, match="limit of"):
        Limits(seconds, memory)


def test_the_child_has_neither_the_pipes_nor_a_terminal(workers: Workers) -> None:
    assert ask(workers, "read input") == "b''19"


@pytest.mark.slow
def test_a_server_that_died_is_replaced(workers: Workers) -> None:
    with pytest.raises(ChildDied, match="its process ended"):
        ask(workers, "kill server")
    assert ask(workers, "return", "alive") == "alive"
    _, parent = ask(workers, "pid").split()
    psutil.Process(int(parent)).kill()
    psutil.wait_procs([psutil.Process(int(parent))], timeout=10)
    assert ask(workers, "return", "alive") == "alive"


@pytest.mark.slow
def test_threads_send_requests_concurrently() -> None:
    before, workers = children(), Workers(guard_jobs.__name__)
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda n: ask(workers, "return", f"{n}"), range(30)))
    assert answers == [str(n) for n in range(30)]
    assert 1 <= len(children() - before) <= 3
    workers.close()
    assert children() == before
    assert ask(workers, "return", "opened again") == "opened again"
    workers.close()


@pytest.mark.slow
def test_nothing_leaks(workers: Workers) -> None:
    ask(workers, "return")
    before = len(os.listdir("/dev/fd")), children()  # noqa: PTH208  the count is all we need
    for _ in range(10):
        with pytest.raises(ChildDied):
            ask(workers, "signal", signal.SIGSEGV)
        run_in_child(lambda: "", Limits(), what="it")
    assert (len(os.listdir("/dev/fd")), children()) == before  # noqa: PTH208


@pytest.mark.slow
def test_an_interrupt_ends_the_work() -> None:
    workers, before = Workers(guard_jobs.__name__), children()
    ask(workers, "return")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ask(workers, "sleep", 60)
    timer.join()
    assert children() == before


@pytest.mark.slow
def test_a_fork_leaves_the_servers_to_the_parent(workers: Workers) -> None:
    ask(workers, "return")
    own = children()
    pid = os.fork()
    if pid == 0:
        answer = ask(workers, "return", "child")
        workers.close()
        os._exit(0 if answer == "child" else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert ask(workers, "return", "parent") == "parent"
    assert children() == own


@pytest.mark.slow
def test_the_childs_output_is_forwarded(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> str:
        os.write(2, "hélas\n".encode())
        return "done"

    assert run_in_child(work, Limits(), what="it", echo=True) == "done"
    assert capsys.readouterr().err == "hélas\n"
    run_in_child(work, Limits(), what="it")
    assert capsys.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"{}", b"null", b'{"class": "Exception"}', b"\xff", b"[" * 100_000],
)
def test_an_invalid_reply_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        reply.decode(data)


@pytest.mark.slow
def test_a_failed_fork_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    before = len(list(Path("/dev/fd").iterdir()))
    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(CompileError, match="it cannot begin: no new process"):
        run_in_child(lambda: "", Limits(), what="it")
    assert len(list(Path("/dev/fd").iterdir())) == before
