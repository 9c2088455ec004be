# SPDX-License-Identifier: Apache-2.0
"""Idioms of other languages are errors with line, caret and hint."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.tile_mistakes import MISTAKES
from xtc.tile.values.errors import KernelError

KERNEL = """
from xtc import tile
from xtc.tile import float16, float32, int32


class Kernel(tile.Script):
    def __call__(self, n: int32, x_ptr: ~float32, h_ptr: ~float16):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[16, 16])
        r = self.load_global(x, offsets=[0, 0], shape=[16, 16])
        gx = self.global_view(h_ptr, dtype=float16, shape=[n, 64])
        gy = self.global_view(x_ptr, dtype=float32, shape=[n, 64])
        s = self.shared_tensor(dtype=float16, shape=[64, 64])
        t = self.load_global(gx, offsets=[0, 0], shape=[64, 64])
        f = self.cast(t, float32)
        i = self.register_tensor(dtype=int32, shape=[64], init=lambda i: i)
        {}
        self.store_global(x, r, offsets=[0, 0])
"""
LINE = 18


def kernel_with(line: str, folder: Path) -> Any:
    """A kernel with this statement."""
    path = folder / "foreign_idioms.py"
    path.write_text(KERNEL.format(line))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Kernel()


@pytest.mark.parametrize(("line", "what", "hint"), MISTAKES)
def test_errors_have_line_caret_and_hint(line: str, what: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(KernelError) as caught:
        kernel_with(line, tmp_path).check(
            4, np.ones((16, 16), np.float32), np.ones((4, 64), np.float16)
        )
    text = str(caught.value)
    first, *rest = text.splitlines()
    assert f"foreign_idioms.py:{LINE}:" in first
    assert what in first
    assert line in text
    assert any(each.strip() == "^" for each in rest)
    assert hint in " ".join(caught.value.hints)
