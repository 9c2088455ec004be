# SPDX-License-Identifier: Apache-2.0
"""Which operators PyTorch decomposes before import, and which remain whole."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

import torch
from torch._decomp import core_aten_decompositions

_WHOLE = (
    "scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_safe_softmax",
)
"""Operators that PyTorch would expand into several passes over all scores, to guard against rows
that only some masks produce."""


def of_exported() -> MutableMapping[Any, Callable[..., Any]]:
    """Decompositions for an exported program."""
    return _without_whole(torch.export.default_decompositions())


def of_traced() -> MutableMapping[Any, Callable[..., Any]]:
    """Decompositions for torch.compile."""
    return _without_whole(dict(core_aten_decompositions()))


def _without_whole(
    table: MutableMapping[Any, Callable[..., Any]],
) -> MutableMapping[Any, Callable[..., Any]]:
    for name in _WHOLE:
        table.pop(getattr(torch.ops.aten, name).default, None)
    return table
