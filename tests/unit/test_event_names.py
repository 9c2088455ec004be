# SPDX-License-Identifier: Apache-2.0
"""Counters by raw numbers, by libpfm4's names, and those of devices."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.evaluate import event_names
from xtc.evaluate.event_names import check_names, event_of
from xtc.evaluate.perf_event import TYPE_RAW, Event


def test_a_raw_event_is_its_number() -> None:
    assert event_of("r01c2") == Event(TYPE_RAW, 0x1C2)
    check_names(["cycles", "r01c2", "rFF"])


@pytest.mark.parametrize("name", ["r", "r01g2", "r" + "0" * 17, "cycle"])
def test_other_names_are_unknown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_names, "_libpfm", lambda: None)
    event_of.cache_clear()
    with pytest.raises(UserError, match=f"unknown counter '{name}'") as refused:
        event_of(name)
    assert "need libpfm.so.4, which is not installed" in str(refused.value)


class _Library:
    """libpfm4 on a processor with one event."""

    def pfm_get_os_event_encoding(
        self, name: ctypes.c_char_p, level: int, system: int, wanted: Any
    ) -> int:
        assert (level, system) == (8, 1)
        if name.value != b"mem_load_retired.l1_miss":
            return -4
        attributes = wanted._obj.attr.contents
        attributes.type, attributes.config, attributes.config1 = TYPE_RAW, 0x8D1, 7
        return 0

    def pfm_strerror(self, code: int) -> bytes:
        assert code == -4
        return b"event not found"


def test_libpfm_names_events_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_names, "_libpfm", _Library)
    event_of.cache_clear()
    assert event_of("mem_load_retired.l1_miss") == Event(TYPE_RAW, 0x8D1, extra=(7, 0))
    with pytest.raises(UserError, match="libpfm: event not found"):
        event_of("mem_load_retired.l9_miss")
    event_of.cache_clear()


@pytest.mark.skipif(event_names._libpfm() is None, reason="libpfm4 is not here, or knows no PMU")
def test_the_installed_library_knows_events() -> None:
    assert event_of("perf::cpu-clock") == Event(1, 0)


@pytest.mark.slow
def test_counters_of_devices_cover_one_call() -> None:
    from xtc_targets.mppa import MppaDevice

    with MppaDevice() as mppa:
        a, b = O.tensor((4, 16)), O.tensor((16, 8), device=mppa)
        with O.graph(name="matmul") as builder:
            O.matmul(a, b, name="C", device=mppa)
        name = "mppa.LAUNCHES.cluster.sum.pe.sum"
        with xtc.compile(builder.graph, target=mppa) as module:
            found = module.measure(repeat=1, counters=[name, "task_clock"])
            with pytest.raises(UserError, match=r"mppa\.LUNCHES"):
                module.measure(repeat=1, counters=["mppa.LUNCHES.cluster.sum.pe.sum"])
    assert found.counters[name] >= 1
    assert set(found.counters) == {name, "task_clock"}
