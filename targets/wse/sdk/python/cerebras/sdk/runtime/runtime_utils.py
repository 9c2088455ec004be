# SPDX-License-Identifier: Apache-2.0
"""Helpers of SDK releases before 1.2, under the vendor's name."""

from xtc_targets.wse.sdk.port_maps import (
    convert_input_tensor,
    format_output_tensor,
    prepare_output_tensor,
)
from xtc_targets.wse.sdk.utils import input_array_to_u32, memcpy_view

__all__ = [
    "convert_input_tensor",
    "format_output_tensor",
    "input_array_to_u32",
    "memcpy_view",
    "prepare_output_tensor",
]
