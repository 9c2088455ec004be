# SPDX-License-Identifier: Apache-2.0
"""The debugger of the host library: reads the memory of PEs after a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xtc.core.errors import UserError, did_you_mean
from xtc_targets.wse.output import read_about
from xtc_targets.wse.sdk import settings
from xtc_targets.wse.sdk.runtime import MEMORY_FILE

settings.debugging = True


class debug_util:  # noqa: N801  the vendor's name
    """Reads the memory saved by `stop`. Coordinates are those of the fabric."""

    def __init__(self, name: str | Path, cmaddr: str | None = None, **unused: object) -> None:
        folder = Path(name)
        file = folder / MEMORY_FILE
        if not file.is_file():
            raise UserError(
                f"{folder} has no memory of a run",
                hints=["call stop() first, and import debug_util before it"],
            )
        self._about = read_about(folder)
        self._memory: NDArray[np.uint8] = np.load(file)

    def read_trace(self, x: int, y: int, key: str) -> list[object]:
        """The values that a PE traced under a key, in order."""
        number, which = self._pe(x, y)
        traces = {name: (address, words) for name, address, words in self._about["traces"][which]}
        if key not in traces:
            raise UserError(f"PE ({x}, {y}) has no trace {key!r}", hints=did_you_mean(key, traces))
        address, words = traces[key]
        data = self._memory[number, address : address + 2 * words].view(np.uint16)
        return _records(data[1 : 1 + int(data[0])], self._about["texts"][which])

    def get_symbol(self, x: int, y: int, symbol: str, dtype: Any) -> NDArray[Any]:
        """The bytes of a variable of one PE, as an array of `dtype`."""
        number, which = self._pe(x, y)
        found = {name: (address, size) for name, address, size in self._about["symbols"][which]}
        if symbol not in found:
            raise UserError(
                f"PE ({x}, {y}) has no variable {symbol!r}", hints=did_you_mean(symbol, found)
            )
        address, size = found[symbol]
        values: NDArray[Any] = self._memory[number, address : address + size].copy().view(dtype)
        return values

    def get_symbol_rect(
        self, rectangle: tuple[tuple[int, int], tuple[int, int]], symbol: str, dtype: Any
    ) -> NDArray[Any]:
        """A variable of every PE of ((column, row), (width, height)): [width][height][elements]."""
        (column, row), (width, height) = rectangle
        return np.array(
            [
                [self.get_symbol(column + x, row + y, symbol, dtype) for y in range(height)]
                for x in range(width)
            ]
        )

    def _pe(self, x: int, y: int) -> tuple[int, int]:
        """The index of a PE, and its class."""
        left, top = self._about["offsets"]
        width, height = self._about["width"], self._about["height"]
        if not (left <= x < left + width and top <= y < top + height):
            raise UserError(
                f"PE ({x}, {y}) of the fabric is outside the program's {width} x {height} at "
                f"({left}, {top})"
            )
        number = (y - top) * width + x - left
        return number, int(self._about["class_of"][number])


_READERS = {2: np.uint16, 3: np.int16, 4: np.uint32, 5: np.int32, 6: np.float16, 7: np.float32,
            9: np.uint16, 10: np.uint16, 11: np.int16}  # fmt: skip


def _records(words: NDArray[np.uint16], texts: list[str]) -> list[object]:
    found: list[object] = []
    at = 0
    while at < len(words):
        kind, at = int(words[at]), at + 1
        if kind == 1:
            found.append(texts[int(words[at])])
            at += 1
        elif kind == 8:
            found.append(sum(int(word) << (16 * i) for i, word in enumerate(words[at : at + 3])))
            at += 3
        else:
            dtype = np.dtype(_READERS[kind])
            size = dtype.itemsize // 2
            found.append(words[at : at + size].copy().view(dtype)[0].item())
            at += size
    return found
