# SPDX-License-Identifier: Apache-2.0
"""Controls a library's process: starts it, sends requests, and survives crashes and hangs."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from xtc.system.tool import ending_of

WORKERS = Path(__file__).resolve().parents[1] / "workers"
# Variables that may be set for another purpose, or that would select this project's code.
_REMOVED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONPATH", "PYTHONHOME", "XTC_THREADS")
_COUNTS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM", "BLIS", "TVM", "RAYON")
_CLOSING_SECONDS = 5.0
_LAST_WORDS = 4096


class WorkerLost(Exception):  # noqa: N818  what happened to it
    """The process ended or did not answer in time; the message has its last output."""


class WorkerFailed(Exception):  # noqa: N818
    """The worker reported a failure; `unsupported` if the library lacks the workload."""

    def __init__(self, reason: str, *, unsupported: bool) -> None:
        super().__init__(reason)
        self.unsupported = unsupported


class Worker:
    """A process that handles one request at a time; a context manager."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cpus: int) -> None:
        """Start it on the last `cpus` processors that this process may use."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        self._rest = b""
        self._process = subprocess.Popen(  # noqa: S603  an argument list of our own
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=dict(environment),
            bufsize=0,
            start_new_session=True,  # so that its children can be ended with it
        )
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        if hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(OSError):  # the first request detects that it ended
                last = sorted(os.sched_getaffinity(0))[-cpus:]
                os.sched_setaffinity(self._process.pid, last)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Its answer, which must come within `seconds`.

        Raises WorkerFailed if it reports a failure, and WorkerLost if it does not answer; the
        process has then ended.
        """
        try:
            answer = self._exchange(json.dumps(request).encode() + b"\n", seconds)
        except WorkerLost:
            self.close(at_once=True)
            raise
        if "unsupported" in answer:
            raise WorkerFailed(answer["unsupported"], unsupported=True)
        if "error" in answer:
            raise WorkerFailed(answer["error"], unsupported=False)
        return answer

    def _exchange(self, line: bytes, seconds: float) -> dict[str, Any]:
        try:
            self._requests.write(line)
        except (OSError, ValueError):
            raise self._ended() from None
        text = self._line(time.monotonic() + seconds, seconds)
        try:
            answer = json.loads(text)
        except ValueError:
            raise WorkerLost(f"answered {text[:80]!r}") from None
        if not isinstance(answer, dict):
            raise WorkerLost(f"answered {text[:80]!r}")
        return answer

    def _line(self, deadline: float, seconds: float) -> bytes:
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise WorkerLost(f"did not answer within {seconds:.0f} s")
                part = os.read(self._answers.fileno(), 1 << 16)
                if not part:
                    raise self._ended()
                self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _ended(self) -> WorkerLost:
        try:
            ending = ending_of(self._process.wait(_CLOSING_SECONDS))
        except subprocess.TimeoutExpired:
            return WorkerLost("closed its output")
        words = self.last_words()
        return WorkerLost(f"{ending}: {words}" if words else ending)

    def last_words(self) -> str:
        """The last line that it wrote to standard error."""
        if self._errors.closed:
            return ""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _LAST_WORDS))
        lines = self._errors.read().decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return said[-1][:200] if said else ""

    def close(self, *, at_once: bool = False) -> None:
        """Let it end, or kill it with its children; may be called repeatedly."""
        with contextlib.suppress(OSError):
            self._requests.close()
        if not at_once:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_CLOSING_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._answers.close()
        self._errors.close()


def environment_of(
    inherited: Mapping[str, str], threads: int, more: Mapping[str, str], path: str | None
) -> dict[str, str]:
    """The variables of a worker: inherited ones, without those that would mislead a library.

    Args:
        inherited: this process's variables.
        threads: number of threads for its computations.
        more: variables of the library, in which `{threads}` is replaced.
        path: PYTHONPATH, or None for installed packages only.
    """
    kept = {name: text for name, text in inherited.items() if name not in _REMOVED}
    kept.update({f"{name}_NUM_THREADS": str(threads) for name in _COUNTS})
    kept.update({name: text.replace("{threads}", str(threads)) for name, text in more.items()})
    kept["PYTHONNOUSERSITE"] = "1"
    if path is not None:
        kept["PYTHONPATH"] = path
    return kept
