# SPDX-License-Identifier: Apache-2.0
"""Structures and numbers that the driver of a GPU exchanges with libcuda are those of cuda.h."""

from __future__ import annotations

from pathlib import Path

from xtc.runtime.native import CSRC, NativeUnit, compile_unit
from xtc_targets.nvgpu.simulator import OWN_CSRC
from xtc_targets.nvgpu.tensor_maps import _PROMOTION, _SWIZZLES, MAP_TYPES

DATA_TYPES = (
    *("UINT8", "UINT16", "UINT32", "INT32", "UINT64", "INT64"),
    *("FLOAT16", "FLOAT32", "FLOAT64", "BFLOAT16", "FLOAT32_FTZ", "TFLOAT32"),
)
"""CU_TENSOR_MAP_DATA_TYPE_..., numbered from 0."""

SWIZZLES = ("NONE", "32B", "64B", "128B")  # CU_TENSOR_MAP_SWIZZLE_...
PROMOTIONS = ("NONE", "L2_64B", "L2_128B", "L2_256B")  # CU_TENSOR_MAP_L2_PROMOTION_...


def test_structures_and_numbers_are_those_of_the_header(tmp_path: Path) -> None:
    source = Path(__file__).parent / "nvgpu_abi.c"
    compile_unit(NativeUnit("abi.so", "library", (source,), (OWN_CSRC, CSRC)), tmp_path)


def test_tensor_maps_have_the_numbers_of_the_header() -> None:
    names = {name: DATA_TYPES[number] for name, number in MAP_TYPES.items()}
    assert names == {
        "i8": "UINT8",
        "i16": "UINT16",
        "i32": "INT32",
        "i64": "INT64",
        "f16": "FLOAT16",
        "f32": "FLOAT32",
        "f64": "FLOAT64",
        "bf16": "BFLOAT16",
        "tf32": "TFLOAT32",
    }
    spans = {span: SWIZZLES[number] for span, number in _SWIZZLES.items()}
    assert spans == {0: "NONE", 32: "32B", 64: "64B", 128: "128B"}
    assert PROMOTIONS[_PROMOTION] == "L2_256B"
