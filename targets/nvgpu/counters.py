# SPDX-License-Identifier: Apache-2.0
"""A GPU's counters by name, and modelled times derived from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xtc.core.errors import UserError, close_match
from xtc_targets.nvgpu.description import GpuDescription

MEMORY_SECONDS = "modelled.nvgpu.MEMORY_SECONDS"
TENSOR_SECONDS = "modelled.nvgpu.TENSOR_SECONDS"

BANKS = (
    *("nvgpu.SHARED_READ_CONFLICTS", "nvgpu.SHARED_WRITE_CONFLICTS"),
    *("nvgpu.LOADED_MATRIX_CONFLICTS", "nvgpu.STORED_MATRIX_CONFLICTS"),
    *("nvgpu.ASYNC_COPY_CONFLICTS", "nvgpu.UNGROUPED_ACCESSES"),
    *("nvgpu.GLOBAL_READ_REQUESTS", "nvgpu.GLOBAL_READ_SECTORS"),
    *("nvgpu.GLOBAL_WRITE_REQUESTS", "nvgpu.GLOBAL_WRITE_SECTORS"),
)
"""`GPU_BANK_EVENTS` of `csrc/gpu_block.h`, counted only with the option `sim_banks`."""

_TENSOR = {
    "nvgpu.MMA_F16": "float16",
    "nvgpu.MMA_BF16": "bfloat16",
    "nvgpu.MMA_TF32": "tfloat32",
    "nvgpu.MMA_S8": "int8",
    "nvgpu.MMA_F64": "float64",
    "nvgpu.WGMMA_F16": "float16",
    "nvgpu.WGMMA_BF16": "bfloat16",
    "nvgpu.WGMMA_E4M3": "int8",
    "nvgpu.WGMMA_E5M2": "int8",
    "nvgpu.WGMMA_TF32": "tfloat32",
    "nvgpu.WGMMA_S8": "int8",
    "nvgpu.WGMMA_U8": "int8",
}
"""Tensor-core events, and the type that gives their peak rate: 8-bit floats have the rate of
8-bit integers (NVIDIA, "H100 Tensor Core GPU Architecture")."""


class NvgpuCounters(Mapping[str, float]):
    """Counters named `nvgpu.<event>`, for the whole device.

    The simulator counts the accesses and instructions of kernels. Names that begin with `modelled.`
    are lower bounds, not predictions: the time of all global accesses at the memory bandwidth,
    without caches, and the time of all tensor-core multiply-adds at their peak rate. All other
    counters are exact.

    Args:
        raw: counts by name.
        machine: the GPU of the modelled times.
    """

    def __init__(self, raw: Mapping[str, int], machine: GpuDescription) -> None:
        self._values: dict[str, float] = {name: float(value) for name, value in raw.items()}
        if "nvgpu.GLOBAL_READ_BYTES" in raw:
            nbytes = raw["nvgpu.GLOBAL_READ_BYTES"] + raw["nvgpu.GLOBAL_WRITE_BYTES"]
            self._values[MEMORY_SECONDS] = nbytes / machine.memory_bytes_per_second
            self._values[TENSOR_SECONDS] = sum(
                raw[f"{name}_MACS"] / machine.peak_macs_per_second(dtype)
                for name, dtype in _TENSOR.items()
            )

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def get_checked(self, name: str) -> float:
        """A counter by name. Raises UserError, with the closest name, if it does not exist."""
        if name not in self:
            raise UserError(f"there is no counter '{name}'", hints=self.hints(name))
        return self[name]

    def hints(self, name: str) -> list[str]:
        """The option that enables a missing counter, or the closest name."""
        if name in BANKS:
            return ["NvgpuOptions(sim_banks=True) counts it on the simulator"]
        return close_match(name, self)
