# SPDX-License-Identifier: Apache-2.0
"""The debugger under the vendor's name."""

from xtc_targets.wse.sdk.debug import debug_util

__all__ = ["debug_util"]
