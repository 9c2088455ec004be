# SPDX-License-Identifier: Apache-2.0
"""Sets of DPUs in Python: error codes, order of jobs, and FIFOs compared with a model."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from xtc_targets.upmem import UpmemDevice
from xtc_targets.upmem.dpu_context import DpuContext
from xtc_targets.upmem.dpu_library import DpuError
from xtc_targets.upmem.dpu_set import DpuSet
from xtc_targets.upmem.toolchain.clang import unavailable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(unavailable() is not None, reason=str(unavailable())),
]

PROGRAM = """
#include <barrier.h>
#include <defs.h>
#include <mram.h>
#include <mutex.h>
#include <stdint.h>
#include <wramfifo.h>

__host volatile uint64_t active = 1;
__host volatile uint64_t bias = 0;
__mram_noinit uint64_t table[512];
BARRIER_INIT(all, NR_TASKLETS);
MUTEX_INIT(mutex);
INPUT_FIFO_INIT(questions, 3, 8);
OUTPUT_FIFO_INIT(answers, 6, 16);

static void nothing(uint8_t *question, void *context) {}

static void answer(uint8_t *question, uint8_t *out, void *context)
{
    ((uint64_t *)out)[0] = *(uint64_t *)question;
    ((uint64_t *)out)[1] = 3 * *(uint64_t *)question + 1;
}

int main(void)
{
    process_inputs_all_tasklets(&questions, &answers, nothing, answer, 0, &all, &active);
    return 0;
}
"""


@pytest.fixture
def dpus() -> Iterator[DpuSet]:
    with DpuSet(2, profile="v1B", c_source=PROGRAM, tasklets=3) as found:
        yield found


def status_of(action: Any) -> int:
    with pytest.raises(DpuError) as raised:
        action()
    return raised.value.status


def test_error_codes(dpus: DpuSet) -> None:
    assert status_of(lambda: dpus.copy("absent", bytes(8))) == 29
    assert status_of(lambda: dpus.copy("bias", bytes(16))) == 11
    assert status_of(lambda: dpus.copy("bias", bytes(2))) == 8
    assert status_of(lambda: dpus.copy("table", bytes(4))) == 10
    assert status_of(lambda: dpus.copy("table", bytes(8), parallel=True)) == 14
    assert status_of(lambda: dpus.fifo("bias")) == 43
    assert status_of(lambda: dpus.load("no such file")) == 25
    assert status_of(lambda: DpuSet(3000)) == 4
    assert status_of(lambda: DpuSet(1, profile="v2")) == 28


def test_the_older_chip_has_no_fifos() -> None:
    with DpuSet(1, profile="v1A", c_source=PROGRAM, tasklets=3) as dpu:
        assert status_of(lambda: dpu.fifo("questions")) == 43
        assert status_of(lambda: dpu.copy("bias", bytes(8), parallel=True)) == 14


def test_too_many_tasklets_for_the_chip_are_refused() -> None:
    with DpuSet(1, profile="v1A", c_source=PROGRAM, tasklets=20) as dpu:
        assert len(dpu) == 1
    with DpuSet(1, profile="v1A", c_source=PROGRAM, tasklets=20) as large:
        large.free()


def test_a_parallel_copy_overlaps_with_a_program(dpus: DpuSet) -> None:
    dpus.exec(async_mode=True)
    dpus.copy("bias", struct.pack("<Q", 7), parallel=True)
    found = [bytearray(8), bytearray(8)]
    dpus.copy(found, "bias", parallel=True)
    assert [struct.unpack("<Q", data)[0] for data in found] == [7, 7]
    dpus.copy("active", bytes(8), parallel=True)
    dpus.sync()
    assert dpus.bias.uint64() == [7, 7]


def test_jobs_blocked_by_a_copy_to_mram_are_named(
    dpus: DpuSet, capfd: pytest.CaptureFixture[str]
) -> None:
    """The program waits for a parallel copy, which waits for a copy to MRAM, which waits for the
    program."""
    dpus.exec(async_mode=True)
    dpus.copy("table", bytes(8), async_mode=True)
    status = status_of(lambda: dpus.copy("active", bytes(8), parallel=True))
    assert status == 1 << 31 | 27  # of an asynchronous launch: timeout
    said = capfd.readouterr().err
    assert "asynchronous copy to MRAM, waits for the end of the program" in said


def test_a_full_fifo_is_an_error(dpus: DpuSet) -> None:
    with dpus.fifo("questions") as questions:
        for number in range(8):
            questions.push(number)
        assert status_of(lambda: questions.push(8)) == 15


def test_callbacks_run_in_order(dpus: DpuSet) -> None:
    seen: list[object] = []
    dpus.call(lambda ranks, number, arg: seen.append((number, arg)), "first")
    dpus.call(lambda ranks, number, arg: seen.append(ranks.bias.uint64()), single_call=True)
    dpus.call(lambda ranks, number, arg: seen.append(arg), "later", is_blocking=False)
    dpus.sync()
    assert seen == [(0, "first"), [0, 0], "later"]


COUNTS = """
#include <defs.h>
#include <mram.h>
#include <stdint.h>
__host uint64_t times;
__mram uint64_t total;
int main(void) { times++; total += 10; return 0; }
"""


def test_a_checkpoint_restores_memories_on_any_dpu() -> None:
    with DpuSet(2, c_source=COUNTS) as dpus, DpuSet(1, c_source=PROGRAM) as other:
        dpus.exec()
        kept = DpuContext.deserialize(dpus[0].checkpoint().serialize())
        dpus.exec()
        dpus[0].restore(kept)
        assert (dpus.times.uint64(), dpus.total.uint64()) == ([1, 2], [10, 20])
        dpus[1].restore(kept, mram=False)
        dpus.exec()
        assert (dpus.times.uint64(), dpus.total.uint64()) == ([2, 2], [20, 30])
        other.restore(kept)  # with its program
        other.exec()
        dpus[1].restore(other.checkpoint())
        assert (dpus.times.uint64(), dpus.total.uint64()) == ([2, 2], [20, 20])
        assert status_of(dpus.checkpoint) == 5
        assert status_of(lambda: DpuContext.deserialize(b"DPUCTX1" + bytes(20))) == 1
        assert status_of(lambda: DpuContext.deserialize(bytes(64))) == 1


def test_a_device_has_the_fifos_of_its_program() -> None:
    with UpmemDevice(tasklets=3) as device:
        program = device.load_program(c_source=PROGRAM)
        program.exec(async_mode=True)
        with device.fifo("questions") as questions, device.fifo("answers") as answers:
            questions.push(5)
            program.copy("active", bytes(8), parallel=True)
            program.sync()
            assert answers.pop_all() == [[struct.pack("<QQ", 5, 16)]]


class Fifos(RuleBasedStateMachine):
    """A model of the FIFOs, compared with a program that answers in order."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []
        self.answered: list[int] = []
        self.bias = 0

    @initialize(tasklets=st.sampled_from([1, 2, 5, 16]))
    def launch(self, tasklets: int) -> None:
        self.dpu = DpuSet(1, profile="v1B", c_source=PROGRAM, tasklets=tasklets)
        self.dpu.exec(async_mode=True)
        self.questions, self.answers = self.dpu.fifo("questions"), self.dpu.fifo("answers")

    @precondition(lambda self: len(self.asked) - len(self.answered) < 64)
    @rule(number=st.integers(0, 1 << 40))
    def push(self, number: int) -> None:
        self.questions.push(number)
        self.asked.append(number)

    @rule()
    def pop(self) -> None:
        for element in self.answers.pop_all()[0]:
            number, answer = struct.unpack("<QQ", element)
            assert (number, answer) == (self.asked[len(self.answered)], 3 * number + 1)
            self.answered.append(number)

    @rule(bias=st.integers(0, 1 << 60))
    def write(self, bias: int) -> None:
        self.dpu.copy("bias", struct.pack("<Q", bias), parallel=True)
        self.bias = bias

    @rule()
    def read(self) -> None:
        found = bytearray(8)
        self.dpu.copy(found, "bias", parallel=True)
        assert struct.unpack("<Q", found)[0] == self.bias

    @rule()
    def call_back(self) -> None:
        seen: list[int] = []
        self.dpu.call(lambda *_: seen.append(len(self.asked)), parallel=True)
        assert seen == [len(self.asked)]

    def teardown(self) -> None:
        if not hasattr(self, "answers"):
            return
        self.dpu.copy("active", bytes(8), parallel=True)
        self.dpu.sync()
        self.pop()
        assert self.answered == self.asked
        self.dpu.free()


