# SPDX-License-Identifier: Apache-2.0
"""Operations on tensors of any element type."""

from __future__ import annotations

from xtc.core.errors import UserError
from xtc.tile.launch.host_tensors import Tensor
from xtc.tile.types import DataType


def cast(tensor: Tensor, dtype: DataType, *, out: Tensor | None = None) -> Tensor:
    """Cast the elements to another type, into new memory or into `out`, with the rules of kernels.

    Raises UserError for an `out` of another type or shape.
    """
    made = tensor.to(dtype)
    if out is None:
        return made
    if out.dtype != dtype or out.shape != made.shape:
        raise UserError(
            f"cast: out= is {out.dtype}{list(out.shape)}, not {dtype}{list(made.shape)}"
        )
    out.fill_from(made)
    return out
