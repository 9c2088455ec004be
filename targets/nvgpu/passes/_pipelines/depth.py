# SPDX-License-Identifier: Apache-2.0
"""The depth of pipelines of copies."""

IN_FLIGHT = 40 << 10
"""Bytes in flight per SM that hide the latency of memory: about 1 us at 1/132 of 4.8 TB/s."""

MOST_SLOTS = 12
"""So that small tiles reach `IN_FLIGHT`, too."""
