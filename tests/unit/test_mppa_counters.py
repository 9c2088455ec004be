# SPDX-License-Identifier: Apache-2.0
"""Counters and modelled times of the simulated MPPA, compared with figures computed by hand."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.unit.mppa_support import Kernels, opened
from xtc.core.errors import DeviceNotFound, UserError
from xtc_targets.mppa.description import COOLIDGE_V1, COOLIDGE_V2
from xtc_targets.mppa.device import MppaDevice
from xtc_targets.mppa.options import MppaOptions

CLUSTERS, PES = 5, 16

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def kernels() -> Iterator[Kernels]:
    with opened() as device:
        yield device


def test_events_are_counted_exactly() -> None:
    with opened() as kernels:
        device = kernels.device
        tiles = [device.zeros(n, np.float32) for n in (80 * 64, 64 * 64, 80 * 64)]
        device.launch(kernels.matmul, tiles)
        device.launch(kernels.counts)
        tiles[0].numpy()
        counters = device.counters()
        expected = {
            "mppa.LAUNCHES.cluster.0.pe.0": 2,
            "mppa.LAUNCHES.cluster.sum.pe.sum": 2 * CLUSTERS,
            "mppa.FORKS.cluster.sum.pe.sum": CLUSTERS,
            "mppa.PE_RUNS.cluster.3.pe.7": 1,
            "mppa.PE_RUNS.cluster.sum.pe.sum": CLUSTERS * PES,
            "mppa.DMA_GET_OPS.cluster.max.pe.sum": 2,
            "mppa.DMA_GET_BYTES.cluster.1.pe.0": (16 + 64) * 256,
            "mppa.DMA_PUT_OPS.cluster.min.pe.sum": 1,
            "mppa.DMA_PUT_BYTES.cluster.sum.pe.sum": 80 * 256,
            "mppa.MACS_F32.cluster.4.pe.15": 64 * 64,
            "mppa.MACS_F32.cluster.avg.pe.avg": 64 * 64,
            "mppa.MACS_F16.cluster.2.pe.sum": 3,
            "mppa.MACS_I8.cluster.2.pe.0": 5,
            "mppa.MACS_OTHER.cluster.2.pe.1": 0,
            "mppa.MACS_OTHER.cluster.sum.pe.avg": CLUSTERS * 7 / PES,
            "mppa.FENCES.cluster.sum.pe.max": CLUSTERS,
            "mppa.D2H_BYTES": 80 * 256,
            "mppa.D2H_COPIES": 1,
            "mppa.H2D_BYTES": 0,
        }
        assert {name: counters[name] for name in expected} == expected


def test_counters_are_a_mapping() -> None:
    with opened(clusters=2, pes=3) as kernels:
        counters = kernels.device.counters()
    assert len(list(counters)) == len(counters) == len(set(counters))
    assert all(counters[name] >= 0 for name in counters)
    assert "mppa.FORKS.cluster.1.pe.2" in counters
    for unknown in ("mppa.FORKS.cluster.2.pe.0", "mppa.FORKS.cluster.0.pe.x", "x", "mppa.FORKS"):
        assert unknown not in counters
        with pytest.raises(UserError, match="there is no counter"):
            counters.get_checked(unknown)


@pytest.mark.parametrize("overlap", [False, True])
def test_modelled_cycles_follow_the_description(overlap: bool) -> None:
    machine, nbytes, macs = COOLIDGE_V2, 1 << 16, 40_000
    with opened() as kernels:
        array = kernels.device.zeros(nbytes, "int8")
        kernels.device.launch(kernels.pipeline, [array, nbytes, macs, overlap])
        counters = kernels.device.counters()
    ddr_share = machine.ddr_bytes_per_second / machine.clock_hz / CLUSTERS
    moving = max(nbytes / machine.dma_word_bytes, nbytes / ddr_share)
    fork = machine.fork_cycles + machine.pe_cycles + macs / machine.macs_per_cycle["float32"]
    issue, latency = machine.dma_issue_cycles, machine.ddr_latency
    first = machine.launch_cycles + issue + moving + latency  # when the first transfer has arrived
    if overlap:  # the second one runs during computation on the first
        second = machine.launch_cycles + issue + 2 * moving + latency
        expected = max(first + fork, second) + fork
    else:
        expected = first + fork + issue + moving + latency + fork
    assert counters["modelled.mppa.PCC.cluster.3.pe.9"] == round(expected)
    assert counters["modelled.mppa.CYCLES"] == round(expected)
    assert counters["modelled.mppa.SECONDS"] == round(expected) / machine.clock_hz
    assert counters["modelled.mppa.DMA_BUSY.cluster.0.pe.0"] == 2 * round(moving)
    assert counters["modelled.mppa.PE_BUSY.cluster.0.pe.5"] == 2 * (5000 + 46)


def test_the_peak_is_that_of_the_description() -> None:
    with (
        MppaDevice(MppaOptions(arch="kv3-1")) as first,
        MppaDevice(MppaOptions(clusters=1)) as second,
    ):
        assert first.peak_flops("float32") == pytest.approx(0.768e12)
        assert first.peak_flops("int8") == pytest.approx(24.576e12)
        assert second.peak_flops("float16") == pytest.approx(2 * 128 * 16 * 1.2e9)
        assert second.peak_flops("float64") == pytest.approx(2 * 16 * 1.2e9)
        with pytest.raises(UserError, match="unknown element type"):
            second.peak_flops("float7")


def test_every_number_of_the_description_has_a_source() -> None:
    text = type(COOLIDGE_V1).__doc__ or ""
    described = text[text.index("Attributes:") :]
    for field in dataclasses.fields(COOLIDGE_V1):
        if field.name in ("arch", "macs_per_cycle"):
            continue
        entry = described[described.index(f"{field.name}: ") :].split("\n        ")
        lines = [entry[0], *(line for line in entry[1:] if line.startswith("    "))]
        joined = " ".join(lines)
        assert any(mark in joined for mark in ("[B", "[S", "[M", "[L", "[G", "assumption")) or (
            "LeMagIT" in joined
        ), field.name


def test_the_trace_shows_modelled_time(tmp_path: Path) -> None:
    config = MppaOptions(trace=True, work_dir=tmp_path, clusters=2)
    with MppaDevice(config) as device:
        kernels = Kernels(device)
        array = device.zeros(128, "int8")
        for _ in range(2):
            device.launch(kernels.pipeline, [array, 64, 100, 1])
        cycles = device.counters()["modelled.mppa.CYCLES"]
        assert device.trace_file == tmp_path / "mppa0.trace.json"
        text = device.trace_file.read_text()
    events = [entry for entry in json.loads(text.rstrip(",\n") + "]") if entry["ph"] == "X"]
    kernel_events = [event for event in events if event["name"] == "pipeline"]
    assert [(event["pid"], event["ts"]) for event in kernel_events] == [
        (0, 0),
        (1, 0),
        (0, cycles / 2),
        (1, cycles / 2),
    ]
    assert {event["name"] for event in events} == {"pipeline", "transfer", "wait", "PE"}
    assert sum(event["name"] == "PE" for event in events) == 2 * 2 * 2 * 16


def test_without_a_trace_there_is_no_file(kernels: Kernels) -> None:
    assert kernels.device.trace_file is None


def test_a_trace_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    config = MppaOptions(trace=True, work_dir=tmp_path / "missing")
    with pytest.raises(DeviceNotFound, match="trace file cannot be written"):
        MppaDevice(config).init_device()
