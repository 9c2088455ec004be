# SPDX-License-Identifier: Apache-2.0
"""The helpers under the vendor's name."""

from xtc_targets.wse.sdk.utils import (
    calculate_cycles,
    input_array_to_u32,
    make_u48,
    memcpy_view,
)

__all__ = ["calculate_cycles", "input_array_to_u32", "make_u48", "memcpy_view"]
