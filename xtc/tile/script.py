# SPDX-License-Identifier: Apache-2.0
"""Kernels as classes: `__init__` takes tuning parameters, `__call__` is the kernel."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile import utils
from xtc.tile.instructions.block import Instructions
from xtc.tile.instructions.block_clusters import cluster_sizes
from xtc.tile.types import int32
from xtc.tile.values import arithmetic
from xtc.tile.values.methods import call
from xtc.tile.values.runtime import Data, Scalar


class Attributes:
    """The launch parameters of a kernel.

    `blocks` is the grid, `warps` the number of warps per block, and `cluster_blocks` the number of
    blocks per cluster.
    """

    def __init__(self) -> None:
        self.warps: int | None = None
        self.blocks: tuple[Any, ...] | None = None
        self.cluster_blocks: tuple[int, ...] = (1, 1, 1)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "warps" and value is not None:
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UserError(
                    f"attrs.warps is a constant of 1 or more, not {value!r}",
                    hints=["self.attrs.warps = 4"],
                )
            tile.set_warps(value)
        elif name == "blocks" and value is not None:
            value = _grid(value)
        elif name == "cluster_blocks":
            value = cluster_sizes(value)
            tile.set_cluster(value)
        elif name not in ("warps", "blocks", "cluster_blocks"):
            raise UserError(f"attrs has no '{name}'", hints=["blocks, warps and cluster_blocks"])
        object.__setattr__(self, name, value)


class Script(Instructions):
    """The base class of kernels.

    Constructing an object returns a `Program`, which compiles the kernel for each call.
    """

    utils = utils
    _tuning: tuple[tuple[tuple[str, ...], tuple[Any, ...]], ...] = ()
    debug_schedule: Mapping[str, Any] | None = None
    debug_block: tuple[int, int, int] | None = None
    attrs: Attributes

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return call("program", cls, args, kwargs)

    @classmethod
    def instance(cls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Script:
        """An object whose `__init__` has run, for transcription."""
        made = object.__new__(cls)
        made.attrs = Attributes()
        made.__init__(*args, **kwargs)  # type: ignore[misc]
        return made


def autotune(names: str, values: Sequence[Any]) -> Callable[[type[Script]], type[Script]]:
    """Add values of tuning parameters: `autotune("m, n", [(64, 64), (128, 64)])`.

    Several decorators on a class try every combination. Raises UserError for values that do not
    match the names, and for names that are not parameters of `__init__`.
    """
    if not isinstance(names, str) or isinstance(values, str) or not isinstance(values, Sequence):
        raise UserError(
            f"autotune({names!r}, {values!r}) takes names and a list of values",
            hints=['autotune("block_m, block_n", [(64, 64), (128, 64)])'],
        )
    parsed = tuple(name.strip() for name in names.split(","))
    rows = tuple(values)
    for row in rows:
        if len(parsed) > 1 and (not isinstance(row, list | tuple) or len(row) != len(parsed)):
            raise UserError(
                f"autotune({names!r}): {row!r} does not have a value for each name",
                hints=["autotune('block_m, block_n', [(64, 64), (128, 64)])"],
            )
    if not rows:
        raise UserError(
            f"autotune({names!r}) gives no values", hints=["autotune('block', [64, 128])"]
        )

    def decorate(cls: type[Script]) -> type[Script]:
        if not isinstance(cls, type) or not issubclass(cls, Script):
            raise UserError(
                f"autotune decorates a class of kernels, not {cls!r}",
                hints=["write it above the class of the kernel"],
            )
        known = inspect.signature(cls.__init__).parameters
        for name in parsed:
            if name not in known:
                raise UserError(
                    f"autotune: {cls.__name__}.__init__ takes no '{name}'",
                    hints=["let __init__ take it, or correct the name"],
                )
            if any(name in others for others, _ in cls._tuning):
                raise UserError(
                    f"autotune: '{name}' of {cls.__name__} is tuned twice",
                    hints=["remove one of the decorators"],
                )
        tidy = tuple(row if len(parsed) > 1 else (row,) for row in rows)
        cls._tuning = (*cls._tuning, (parsed, tuple(map(tuple, tidy))))
        return cls

    return decorate


def _grid(value: Any) -> tuple[Any, ...]:
    given = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not 1 <= len(given) <= 3:
        raise UserError(
            f"attrs.blocks has 1 to 3 sizes, not {len(given)}",
            hints=["self.attrs.blocks = [x, y, z]"],
        )
    for size in given:
        if isinstance(size, bool) or not isinstance(size, int | Scalar):
            raise UserError(
                f"attrs.blocks: {size!r} is not a number of blocks",
                hints=["an integer of 0 or more, such as self.utils.cdiv(n, 128)"],
            )
        if isinstance(size, int) and size < 0:
            raise UserError(
                f"attrs.blocks: {size} is not a number of blocks",
                hints=["an integer of 0 or more, such as self.utils.cdiv(n, 128)"],
            )
    sizes = [arithmetic.cast(size, int32) for size in (*given, 1, 1)[:3]]
    tile.grid([size.value for size in sizes if isinstance(size, Data)])
    return given