ADDER = """
#include <defs.h>
#include <mram.h>
#include <stdint.h>

__host uint64_t bias = 0;
__mram_noinit uint64_t table[4];

int main(void)
{
    __dma_aligned uint64_t cache[4];
    if (me() != 0)
        return 0;
    mram_read(table, cache, sizeof cache);
    for (int i = 0; i < 4; i++)
        cache[i] += bias;
    mram_write(cache, table, sizeof cache);
    return 0;
}
"""
RANKS = 2


class Jobs(RuleBasedStateMachine):
    """Jobs of two ranks, with or without waits, compared with sequential execution."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = 0
        self.table = [0] * 4
        self.given: list[tuple[int, bool]] = []
        self.called: list[list[tuple[int, bool]]] = [[] for _ in range(RANKS)]

    @initialize()
    def allocate(self) -> None:
        self.dpus = DpuSet(65, profile="v1B", c_source=ADDER, tasklets=2, async_mode=True)
        self.dpus.copy("table", bytes(32))

    @rule(bias=st.integers(0, 1 << 40), waits=st.booleans())
    def write_wram(self, bias: int, waits: bool) -> None:
        self.dpus.copy("bias", struct.pack("<Q", bias), async_mode=not waits)
        self.bias = bias

    @rule(values=st.lists(st.integers(0, 1 << 40), min_size=4, max_size=4), waits=st.booleans())
    def write_mram(self, values: list[int], waits: bool) -> None:
        self.dpus.copy("table", struct.pack("<4Q", *values), async_mode=not waits)
        self.table = list(values)

    @rule(waits=st.booleans())
    def launch(self, waits: bool) -> None:
        self.dpus.exec(async_mode=not waits)
        self.table = [value + self.bias for value in self.table]

    @rule(blocks=st.booleans())
    def call_back(self, blocks: bool) -> None:
        number = (len(self.given), blocks)
        self.dpus.call(
            lambda _, rank, arg: self.called[rank].append(arg), number, is_blocking=blocks
        )
        self.given.append(number)

    @rule()
    def read(self) -> None:
        found = [bytearray(32) for _ in self.dpus]
        self.dpus.copy(found, "table", async_mode=False)
        expected = struct.pack("<4Q", *self.table)
        assert all(data == expected for data in found)

    @rule()
    def wait(self) -> None:
        self.dpus.sync()
        for called in self.called:
            assert sorted(called) == self.given
            in_order = [number for number, blocks in called if blocks]
            assert in_order == sorted(in_order)

    def teardown(self) -> None:
        if hasattr(self, "dpus"):
            self.read()
            self.wait()
            self.dpus.free()


STEPS = settings(
    max_examples=max(13, settings().max_examples // 10), stateful_step_count=40, deadline=None
)
TestFifos, TestJobs = Fifos.TestCase, Jobs.TestCase
TestFifos.settings = TestJobs.settings = STEPS
