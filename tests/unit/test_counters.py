# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import mmap
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from xtc.core.errors import UserError
from xtc.evaluate import counters as counters_module
from xtc.evaluate import perf_event
from xtc.evaluate.counter_names import COUNTERS
from xtc.evaluate.counters import Counters, CountersUnavailable, available_counters
from xtc.evaluate.perf_event import Event, Group, Reading


def open_descriptors() -> int:
    return psutil.Process().num_fds()


def work() -> None:
    """Compute, and write to untouched pages."""
    with mmap.mmap(-1, 8 << 20) as fresh:
        fresh.write(bytes(8 << 20))
    sum(range(100_000))


class FakeKernel:
    """Replaces the kernel: provides real descriptors and the test's counts."""

    def __init__(self, group_size: int = 100, refusals: dict[str, int] | None = None) -> None:
        self.group_size = group_size
        self.errors = {COUNTERS[name]: number for name, number in (refusals or {}).items()}
        self.members: dict[int, list[Event]] = {}
        self.threads: dict[int, int] = {}
        self.times = (100, 100)
        self.gone: set[int] = set()

    def open_event(self, event: Event, thread: int, leader: int = -1) -> int:
        if thread in self.gone:
            raise OSError(errno.ESRCH, "no such thread")
        if event in self.errors:
            raise OSError(self.errors[event], "refused")
        if leader >= 0 and len(self.members[leader]) >= self.group_size:
            raise OSError(errno.EINVAL, "group is full")
        descriptor = os.open(os.devnull, os.O_RDONLY)
        if leader < 0:
            self.members[descriptor] = []
        self.members[leader if leader >= 0 else descriptor].append(event)
        self.threads[descriptor] = thread
        return descriptor

    def read(self, group: Group) -> Reading:
        """Every event has occurred as often as its kernel number, plus one."""
        events = self.members[group.descriptors[0]]
        return Reading(tuple(event.config + 1 for event in events), *self.times)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(perf_event, "unsupported_reason", lambda: None)
        patch.setattr(perf_event, "open_event", self.open_event)
        patch.setattr(Group, "read", self.read_method())
        patch.setattr(Group, "enable", lambda group: None)
        patch.setattr(Group, "disable", lambda group: None)

    def read_method(self) -> object:
        return lambda group: self.read(group)


@pytest.fixture
def no_leak() -> Iterator[None]:
    before = open_descriptors()
    yield
    assert open_descriptors() == before


pytestmark = pytest.mark.usefixtures("no_leak")


@pytest.mark.parametrize("name", sorted(COUNTERS))
def test_each_counter_counts_or_gives_a_reason(name: str) -> None:
    reason = available_counters()[name]
    if reason is None:
        with Counters([name]) as counters:
            work()
        assert counters.values()[name] >= 0
        return
    assert f"'{name}' is not available" in reason
    with pytest.raises(CountersUnavailable) as caught:
        Counters([name]).__enter__()
    assert caught.value.what == reason
    if perf_event.unsupported_reason() is None:
        assert "errno" in reason
        assert "perf_event_paranoid is" in str(caught.value)
        assert caught.value.hints


@pytest.mark.parametrize("name", ["task_clock", "page_faults", "instructions"])
def test_basic_counters_count_or_give_a_reason(name: str) -> None:
    counters = Counters([name])
    if available_counters()[name] is not None:
        with pytest.raises(CountersUnavailable, match=name):
            counters.__enter__()
        return
    with counters:
        work()
        first = counters.values()[name]
        work()
    final = counters.values()
    assert final[name] > first > 0
    assert counters.values() == final


def test_reading_before_counting_is_refused() -> None:
    with pytest.raises(UserError, match="not counted yet"):
        Counters(["cycles"]).values()


def test_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UserError) as caught:
        Counters(["cycles", "branch_mises"])
    assert "unknown counter 'branch_mises'" in str(caught.value)
    assert "did you mean 'branch_misses'?" in str(caught.value)


