# SPDX-License-Identifier: Apache-2.0
"""Running external tools: results, and explanations of each kind of failure."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from xtc.core.errors import ToolError
from xtc.system import tool


def run_python(program: str, **options: object) -> tool.CompletedTool:
    return tool.run(
        [sys.executable, "-c", program],
        what="the trial",
        install_hint="install Python",
        **options,  # type: ignore[arg-type]
    )


def test_both_streams_and_the_time_are_returned() -> None:
    done = run_python("import sys; print('out'); print('err', file=sys.stderr)")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")
    assert done.seconds > 0


def test_input_reaches_the_program_and_is_empty_without_one() -> None:
    echo = "import sys; print(repr(sys.stdin.read()))"
    assert run_python(echo, input="añ b").stdout == "'añ b'\n"
    assert run_python(echo).stdout == "''\n"


def test_program_runs_in_the_folder(tmp_path: Path) -> None:
    done = run_python("import os; print(os.getcwd())", cwd=tmp_path)
    assert Path(done.stdout.strip()).samefile(tmp_path)


def test_arguments_are_not_seen_by_a_shell() -> None:
    argv = [sys.executable, "-c", "import sys; print(sys.argv[1])", "$HOME; `id` *"]
    assert tool.run(argv, what="x", install_hint="y").stdout == "$HOME; `id` *\n"


def test_output_that_is_not_utf8_is_kept_readable() -> None:
    done = run_python(r"import sys; sys.stdout.buffer.write(b'a\xffb')")
    assert done.stdout == "a\N{REPLACEMENT CHARACTER}b"


def test_a_failure_quotes_command_exit_code_and_output() -> None:
    with pytest.raises(ToolError) as caught:
        run_python("import sys; print('no luck', file=sys.stderr); sys.exit(3)")
    message = str(caught.value)
    assert caught.value.what == f"the trial failed: {sys.executable} ended with exit code 3"
    assert "-c 'import sys; print(" in message
    assert message.endswith(f"output of {sys.executable}:\nno luck")


def test_failure_without_stderr_shows_stdout() -> None:
    with pytest.raises(ToolError, match=":\nonly here"):
        run_python("print('only here'); raise SystemExit(1)")


def test_signal_is_named() -> None:
    with pytest.raises(ToolError, match="was ended by SIGTERM"):
        run_python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")


def test_a_missing_program_has_an_installation_hint() -> None:
    with pytest.raises(ToolError) as caught:
        tool.run(["no-such-program"], what="assembling", install_hint="apt install such")
    assert str(caught.value) == (
        "assembling needs the program 'no-such-program', which was not found\n"
        "  hint: apt install such"
    )


def test_missing_folder_is_not_a_missing_program(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"the folder .*nowhere .* does not exist"):
        run_python("", cwd=tmp_path / "nowhere")


def test_a_file_that_is_not_executable_is_explained(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_bytes(b"\x00\x01")
    script.chmod(0o755)
    with pytest.raises(ToolError, match="cannot start") as caught:
        tool.run([script], what="the trial", install_hint="")
    assert "Exec format error" in str(caught.value)


# A shell that records the id of a child and waits for it.
WAITING = "echo so far >&2; sleep 60 & echo $! > pid; wait"


def run_waiting(folder: Path, timeout: float | None) -> tool.CompletedTool:
    argv = ["/bin/sh", "-c", WAITING]
    return tool.run(argv, what="the trial", install_hint="", cwd=folder, timeout=timeout)


@pytest.mark.slow
def test_timeout_kills_the_program_and_its_children(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"did not end within 1 s and was killed") as caught:
        run_waiting(tmp_path, timeout=1)
    assert "so far" in str(caught.value)
    assert _is_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.slow
def test_interrupt_kills_the_program_and_its_children(tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(1, signal.pthread_kill, (main, signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_waiting(tmp_path, timeout=None)
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert _is_gone(int((tmp_path / "pid").read_text()))


def _is_gone(pid: int) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.slow
def test_descriptors_are_closed_also_on_failure() -> None:
    process = psutil.Process()
    run_python("")
    before = process.num_fds()
    for program in ("", "raise SystemExit(1)"):
        for _ in range(3):
            try:
                run_python(program)
            except ToolError:
                assert program
    assert process.num_fds() == before


@pytest.mark.slow
def test_command_and_time_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="xtc.system.tool"):
        run_python("print(1)")
    assert caplog.messages[0] == f"the trial: {sys.executable} -c 'print(1)'"
    assert caplog.messages[1].startswith("the trial: exit code 0 after ")
