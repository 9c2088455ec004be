# SPDX-License-Identifier: Apache-2.0
"""Memory orders and data types of copies, under another of the vendor's names."""

from xtc_targets.wse.sdk.runtime import MemcpyDataType, MemcpyOrder

__all__ = ["MemcpyDataType", "MemcpyOrder"]
