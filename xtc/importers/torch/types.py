# SPDX-License-Identifier: Apache-2.0
"""Converts element types and arrays between PyTorch and this project."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from xtc.core.types import ELEMENT_TYPES
from xtc.importers.values import Array, Unsupported


def element_name(dtype: Any) -> str:
    """The name of an element type. Raises Unsupported for types that graphs lack."""
    name = str(dtype).removeprefix("torch.")
    if name not in ELEMENT_TYPES:
        raise Unsupported(f"element type {name}")
    return name


def to_array(tensor: torch.Tensor) -> Array:
    """The elements of a tensor on the CPU, without a copy if they are dense."""
    plain = tensor.detach().cpu().contiguous()
    if plain.dtype == torch.bfloat16:
        bits: Array = plain.view(torch.uint16).numpy()
        return bits.view(ml_dtypes.bfloat16)
    element_name(plain.dtype)
    array: Array = plain.numpy()
    return array


def to_tensor(array: Array) -> torch.Tensor:
    """An array as a tensor that shares its memory."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)
