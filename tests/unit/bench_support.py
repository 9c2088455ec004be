# SPDX-License-Identifier: Apache-2.0
"""Rows, workers and libraries for the tests of `make bench-host`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from benchmarks.peers.libraries import Library
from benchmarks.peers.results import Rates, Row
from benchmarks.peers.worker import Worker
from benchmarks.peers.workloads import Workload
from xtc.evaluate.timing import Timing

SMALL = Workload("matmul f32 8x8x8", "matmul", "float32", ((8, 8), (8, 8)), (8, 8), flops=2 * 8**3)

# Answers by request; `hang`, `die` and `garbage` are the ways in which a library may misbehave.
_FAKE = """
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    do = request["do"]
    if do == "hang":
        time.sleep(60)
    if do == "die":
        print("something broke", file=sys.stderr, flush=True)
        os.abort()
    if do == "leave":
        sys.exit(3)
    if do == "garbage":
        print("not json", flush=True)
    answers = {"hello": {"versions": {"fake": "1"}}, "drop": {}, "no": {"unsupported": "never"}}
    answers["fail"] = {"error": "ValueError: bad"}
    print(json.dumps(answers.get(do, {"echo": request})), flush=True)
"""


def fake_worker(code: str = _FAKE) -> Worker:
    """A process that answers without any library."""
    return Worker([sys.executable, "-c", code], dict(os.environ), 1)  # noqa: TID251


def library(name: str, *, is_ours: bool = False) -> Library:
    return Library(name, name.title(), "openblas", is_ours=is_ours)


def row_of(
    medians: Mapping[str, float],
    *,
    workload: Workload = SMALL,
    threads: int = 1,
    fma: float = 200.0,
    wrong: Mapping[str, str] | None = None,
) -> Row:
    """A row of these rates, whose best samples are twice as fast."""
    row = Row(workload, threads, wrong=dict(wrong or {}), fma=Rates(fma, fma, fma, fma))
    for name, rate in medians.items():
        seconds = workload.work / rate
        row.timings[name] = Timing((seconds / 2, seconds, seconds * 2), 1)
        row.build_seconds[name] = 0.1
    return row
