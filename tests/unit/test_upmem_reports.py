# SPDX-License-Identifier: Apache-2.0
"""Timelines of reports, as Perfetto reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xtc_targets.upmem.commands import trace

LAUNCH = {
    "program": "sum",
    "set": 0,
    "dpus": 2,
    "tasklets": 11,
    "modelled_cycles": 1000,
    "modelled_dma_cycles": 500,
    "modelled_begin": 0.001,
    "modelled_end": 0.003,
}
JOB = {"set": 0, "rank": 1, "name": "copy to MRAM", "begin": 0.0, "end": 0.001}


def test_a_trace_has_jobs_tasklets_and_dma(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    parts = {"launches": [LAUNCH], "transfers": [], "events": [JOB], "lines": []}
    report.write_text(json.dumps(parts))
    assert trace.run([str(report)]) == 0
    events = json.loads(capsys.readouterr().out)["traceEvents"]
    (job,) = [event for event in events if event["ph"] == "X"]
    assert (job["name"], job["tid"], job["ts"], job["dur"]) == ("copy to MRAM", 1, 0.0, 1000.0)
    counted = [
        (event["name"], event["ts"], event["args"]["sum"]) for event in events if event["ph"] == "C"
    ]
    assert counted == [
        ("tasklets of DPUs (modelled)", 1000.0, 22),
        ("tasklets of DPUs (modelled)", 3000.0, 0),
        ("% of cycles in which DMA is busy (modelled)", 1000.0, 25.0),
        ("% of cycles in which DMA is busy (modelled)", 3000.0, 0),
    ]
