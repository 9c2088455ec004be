# SPDX-License-Identifier: Apache-2.0
"""A server whose children run requested jobs, also failing ones; see test_guard.py."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from xtc.core.errors import DeviceTimeout, UserError
from xtc.system.sandbox import serve


def _fill_memory(_: Any) -> str:
    blocks = []
    while True:
        blocks.append(bytearray(1 << 20))


def _spin(_: Any) -> str:
    while True:
        pass


def _fail(kind: str) -> str:
    if kind == "user":
        raise UserError("wrong", where="f.py:3", notes=["because"], hints=["try", "this"])
    if kind == "timeout":
        raise DeviceTimeout("late")
    raise KeyError("no such key")


def _limits(_: Any) -> str:
    kinds = ("RLIMIT_CORE", "RLIMIT_CPU", "RLIMIT_AS", "RLIMIT_STACK")
    return json.dumps({kind: resource.getrlimit(getattr(resource, kind))[0] for kind in kinds})


def _say_and_crash(text: str) -> str:
    os.write(2, text.encode())
    ctypes.string_at(0)
    return ""


def _read_input(_: Any) -> str:
    return repr(os.read(0, 100)) + repr(sys.stdout.write("not for the parent\n"))


def _ignore_alarm(seconds: float) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    time.sleep(seconds)


def _kill_server(_: Any) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


WORK: dict[str, Callable[[Any], object]] = {
    "return": str,
    "repeat": lambda count: "é" * count,
    "pid": lambda _: f"{os.getpid()} {os.getppid()}",
    "signal": lambda number: os.kill(os.getpid(), number),
    "exit": sys.exit,
    "sleep": time.sleep,
    "deaf": _ignore_alarm,
    "spin": _spin,
    "memory": _fill_memory,
    "fail": _fail,
    "limits": _limits,
    "say and crash": _say_and_crash,
    "read input": _read_input,
    "kill server": _kill_server,
}


def main() -> None:
    serve(lambda job: str(WORK[job["do"]](job["on"])))