@pytest.mark.parametrize(
    ("names", "text"), [([], "no counter is named"), (["cycles", "cycles"], "named twice")]
)
def test_invalid_lists_of_counters_are_refused(names: list[str], text: str) -> None:
    with pytest.raises(UserError, match=text):
        Counters(names)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_missing_permission_is_explained(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    FakeKernel(refusals={"instructions": number}).install(monkeypatch)
    monkeypatch.setattr(perf_event, "paranoid_level", lambda: "3")
    with pytest.raises(CountersUnavailable) as caught:
        Counters(["cycles", "instructions"]).__enter__()
    text = str(caught.value)
    assert "counter 'instructions' is not available: this process may not use it" in text
    assert f"errno {number}, {errno.errorcode[number]}" in text
    assert "perf_event_paranoid is 3" in text
    assert "sudo sysctl kernel.perf_event_paranoid=1" in text


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOENT, "virtual machine"),
        (errno.EOPNOTSUPP, "available_counters"),
        (errno.EMFILE, "ulimit -n"),
        (errno.ENOSYS, "CONFIG_PERF_EVENTS"),
        (errno.EBUSY, "perf_event_open"),
    ],
)
def test_other_refusals_give_advice(
    monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    FakeKernel(refusals={"cycles": number}).install(monkeypatch)
    with pytest.raises(CountersUnavailable, match=errno.errorcode[number]) as caught:
        Counters(["cycles"]).__enter__()
    assert advice in str(caught.value)
    available = available_counters()
    assert available["cycles"] is not None
    assert available["instructions"] is None


def test_other_operating_systems_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    with pytest.raises(CountersUnavailable, match="Linux kernel; this is Darwin"):
        Counters(["cycles"]).__enter__()
    assert all(available_counters().values())


def test_other_processors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "vax")
    with pytest.raises(CountersUnavailable, match="no system call number is known for vax"):
        Counters(["cycles"]).__enter__()


def test_more_events_than_the_hardware_takes_form_several_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = FakeKernel(group_size=2)
    kernel.install(monkeypatch)
    names = ["cycles", "task_clock", "instructions", "branches", "branch_misses", "cache_misses"]
    with Counters(names, all_threads=False) as counters:
        pass
    hardware = [COUNTERS[name] for name in names if name != "task_clock"]
    assert list(kernel.members.values()) == [
        hardware[:2],
        hardware[2:4],
        hardware[4:],
        [COUNTERS["task_clock"]],
    ]
    assert counters.values() == {name: COUNTERS[name].config + 1 for name in names}
    assert list(counters.values()) == names


def test_multiplexed_counts_are_scaled_and_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = FakeKernel()
    kernel.install(monkeypatch)
    kernel.times = (300, 100)
    with Counters(["instructions"], all_threads=False) as counters:
        pass
    assert counters.values() == {"instructions": 6}
    assert counters.estimated == ("instructions",)


def test_an_event_that_never_ran_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = FakeKernel()
    kernel.install(monkeypatch)
    kernel.times = (300, 0)
    with (
        pytest.raises(CountersUnavailable, match="the kernel never counted cycles"),
        Counters(["cycles"], all_threads=False),
    ):
        pass


def test_all_threads_are_summed_and_ended_ones_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = FakeKernel()
    kernel.install(monkeypatch)
    own = threading.get_native_id()
    monkeypatch.setattr(counters_module, "_thread_ids", lambda: [own, 11, 12, 13])
    kernel.gone = {12}
    with Counters(["instructions", "page_faults"]) as counters:
        pass
    assert counters.values() == {"instructions": 3 * 2, "page_faults": 3 * 3}
    assert set(kernel.threads.values()) == {own, 11, 13}


def test_thread_ids_include_a_running_thread() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        found = counters_module._thread_ids()
    finally:
        done.set()
        thread.join()
    assert threading.get_native_id() in found
    if perf_event.unsupported_reason() is None:
        assert thread.native_id in found


def test_nested_entry_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeKernel().install(monkeypatch)
    with (
        Counters(["cycles"]) as counters,
        pytest.raises(UserError, match="already count"),
    ):
        counters.__enter__()


def test_entering_again_restarts_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeKernel().install(monkeypatch)
    counters = Counters(["instructions"], all_threads=False)
    for _ in range(3):
        with counters:
            pass
        assert counters.values() == {"instructions": 2}


def test_an_error_in_the_block_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeKernel().install(monkeypatch)
    with pytest.raises(ZeroDivisionError), Counters(["cycles"]):
        _ = 1 / 0


def test_missing_paranoid_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(perf_event, "_PARANOID", tmp_path / "absent")
    assert perf_event.paranoid_level() == "absent"
