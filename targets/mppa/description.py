# SPDX-License-Identifier: Apache-2.0
"""Kalray's MPPA3 Coolidge as frozen data.

Sources of the numbers:

- [B] Dupont de Dinechin in "Multi-Processor System-on-Chip 1", section 2.3.
- [S] github.com/kalray/shim-model, `kv3/coolidge-base-model.xml` (the vendor's model of version 1).
- [M] the vendor's reference cards and optimization guides of kv3-1 and kv3-2: mnemonics of
  multiply-add instructions, one issued per cycle.
- [L] github.com/kalray/linux, `drivers/dma/kvx/`: the DMA's microprograms and limits.
- [G] github.com/kalray/gcc, `libgomp/plugin/plugin-kvx.c`: the behavior of the vendor's offloading
  runtime.
- "assumption": no public source was found. The number is ours, and cycles modelled with it are only
  a guide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class CoolidgeDescription:
    """One version of the machine. Sizes and addresses are in bytes, costs in cycles.

    Attributes:
        arch: the vendor's name of the version.
        clusters: compute clusters [B].
        pes: processing elements of a cluster, in addition to one resource manager [B].
        smem_bytes: on-chip memory of a cluster [B].
        smem_reserved_bytes: SMEM that the vendor's runtime, its stacks and the L2 cache use
            (assumption).
        smem_banks: number of SMEM banks [B].
        smem_bank_bytes_per_cycle: bandwidth of a bank [S].
        smem_address: address of the first cluster's SMEM [S].
        smem_stride: distance between the SMEM addresses of consecutive clusters [S].
        smem_latency: latency of a PE's load from the SMEM of its cluster [S].
        remote_smem_latency: latency of a load from another cluster [S, attribution to this level
            ours].
        ddr_address: start address of the main memory [S].
        ddr_latency: latency of a load from main memory [S, attribution ours].
        ddr_bytes_per_second: 2 channels of 64 bits [B] of DDR4-3200 (assumption).
        clock_hz: the highest clock announced (LeMagIT, 2020); [S] has 0.8 and 1.0 GHz.
        l1_bytes: data cache of a PE, write-through, coherent within a cluster [B].
        line_bytes: line size of that cache (assumption).
        load_bytes_per_cycle: load bandwidth of a PE [M].
        register_bits: width of the registers of a PE's coprocessor, which has 48 of 256 bits [M].
        macs_per_cycle: multiply-adds of a PE, by element type of operands; see `COOLIDGE_V1`.
        dma_word_bytes: bytes that a DMA thread copies per cycle; the remainder of a row is copied
            byte by byte [L: the loops of `mppa_dma_mem2mem_stride2stride`; one iteration per cycle
            is an assumption].
        dma_alignment: alignment of addresses, strides and row sizes; the DMA copies single bytes
            [L].
        dma_in_flight: most transfers of a cluster in flight (KVX_DMA_MAX_REQUESTS of [L]).
        dma_issue_cycles: cost of writing a descriptor of ten words (`kvx_dma_tx_job_desc` of [L])
            to the DMA's registers (assumption).
        launch_cycles: time from the host's request to a kernel's first instruction (assumption).
        fork_cycles: cost of starting and joining 16 PEs: one store each, and one round trip to SMEM
            at both ends (assumption).
        pe_cycles: cost for a PE to fetch its function and argument: two loads from SMEM
            (assumption).
        allocation_alignment: alignment of an allocation in DDR (MPPA_GOMP_DEFAULT_BUFFER_ALIGN of
            [G]).
    """

    arch: str
    macs_per_cycle: Mapping[str, float]
    clusters: int = 5
    pes: int = 16
    smem_bytes: int = 4 * MIB
    smem_reserved_bytes: int = 256 * KIB
    smem_banks: int = 16
    smem_bank_bytes_per_cycle: int = 32
    smem_address: int = 0x0100_0000
    smem_stride: int = 0x0100_0000
    smem_latency: int = 23
    remote_smem_latency: int = 69
    ddr_address: int = 0x1_0000_0000
    ddr_latency: int = 200
    ddr_bytes_per_second: float = 2 * 8 * 3.2e9
    clock_hz: float = 1.2e9
    l1_bytes: int = 16 * KIB
    line_bytes: int = 64
    load_bytes_per_cycle: int = 32
    register_bits: int = 48 * 256
    dma_word_bytes: int = 16
    dma_alignment: int = 1
    dma_in_flight: int = 127
    dma_issue_cycles: float = 50
    launch_cycles: float = 1000
    fork_cycles: float = 2 * (16 + 2 * 23)
    pe_cycles: float = 2 * 23
    allocation_alignment: int = 64

    @property
    def smem_usable_bytes(self) -> int:
        """SMEM of a cluster that a kernel's buffers may use."""
        return self.smem_bytes - self.smem_reserved_bytes

    @property
    def ddr_line_cycles(self) -> float:
        """Cycles that a PE waits for a line of DDR: the latency, each time (assumption)."""
        return float(self.ddr_latency)

    def peak_macs_per_second(self, dtype: str, clusters: int, pes: int, clock_hz: float) -> float:
        """Peak multiply-adds per second of these PEs, modelled."""
        return self.rate(dtype) * clusters * pes * clock_hz

    def rate(self, dtype: str) -> float:
        """Multiply-adds of a PE per cycle; a type without a vector instruction is scalar."""
        return self.macs_per_cycle.get(dtype, self.macs_per_cycle["other"])


COOLIDGE_V1 = CoolidgeDescription(
    arch="kv3-1",
    macs_per_cycle=MappingProxyType(
        {
            "float32": 4,  # fmma212w [M]
            "float16": 16,  # fmma242hw, accumulated in float32 [M]
            "int8": 128,  # xmma484bw, accumulated in 32 bits [M]
            "other": 1,  # a scalar multiply-add per cycle (assumption)
        }
    ),
)

COOLIDGE_V2 = CoolidgeDescription(
    arch="kv3-2",
    macs_per_cycle=MappingProxyType(
        {
            "float32": 8,  # fmma222w [M]
            "float16": 128,  # xfmma484hw, accumulated in float32 [M]
            "int8": 256,  # xmma4164bw, accumulated in 32 bits [M]
            "other": 1,  # a scalar multiply-add per cycle (assumption)
        }
    ),
)

MACHINES: Mapping[str, CoolidgeDescription] = MappingProxyType(
    {machine.arch: machine for machine in (COOLIDGE_V1, COOLIDGE_V2)}
)
"""All versions by name."""
