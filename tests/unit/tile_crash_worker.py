# SPDX-License-Identifier: Apache-2.0
"""A worker of `xtc.tile.tuning.ranking` whose compiler crashes or hangs for some tiles."""

from __future__ import annotations

import os
import time
from typing import Any

from xtc.tile.launch.code import Compiler
from xtc.tile.tuning import compile_worker


def main() -> None:
    """Serve until standard input ends."""
    image = Compiler.image

    def spoiled(self: Compiler, text: str, context: Any, symbol: str) -> bytes:
        if "tensor<128xf32" in text:
            os.abort()
        if "tensor<256xf32" in text:
            time.sleep(60)
        if "tensor<512xf32" in text:
            raise AssertionError("a bug")
        return image(self, text, context, symbol)

    Compiler.image = spoiled  # type: ignore[method-assign]
    compile_worker.main()
