# SPDX-License-Identifier: Apache-2.0
"""Faults on the simulated GPU are detected and located by block and thread; races show."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.unit.nvgpu_support import Kernels, image, opened
from xtc.core.errors import DeviceFault, DeviceLost, DeviceTimeout
from xtc_targets.nvgpu.description import A100, H100
from xtc_targets.nvgpu.device import NvgpuDevice

SHARED = H100.shared_address

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def kernels() -> Iterator[Kernels]:
    with opened() as device:
        yield device


@pytest.mark.parametrize(
    ("kind", "what", "offset"),
    [
        (0, "read of 4 bytes outside an allocation in global memory at {0:#x}", 64),
        (1, "write of 4 bytes outside an allocation in global memory at {0:#x}", -4),
        (2, "misaligned read of 4 bytes at {0:#x}", 2),
        (3, "misaligned write of 16 bytes at {0:#x}", 8),
        (
            4,
            f"read of 4 bytes outside the block's 128 bytes of shared memory at {SHARED + 128:#x}",
            0,
        ),
        (5, f"misaligned write of 8 bytes at {SHARED + 124:#x}", 0),
        (6, "read of 4 bytes outside an allocation in global memory", 0),
        (7, "read of 12 bytes, which is not 1, 2, 4, 8 or 16", 0),
        (8, f"misaligned asynchronous copy of 16 bytes at {SHARED + 8:#x}", 0),
        (9, "asynchronous copy of 16 bytes outside shared memory at {0:#x}", 0),
        (10, "asynchronous copy of 16 bytes outside an allocation in global memory at {0:#x}", 64),
        (11, "asynchronous copy of 16 bytes, 17 of which are copied", 0),
        (12, f"misaligned cuda_load_matrix of 16 bytes at {SHARED + 8:#x}", 0),
        (13, "cuda_load_matrix of 16 bytes outside the block's 128 bytes of shared memory", 0),
        (14, r"access to unmapped memory \(SIGSEGV\) at 0x10", 0),
        (15, r"access to unmapped memory \(SIGSEGV\) at 0x", 0),
        (16, "misaligned read of 8 bytes at {0:#x}", 60),
        (30, r"arithmetic exception .* \(SIGFPE\) at 0x", 0),
        (31, r"illegal instruction \(SIGILL\) at 0x|trap instruction \(SIGTRAP\)", 0),
        (32, r"call of abort \(SIGABRT\)", 0),
        (33, "it ended the process", 0),
        (34, "cuda_launch called by a thread", 0),
        (35, "barrier 16: a block has barriers 0 to 15", 0),
        (36, "barrier 1 for 33 threads, which is not a multiple of 32 up to 1024", 0),
        (37, "cuda_barrier_arrive needs the number of threads", 0),
        (38, "cuda_warp_sync with the lane mask 0x1, which lacks its own lane", 0),
        (39, "cuda_shuffle of the unknown mode 4", 0),
        (40, "cuda_mma of the unknown kind 99", 0),
    ],
)
def test_a_fault_names_kernel_location_and_address(
    kernels: Kernels, kind: int, what: str, offset: int
) -> None:
    address = kernels.device.memory_allocate(64)
    where = r"^nvgpu0: kernel 'faults' in block \(1, 0, 0\), thread \(5, 1, 0\): "
    with pytest.raises(
        DeviceFault, match=f"{where}(?:{what})".replace("{0:#x}", hex(address + offset))
    ):
        kernels.device.launch(kernels.faults, [address, kind])
    with pytest.raises(DeviceLost, match=r"^nvgpu0: the device has stopped: kernel 'faults' in"):
        kernels.device.memory_allocate(1)
    kernels.device.init_device()
    assert kernels.device.array(np.arange(3)).numpy().tolist() == [0, 1, 2]


def test_access_to_freed_memory_is_a_fault(kernels: Kernels) -> None:
    address = kernels.device.memory_allocate(64)
    kernels.device.memory_free(address)
    with pytest.raises(DeviceFault, match=rf"'add' in block \(0, 0, 0\), .* at {address:#x}"):
        kernels.device.launch(kernels.add, [address, address, address, 1])


def test_an_index_past_the_end_is_located(kernels: Kernels) -> None:
    arrays = [kernels.device.zeros(200, "float32") for _ in range(3)]
    where = r"in block \(3, 0, 0\), thread \(8, 0, 0\): read of 4 bytes outside"
    with pytest.raises(DeviceFault, match=where):
        kernels.device.launch(kernels.add, [*arrays, 201])


@pytest.mark.parametrize(
    ("kind", "place", "what"),
    [
        (0, 0, "deadlock: barrier 0 waits for 64 threads, of which 32 have arrived; 32 threads of"),
        (1, 16, "divergence at barrier 2: lane 0 of the warp is at barrier 1"),
        (2, 16, "divergence: this lane ended, and lane 0 of the warp is at cuda_load_matrix"),
        (3, 16, "divergence at a barrier: lane 0 of the warp is at cuda_load_matrix"),
        (4, 16, "divergence at cuda_load_matrix: lane 0 of the warp is at another variant of it"),
        (5, 16, "divergence at cuda_ballot: lane 0 of the warp is at cuda_warp_sync"),
        (6, 16, "cuda_warp_sync with the lane mask 0xffffffff, at which lane 0 waits with 0x1ffff"),
        (7, 32, "barrier 1 for 32 threads, at which others wait for 64"),
        (8, 16, "divergence at a barrier: lane 0 of the warp is at cuda_warp_sync"),
        (9, 31, "divergence at cuda_load_matrix: lane 0 of the warp has ended"),
        (10, 0, "deadlock: barrier 1 waits for 64 threads, of which 32 have arrived; 0 threads of"),
    ],
)
def test_divergent_barriers_are_reported(
    kernels: Kernels, kind: int, place: int, what: str
) -> None:
    where = rf"^nvgpu0: kernel 'apart' in block \(0, 0, 0\), thread \({place}, 0, 0\): "
    with pytest.raises(DeviceFault, match=where + what):
        kernels.device.launch(kernels.apart, [0, kind])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", range(11))
def test_no_order_hides_divergent_barriers(kind: int, seed: int) -> None:
    told = pytest.raises(DeviceFault, match=r"divergence|deadlock|mask|at which others")
    with opened(sim_schedule="shuffled", seed=seed) as kernels, told:
        kernels.device.launch(kernels.apart, [0, kind])


def test_warp_collectives_require_a_whole_warp(kernels: Kernels) -> None:
    with pytest.raises(DeviceFault, match="cuda_mma in a warp of 16 threads"):
        kernels.device.launch(kernels.narrow_mma)


def test_device_calls_outside_of_a_thread_are_faults(kernels: Kernels) -> None:
    with pytest.raises(DeviceFault, match=r"^nvgpu0: kernel 'no_thread': cuda_barrier_sync called"):
        kernels.device.launch(kernels.no_thread)


@pytest.mark.parametrize(
    ("shape", "what"),
    [
        ((0, 1, 1, 1, 1, 1, 0), "a grid of size 0 in x: 1 to 2147483647 are allowed"),
        ((1, 65536, 1, 1, 1, 1, 0), "a grid of size 65536 in y: 1 to 65535 are allowed"),
        ((1, 1, 1, 1, 1, 65, 0), "a block of size 65 in z: 1 to 64 are allowed"),
        ((1, 1, 1, 1025, 1, 1, 0), "a block of size 1025 in x: 1 to 1024 are allowed"),
        ((1, 1, 1, 64, 32, 1, 0), "a block of 2048 threads: 1024 are the limit"),
        (
            (1, 1, 1, 1, 1, 1, A100.shared_bytes_block + 1),
            f"{A100.shared_bytes_block + 1} bytes of shared memory: a block has",
        ),
    ],
)
def test_a_grid_that_the_machine_cannot_run_is_refused(shape: tuple[int, ...], what: str) -> None:
    with opened(arch="sm_80") as kernels, pytest.raises(DeviceFault, match=what):
        kernels.device.launch(kernels.shaped, shape)


def test_limits_follow_the_description() -> None:
    machine = dataclasses.replace(H100, shared_bytes_block=256, max_block_threads=32)
    with NvgpuDevice(machine=machine) as device:
        kernels = Kernels(device)
        device.launch(kernels.shaped, [1, 1, 1, 32, 1, 1, 256])
        with pytest.raises(DeviceFault, match="a block of 33 threads: 32 are the limit"):
            device.launch(kernels.shaped, [1, 1, 1, 33, 1, 1, 0])


def reversed_by(kernels: Kernels) -> np.ndarray:
    a = np.arange(512, dtype=np.float32)
    out = kernels.device.zeros(512, "float32")
    kernels.device.launch(kernels.reverse, [kernels.device.array(a), out])
    right: np.ndarray = out.numpy() == a.reshape(2, 256)[:, ::-1].ravel()
    return right


@pytest.mark.parametrize("seed", range(3))
def test_a_removed_barrier_is_detected(seed: int) -> None:
    with opened(image("nvgpu_kernels", "MISSING_BARRIER"), sim_schedule="shuffled", seed=seed) as k:
        assert not reversed_by(k).all()
    with opened(sim_schedule="shuffled", seed=seed) as k:
        assert reversed_by(k).all()


def chain(kernels: Kernels) -> list[float]:
    out = kernels.device.zeros(64, "float32")
    kernels.device.launch(kernels.chain, [out])
    return [float(value) for value in out.numpy()]


def test_shuffled_order_exposes_races() -> None:
    right = [float(number) for number in range(1, 65)]
    with opened() as kernels:
        assert chain(kernels) == right
    for seed in range(3):
        with opened(sim_schedule="shuffled", seed=seed) as kernels:
            assert chain(kernels) != right


@pytest.mark.parametrize("schedule", ["sequential", "shuffled"])
def test_a_removed_wait_for_copies_is_detected(schedule: str) -> None:
    code = image("nvgpu_kernels", "MISSING_COPY_WAIT")
    with opened(code, sim_schedule=schedule) as kernels:
        device = kernels.device
        out = device.zeros(512, "float32")
        device.launch(kernels.copy_async, [device.array(np.zeros(512, np.float32)), out])
        assert np.isnan(out.numpy()).any()
        ones = [device.array(np.ones(n, np.float16)) for n in (32 * 64, 64 * 16)]
        product = device.zeros((32, 16), "float32")
        device.launch(kernels.matmul_f16, [*ones, product])
        assert np.isnan(product.numpy()).all()


def test_a_removed_arrival_is_a_deadlock() -> None:
    with opened(image("nvgpu_kernels", "MISSING_ARRIVE")) as kernels:
        arrays = [kernels.device.zeros(128, "float32") for _ in range(2)]
        with pytest.raises(DeviceFault, match=r"'pipeline' .*deadlock: barrier \d waits for 64"):
            kernels.device.launch(kernels.pipeline, arrays)


def test_a_deadlock_has_a_report_of_every_thread(kernels: Kernels) -> None:
    with pytest.raises(DeviceFault, match="deadlock: barrier 0 waits for 64 threads") as failure:
        kernels.device.launch(kernels.apart, [0, 0])
    (note,) = failure.value.notes
    report = Path(note.removeprefix("the full report: "))
    lines = report.read_text().splitlines()
    assert lines[0] == "block (0, 0, 0) of 64 threads"
    assert lines[1:] == [
        f"thread ({i}, 0, 0): {'waits at barrier 0' if i < 32 else 'has ended'}" for i in range(64)
    ]


def test_fresh_memory_holds_poison(kernels: Kernels) -> None:
    assert np.isnan(kernels.device.empty(100, "float32").numpy()).all()
    out = kernels.device.zeros(3, "float32")
    kernels.device.launch(kernels.shared_at_start, [out])
    assert np.isnan(out.numpy()).all()


def order_of(kernels: Kernels, name: str, count: int) -> list[int]:
    out = kernels.device.zeros(count + 1, "int32")
    kernels.device.launch(getattr(kernels, name), [out])
    return [int(word) for word in out.numpy()[1:]]


def test_shuffled_orders_are_permutations_that_depend_only_on_the_seed() -> None:
    seen = []
    for seed in (0, 1, 1):
        with opened(sim_schedule="shuffled", seed=seed) as kernels:
            orders = [order_of(kernels, "thread_order", 96) for _ in range(2)]
            blocks = [order_of(kernels, "block_order", 6) for _ in range(4)]
        assert all(sorted(order) == list(range(96)) for order in orders)
        assert all(sorted(order) == list(range(6)) for order in blocks)
        assert orders[0] != orders[1]
        assert len({tuple(order) for order in blocks}) > 1
        seen.append((orders, blocks))
    assert seen[0] != seen[1] == seen[2]


def test_the_default_order_is_numerical(kernels: Kernels) -> None:
    assert order_of(kernels, "thread_order", 96) == list(range(96))
    assert order_of(kernels, "block_order", 6) == list(range(6))


def test_an_endless_kernel_is_stopped() -> None:
    with opened(timeout_s=0.2) as kernels:
        address = kernels.device.memory_allocate(64)
        where = r"in block \(1, 0, 0\), thread \(5, 1, 0\): it ran for more than 0\.2 s"
        with pytest.raises(DeviceTimeout, match=where):
            kernels.device.launch(kernels.faults, [address, 41])
        kernels.device.init_device()
        kernels.device.launch(Kernels(kernels.device).empty)
