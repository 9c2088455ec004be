# SPDX-License-Identifier: Apache-2.0
"""A command in a forked process behaves as in a new interpreter, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tools.forks.client import ForkedProcess, ForkServer
from tools.forks.command import Command, can_run

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

Ended = tuple[int, str, str]
ENVIRONMENT = {
    "PATH": os.defpath,
    "PYTHONPATH": str(ROOT),
    "PYTHONUNBUFFERED": "1",
    "LC_ALL": "C.UTF-8",
}


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    started = ForkServer((), frozenset(ENVIRONMENT.items()))
    yield started
    started.close()


def start(server: ForkServer, folder: Path, *arguments: str) -> ForkedProcess:
    pipe = subprocess.PIPE
    command = Command(arguments, {**ENVIRONMENT, "XTC_X": "1"}, str(folder), 0o27)
    return ForkedProcess(server, command, stdin=pipe, stdout=pipe, stderr=pipe)


def forked(server: ForkServer, folder: Path, text: str, *arguments: str) -> Ended:
    process = start(server, folder, *arguments)
    assert process.stdin
    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(text)
    output, messages = process.communicate()
    return process.wait(), str(output), str(messages)


def interpreted(folder: Path, text: str, *arguments: str) -> Ended:
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**ENVIRONMENT, "XTC_X": "1"},
        umask=0o27,
        input=text,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    messages = "".join(line for line in ran.stderr.splitlines(True) if "<frozen runpy>" not in line)
    return ran.returncode, ran.stdout, messages


PROGRAMS = {
    "nothing": "",
    "words": "import sys; print(sys.argv, __name__, sys.stdin.read())",
    "surroundings": "import os; print(os.getcwd(), sorted(os.environ), os.umask(0))",
    "paths": "import sys; print(sys.path[:3], sys.flags, sys.executable)",
    "itself": "import __main__, sys; print(__main__ is sys.modules['__main__'], __name__)",
    "streams": (
        "import sys; s = sys.stdin, sys.stdout, sys.stderr\n"
        "print([(x.name, x.mode, x.encoding, x.errors, x.line_buffering, x.fileno()) for x in s])"
    ),
    "bytes": "import sys; print('é'); sys.stdout.buffer.write(bytes([255])); sys.stdout.flush()",
    "code": "raise SystemExit(7)",
    "large code": "raise SystemExit(257)",
    "message": "raise SystemExit('it is over')",
    "exception": "def f():\n    raise ValueError('no')\ntry:\n    f()\nfinally:\n    f()",
    "syntax": "print('never')\nif\n",
    "abort": "import os; os.abort()",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "interrupted": "import os, signal; signal.raise_signal(signal.SIGINT)",
    "at once": "import os; os._exit(3)",
    "the end": "import atexit; atexit.register(print, 'last'); print('first'); 1 / 0",
    "threads": "import threading, time; t = lambda: (time.sleep(0.1), print('late'))\n"
    "threading.Thread(target=t).start(); print('soon')",
    "children": "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1)'])",
    "forks": "import os; print(os.fork() and os.wait()[1], flush=True)",
    "pool": "import multiprocessing as m\nif __name__ == '__main__':\n"
    "    with m.get_context('spawn').Pool(1) as pool: print(pool.map(abs, [-1]))",
    "pipe": "import os; r, w = os.pipe(); os.close(r)\ntry: os.write(w, b'x')\n"
    "except BrokenPipeError: print('broken')",
    "descriptors": "import os; print(sorted(os.listdir('/proc/self/fd')))",
    "temporary": "import tempfile; print(tempfile.gettempdir())",
}


@pytest.mark.parametrize("form", ["file", "code", "module"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_command_behaves_as_in_a_new_interpreter(
    server: ForkServer, tmp_path: Path, name: str, form: str
) -> None:
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    arguments = {
        "file": ["program.py", "a", "-b"],
        "code": ["-c", PROGRAMS[name], "a", "-b"],
        "module": ["-m", "program", "a", "-b"],
    }[form]
    expected = interpreted(tmp_path, "typed", *arguments)
    assert forked(server, tmp_path, "typed", *arguments) == expected


def test_standard_streams_may_be_closed_or_files(server: ForkServer, tmp_path: Path) -> None:
    program = "import sys; print(sys.stdin.read()); print('no', file=sys.stderr)"
    command = Command(["-c", program], ENVIRONMENT, str(tmp_path), 0o22)
    with (tmp_path / "both").open("w+") as both:
        process = ForkedProcess(
            server, command, stdin=subprocess.PIPE, stdout=both, stderr=subprocess.STDOUT
        )
        assert process.stdin
        process.stdin.close()
        assert process.communicate() == (None, None)
    assert (tmp_path / "both").read_text() == "\nno\n"


def test_commands_of_a_pipeline_run_concurrently(server: ForkServer, tmp_path: Path) -> None:
    first = start(server, tmp_path, "-c", "while True: print('more')")
    command = Command(["-c", "print(input())"], ENVIRONMENT, str(tmp_path), 0o22)
    assert first.stdout
    pipe = subprocess.PIPE
    second = ForkedProcess(server, command, stdin=first.stdout, stdout=pipe, stderr=pipe)
    first.stdout.close()
    assert second.communicate() == ("more\n", "")
    assert first.wait() == 1  # a broken pipe


def test_a_killed_command_reports_its_signal(server: ForkServer, tmp_path: Path) -> None:
    process = start(server, tmp_path, "-c", "import time; time.sleep(1000)")
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert forked(server, tmp_path, "", "-c", "print(1)") == (0, "1\n", "")


def test_commands_share_no_variables(server: ForkServer, tmp_path: Path) -> None:
    forked(server, tmp_path, "", "-c", "import os; os.environ['LEFT'] = '1'; import csv")
    program = "import os, sys; print('LEFT' in os.environ, 'csv' in sys.modules)"
    assert forked(server, tmp_path, "", "-c", program)[1] == "False False\n"


def test_packages_are_imported_beforehand(tmp_path: Path) -> None:
    server = ForkServer(("email", "no_such_package"), frozenset(ENVIRONMENT.items()))
    program = "import sys; print('email.mime.text' in sys.modules)"
    assert forked(server, tmp_path, "", "-c", program) == (0, "True\n", "")
    server.close()


def test_a_dead_server_is_an_error_and_is_replaced(tmp_path: Path) -> None:
    server = ForkServer((), frozenset(ENVIRONMENT.items()))
    process = start(server, tmp_path, "-c", "import time; time.sleep(1000)")
    command = psutil.Process(process.pid)
    parent = command.parent()
    assert parent
    parent.kill()
    with pytest.raises(EOFError, match="the fork server ended before the command did"):
        process.wait()
    command.kill()
    psutil.wait_procs([parent, command])
    assert forked(server, tmp_path, "", "-c", "print(1)") == (0, "1\n", "")
    server.close()


def test_commands_end_with_their_server(tmp_path: Path) -> None:
    server = ForkServer((), frozenset(ENVIRONMENT.items()))
    sleep = "import time; time.sleep(1000)"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{sleep}'])"
    process = psutil.Process(start(server, tmp_path, "-c", program).pid)
    while not process.children():
        time.sleep(0.01)
    running = [process, *process.children()]
    server.close()
    assert psutil.wait_procs(running, timeout=60)[1] == []


@pytest.mark.parametrize(
    ("arguments", "known"),
    [
        (["file.py", "-x"], True),
        (["-m", "module"], True),
        (["-c", "pass"], True),
        (["-m"], False),
        (["-"], False),
        (["-u", "file.py"], False),
        ([], False),
    ],
)
def test_other_command_forms_run_in_a_new_interpreter(arguments: list[str], known: bool) -> None:
    assert can_run(arguments) is known
