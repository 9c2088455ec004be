# SPDX-License-Identifier: Apache-2.0
"""NVIDIA GPUs as frozen data.

Sources of the numbers:

- [A] "NVIDIA A100 Tensor Core GPU Architecture" (whitepaper, V1.0, 2020), tables 1 and 4.
- [H] "NVIDIA H100 Tensor Core GPU Architecture" (whitepaper, V1.04, 2023), tables 2 and 3; the
  SXM5 board.
- [G] "NVIDIA Ampere GA102 GPU Architecture" (whitepaper, V2.1, 2021), table 2.
- [L] "NVIDIA Ada GPU Architecture" (whitepaper, V2.1, 2023), appendix A.
- [P] "CUDA C++ Programming Guide", appendix "Compute Capabilities", its table of technical
  specifications.
- [I] "Parallel Thread Execution ISA", chapter "Release Notes".
- [T] "CUDA C++ Programming Guide", chapter "Hardware Implementation".
- "assumption": chosen by this project; only the simulator's addresses depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
ACCESS_BYTES = 16
"""Maximum bytes of one load or store of a thread [I]."""
BUFFER_ALIGNMENT = 64
"""The alignment in bytes that kernels assume for all their buffers."""


@dataclass(frozen=True)
class GpuDescription:
    """One GPU. Sizes and addresses are in bytes, rates are per SM and cycle.

    Attributes:
        arch: the architecture that code is compiled for.
        board: the product that the numbers describe.
        capability: compute capability, major and minor [P].
        ptx: the first PTX version that supports the architecture [I].
        sms: streaming multiprocessors [A, H].
        clock_hz: boost clock [A, H].
        tensor_clock_hz: boost clock while tensor cores run [A, H].
        memory_bytes: global memory [A, H].
        memory_bytes_per_second: bandwidth of global memory [A, H].
        l2_bytes: size of the L2 cache [A, H].
        shared_bytes_sm: shared memory per SM [P].
        shared_bytes_block: maximum shared memory per block [P].
        tensor_macs: dense multiply-adds of the tensor cores, by element type of the operands; the
            peak rates of [A, H], divided by SMs and clock.
        core_macs: multiply-adds without tensor cores, likewise.
        registers_sm: 32-bit registers per SM [P].
        registers_thread: maximum registers per thread [P].
        warp_threads: threads per warp [T].
        threads_sm: maximum resident threads per SM [P].
        blocks_sm: maximum resident blocks per SM [P].
        max_block_threads: maximum threads per block [P].
        max_block: maximum size of a block in x, y and z [P].
        max_grid: maximum blocks of a grid in x, y and z [P].
        global_address: start address of the simulator's global memory (assumption).
        shared_address: address of a simulated block's shared memory (assumption).
    """

    arch: str
    board: str
    capability: tuple[int, int]
    ptx: str
    sms: int
    clock_hz: float
    tensor_clock_hz: float
    memory_bytes: int
    memory_bytes_per_second: float
    l2_bytes: int
    shared_bytes_sm: int
    shared_bytes_block: int
    tensor_macs: Mapping[str, float]
    core_macs: Mapping[str, float]
    registers_sm: int = 65536
    registers_thread: int = 255
    warp_threads: int = 32
    threads_sm: int = 2048
    blocks_sm: int = 32
    max_block_threads: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    global_address: int = 0x1_0000_0000
    shared_address: int = 0x4000_0000

    def peak_macs_per_second(self, dtype: str) -> float:
        """Peak multiply-adds per second, of the tensor cores if they support the type directly."""
        if dtype in self.tensor_macs:
            return self.tensor_macs[dtype] * self.sms * self.tensor_clock_hz
        rate = self.core_macs.get(dtype, self.core_macs["other"])
        return rate * self.sms * self.clock_hz


A100 = GpuDescription(
    arch="sm_80",
    board="A100 SXM4 40 GB",
    capability=(8, 0),
    ptx="ptx70",
    sms=108,
    clock_hz=1.41e9,
    tensor_clock_hz=1.41e9,
    memory_bytes=40 * GIB,
    memory_bytes_per_second=1555e9,
    l2_bytes=40 * MIB,
    shared_bytes_sm=164 * KIB,
    shared_bytes_block=163 * KIB,
    tensor_macs=MappingProxyType(
        {"float16": 1024, "bfloat16": 1024, "tfloat32": 512, "int8": 2048, "float64": 64}
    ),
    core_macs=MappingProxyType({"float32": 64, "other": 64}),
)

RTX3090 = GpuDescription(
    arch="sm_86",
    board="GeForce RTX 3090",
    capability=(8, 6),
    ptx="ptx71",
    sms=82,
    clock_hz=1.695e9,
    tensor_clock_hz=1.695e9,
    memory_bytes=24 * GIB,
    memory_bytes_per_second=936e9,
    l2_bytes=6 * MIB,
    shared_bytes_sm=100 * KIB,
    shared_bytes_block=99 * KIB,
    # [G] gives 71 TFLOPS for float16 with float32 accumulators, half of that for TF32, 284 TOPS
    # for int8.
    tensor_macs=MappingProxyType({"float16": 256, "bfloat16": 256, "tfloat32": 128, "int8": 1024}),
    core_macs=MappingProxyType({"float32": 128, "float64": 2, "other": 64}),
    threads_sm=1536,
    blocks_sm=16,
)

RTX4090 = GpuDescription(
    arch="sm_89",
    board="GeForce RTX 4090",
    capability=(8, 9),
    ptx="ptx78",
    sms=128,
    clock_hz=2.52e9,
    tensor_clock_hz=2.52e9,
    memory_bytes=24 * GIB,
    memory_bytes_per_second=1008e9,
    l2_bytes=72 * MIB,
    shared_bytes_sm=100 * KIB,
    shared_bytes_block=99 * KIB,
    # [L] gives 165.2 TFLOPS for float16 with float32 accumulators, half of that for TF32, 660.6
    # TOPS for int8.
    tensor_macs=MappingProxyType({"float16": 256, "bfloat16": 256, "tfloat32": 128, "int8": 1024}),
    core_macs=MappingProxyType({"float32": 128, "float64": 2, "other": 64}),
    threads_sm=1536,
    blocks_sm=24,
)

H100 = GpuDescription(
    arch="sm_90a",
    board="H100 SXM5 80 GB",
    capability=(9, 0),
    ptx="ptx80",
    sms=132,
    clock_hz=1.98e9,
    tensor_clock_hz=1.83e9,
    memory_bytes=80 * GIB,
    memory_bytes_per_second=3352e9,
    l2_bytes=50 * MIB,
    shared_bytes_sm=228 * KIB,
    shared_bytes_block=227 * KIB,
    tensor_macs=MappingProxyType(
        # [H] gives the float64 rate at the clock of the other units, 1.98 GHz: 128 multiply-adds.
        {"float16": 2048, "bfloat16": 2048, "tfloat32": 1024, "int8": 4096}
    ),
    core_macs=MappingProxyType({"float32": 128, "float64": 128, "other": 64}),
)

MACHINES: Mapping[str, GpuDescription] = MappingProxyType(
    {machine.arch: machine for machine in (A100, RTX3090, RTX4090, H100)}
)
"""All GPUs by the architecture that code is compiled for."""
