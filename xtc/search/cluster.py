# SPDX-License-Identifier: Apache-2.0
"""Measures candidates with the workers of a Dask cluster, one at a time on each machine.

Dask schedules the candidates and reruns those of a lost worker elsewhere. A worker processes a
candidate like the local machine: sandboxed children compile and measure it.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import queue
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from xtc.core.errors import UserError, XtcError
from xtc.driver.tuned import machine_name
from xtc.search.candidate import Candidate, CandidateRunner, Outcome
from xtc.search.evaluator import Evaluator
from xtc.search.problem import Data, Problem
from xtc.system.ownership import make_private
from xtc.system.sandbox import Limits
from xtc.system.workspace import private_folder

SCHEME = "dask://"
_CONNECT_SECONDS = 20
_AHEAD = 2  # candidates for each thread of a worker
_ATTEMPTS = 3  # attempts for a candidate whose workers are lost


@contextmanager
def cluster(workers: str) -> Iterator[Any]:
    """A client of the cluster at `dask://host:port`, or of a number of new local processes.

    Raises UserError if it does not exist, or Dask is not installed.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise UserError(
            "--workers needs Dask", hints=["pip install distributed, or omit --workers"]
        ) from None
    if not workers.startswith(SCHEME):
        if not workers.isdecimal() or not 1 <= int(workers) <= 1024:
            raise UserError(
                f"--workers {workers} is neither a number nor an address",
                hints=["--workers 2, or --workers dask://host:8786"],
            )
        local = LocalCluster(
            n_workers=int(workers),
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=50,
        )
        with local, Client(local) as client:
            yield client
        return
    address = workers.removeprefix(SCHEME)
    try:
        client = Client(f"tcp://{address}", timeout=_CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise UserError(f"there is no Dask scheduler at {address}", notes=[str(error)]) from None
    with client:
        yield client


class ClusterEvaluator(Evaluator):
    """Submits candidates to a Dask client."""

    def __init__(
        self, client: Any, problem: Problem, compile_limits: Limits, run_limits: Limits
    ) -> None:
        """Raises UserError if there are no workers, or their machines differ."""
        self._client = client
        self._outcomes: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._futures: dict[Any, Candidate] = {}
        self.machine = self._only_machine()
        self.capacity = _AHEAD * sum(client.nthreads().values())
        limits = {"compile": asdict(compile_limits), "run": asdict(run_limits)}
        self._problem = json.dumps({"problem": problem.packed(), "limits": limits})
        self._sent = client.scatter(self._problem, broadcast=True)

    def submit(self, candidate: Candidate) -> None:
        future = self._client.submit(
            measure_here, self._sent, asdict(candidate), self.best, pure=False, retries=0
        )
        self._futures[future] = candidate
        future.add_done_callback(self._outcomes.put)

    def next(self, seconds: float) -> Outcome | None:
        try:
            future = self._outcomes.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            return None
        candidate = self._futures.pop(future)
        if future.status == "finished":
            return Outcome(candidate, **future.result())
        if candidate.attempt + 1 < _ATTEMPTS and future.status in ("lost", "error"):
            self.submit(replace(candidate, attempt=candidate.attempt + 1))
            return None
        return Outcome(candidate, "crashed", f"no worker could run it: {future.exception()!r}")

    def close(self) -> None:
        futures, self._futures = list(self._futures), {}
        with contextlib.suppress(OSError, RuntimeError, TimeoutError):  # the cluster is gone
            self._client.cancel(futures, force=True)

    def _only_machine(self) -> str:
        machines = set(self._client.run(machine_name).values())
        if not machines:
            raise UserError("the Dask cluster has no workers", hints=["start `dask worker` first"])
        if len(machines) > 1:
            raise UserError(
                "the workers' machines differ, so their times are not comparable",
                notes=sorted(machines),
            )
        return str(machines.pop())


def measure_here(sent: str, candidate: Data, best: float | None) -> Data:
    """Runs a candidate on a cluster worker; returns an `Outcome` without the candidate."""
    from distributed import get_worker

    runner = _runner(sent)
    received = Candidate(**candidate)
    found = runner.compile(received)
    if not isinstance(found, Outcome):
        with _measuring():
            found = runner.measure(found, best)
    data = {name: getattr(found, name) for name in ("status", "message", "samples")}
    with contextlib.suppress(ValueError):  # outside of a worker
        data["worker"] = str(get_worker().address)
    return {**data, "compile_seconds": found.compile_seconds}


_folders: list[tempfile.TemporaryDirectory[str]] = []
_opening = threading.Lock()


def _runner(sent: str) -> CandidateRunner:
    """The runner of a problem, whose files live as long as this process."""
    with _opening:
        return _new_runner(sent)


@functools.lru_cache(maxsize=4)
def _new_runner(sent: str) -> CandidateRunner:
    data = json.loads(sent)
    folder = private_folder("tuning-")
    _folders.append(folder)
    problem = Problem.unpacked(data["problem"], Path(folder.name))
    limits = {name: Limits(**given) for name, given in data["limits"].items()}
    return CandidateRunner(problem, limits["compile"], limits["run"])


@contextmanager
def _measuring() -> Iterator[None]:
    """Serializes measurements of this user's workers on this machine."""
    folder = Path(tempfile.gettempdir(), f"xtc-measuring-{os.geteuid()}")
    try:
        make_private(folder, follow=False)
    except OSError as error:
        raise XtcError(f"cannot use {folder}: {error}") from None
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
