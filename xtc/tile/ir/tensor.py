# SPDX-License-Identifier: Apache-2.0
"""Tensors in global and shared memory and in registers."""

from xtc.tile.values.runtime import GlobalTensor, RegisterTensor, SharedTensor

__all__ = ["GlobalTensor", "RegisterTensor", "SharedTensor"]
