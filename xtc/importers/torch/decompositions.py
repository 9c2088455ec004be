# SPDX-License-Identifier: Apache-2.0
"""What PyTorch writes out of core operators before the importer reads it, and what stays whole."""

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
"""Operators of which PyTorch makes several passes over all scores to guard rows that only some
masks have."""


def of_exported() -> MutableMapping[Any, Callable[..., Any]]:
    """For the operators of an exported program."""
    return _without_whole(torch.export.default_decompositions())


def of_traced() -> MutableMapping[Any, Callable[..., Any]]:
    """For the operators that torch.compile traces."""
    return _without_whole(dict(core_aten_decompositions()))


def _without_whole(
    table: MutableMapping[Any, Callable[..., Any]],
) -> MutableMapping[Any, Callable[..., Any]]:
    for name in _WHOLE:
        table.pop(getattr(torch.ops.aten, name).default, None)
    return table
