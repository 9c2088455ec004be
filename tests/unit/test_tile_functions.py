# SPDX-License-Identifier: Apache-2.0
"""Functions besides methods are transcribed if they get run-time values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.test_tile_idioms import kernel_with
from tests.unit.tile_functions import Functions
from xtc import tile
from xtc.tile import int32
from xtc.tile.values.errors import KernelError

EXPECTED = [5, 24, 2, 14, 22, 111, 13, 5, 3, 1, 8, 3, 6, 272, 1, 11, 7]


def test_functions_of_all_kinds_have_control_flow_of_run_time() -> None:
    for run in (Functions().check, Functions()):
        y = np.zeros(17, np.int32)
        run(4, y)
        assert y.tolist() == EXPECTED


MISTAKES = [
    ("def f(x):\n            if n > 3:\n                return", "a bare return in a branch"),
    ("@property\n        def f(x): return x", "'f' has a decorator, within a kernel"),
    ("def f(x): return f(x)\n        f(n)", "calls are nested 64 deep"),
    ("def f(x): return g(x)\n        f(n)", "'g' is not defined here"),
    ("def f(x): return x\n        f(n, n)", "f: too many positional arguments"),
]


@pytest.mark.parametrize(("lines", "what"), MISTAKES)
def test_mistakes_in_functions_within_a_kernel_are_located(
    lines: str, what: str, tmp_path: Path
) -> None:
    with pytest.raises(KernelError) as caught:
        kernel_with(lines, tmp_path).check(
            4, np.ones((16, 16), np.float32), np.ones((4, 64), np.float16)
        )
    assert "foreign_idioms.py:" in str(caught.value).splitlines()[0]
    assert what in str(caught.value)
    assert "hint: " in str(caught.value)


class Ending(tile.Script):
    """y = n, unless a function within the kernel calls a method that ends it."""

    def __call__(self, n: int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1

        def stop_at(least):
            self.stop(least > 3)

        for i in range(n):
            stop_at(i)
        y = self.global_view(y_ptr, dtype=int32, shape=[1])
        self.store_global(y, self.register_tensor(dtype=int32, shape=[1], init=n), offsets=[0])

    def stop(self, is_late):
        if is_late:
            return


def test_a_function_within_a_kernel_may_call_a_method_that_ends_it() -> None:
    for n, expected in ((3, 3), (7, 0)):
        y = np.zeros(1, np.int32)
        Ending().check(n, y)
        assert y[0] == expected
