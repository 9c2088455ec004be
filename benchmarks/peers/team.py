# SPDX-License-Identifier: Apache-2.0
"""The processes for one number of threads: the candidates, and the yardsticks of the machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from benchmarks.peers.candidate import Candidate, Unavailable
from benchmarks.peers.environments import interpreter, reason
from benchmarks.peers.libraries import YARDSTICKS, Library
from benchmarks.peers.run import Yardstick
from benchmarks.peers.worker import WORKERS, Worker, environment_of
from benchmarks.peers.workloads import Workload
from xtc.codegen.llvm import Machine
from xtc.core.errors import ToolError
from xtc_targets.host.fma_kernel import shape_for

ROOT = Path(__file__).resolve().parents[2]
_ITERATIONS = 1 << 20
_PASSES = 8
_SMALLEST_TRAFFIC = 1 << 16


class Team:
    """Processes that are started on first use; a context manager that ends them."""

    def __init__(self, interpreters: Mapping[Library, Path | str], threads: int) -> None:
        """`interpreters` has each library's Python, or the reason why it is missing."""
        self.threads = threads
        self.candidates = [
            Candidate(library, threads, _starter(library, threads, python))
            for library, python in interpreters.items()
        ]
        own = Path(sys.executable)
        self._fma, self._traffic = (
            Candidate(YARDSTICKS, threads, _starter(YARDSTICKS, threads, own)) for _ in range(2)
        )

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for candidate in (*self.candidates, self._fma, self._traffic):
            candidate.close()

    def yardsticks(self, workload: Workload) -> dict[str, Yardstick]:
        """The measurements of the machine for this workload."""
        flops = shape_for("float32", Machine.host().features).flops
        work = flops * _ITERATIONS * self.threads * 1e-9
        marks = {"fma": Yardstick(self._fma, _request("fma", iterations=_ITERATIONS), work)}
        if workload.bound != "compute":
            size = max(workload.bytes, _SMALLEST_TRAFFIC)
            request = _request(workload.bound, bytes=size, passes=_PASSES)
            marks["traffic"] = Yardstick(self._traffic, request, size * _PASSES * 1e-9)
        return marks


def _request(op: str, **attributes: int) -> Mapping[str, object]:
    return {"op": op, "attributes": attributes}


def _starter(library: Library, threads: int, python: Path | str) -> Callable[[], Worker]:
    """A function that starts the library's process."""

    def start() -> Worker:
        if isinstance(python, str):
            raise Unavailable(python)
        inherited = os.environ  # noqa: TID251  handed on, not read
        path = None
        if not library.requirements:  # this project, from the same folder as in this process
            path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
        environment = environment_of(inherited, threads, library.environment, path)
        command = [str(python), str(WORKERS), library.module, str(threads)]
        return Worker(command, environment, threads)

    return start


def interpreters(
    libraries: Sequence[Library], environments: Path, say: Callable[[str], object]
) -> dict[Library, Path | str]:
    """The Python of each library, installed if necessary, or the reason why that failed."""
    found: dict[Library, Path | str] = {}
    for library in libraries:
        if library.requirements:
            say(f"{library.title}: {', '.join(library.requirements)}")
        try:
            found[library] = interpreter(library.name, library.requirements, environments)
        except ToolError as error:
            found[library] = f"cannot be installed: {reason(error)}"
    return found
