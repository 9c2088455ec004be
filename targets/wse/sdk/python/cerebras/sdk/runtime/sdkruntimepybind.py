# SPDX-License-Identifier: Apache-2.0
"""The runtime under the vendor's name."""

from xtc_targets.wse.sdk.runtime import MemcpyDataType, MemcpyOrder, SdkRuntime
from xtc_targets.wse.sdk.task import Task

__all__ = ["MemcpyDataType", "MemcpyOrder", "SdkRuntime", "Task"]
