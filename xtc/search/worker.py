# SPDX-License-Identifier: Apache-2.0
"""The servers behind `xtc.search.candidate`: each child compiles or measures one candidate."""

from __future__ import annotations

import gc
import json

from xtc.search.bench import bench_of
from xtc.system.sandbox import Job, serve

_warm: set[str] = set()


def main() -> None:
    """Serve until the end of standard input."""
    serve(_work, _prepare)


def _prepare(job: Job) -> None:
    """Prepare in this process what all children need and no candidate can damage."""
    bench = bench_of(job["problem"])
    kind = f"{job['do']} {job['problem']}"
    if kind in _warm:
        return
    _warm.add(kind)
    if job["do"] == "compile":
        bench.warm_up()
    else:
        bench.load()
    gc.collect()
    gc.freeze()  # so that children do not copy pages of permanent objects


def _work(job: Job) -> str:
    return json.dumps(_DO[job["do"]](bench_of(job["problem"]), job))


_DO = {
    "compile": lambda bench, job: bench.compile(job["schedule"]),
    "measure": lambda bench, job: bench.measure(job["compiled"], job["best"], job["repeat"]),
}
