# SPDX-License-Identifier: Apache-2.0
"""The host target compiles small operators for other processors, and LLVM never aborts."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

# In a separate process, which LLVM's assertions would end.
PROGRAM = """
import sys
import xtc.ops as O
from xtc.driver import prepare

OPERATORS = {
    "maximum": lambda x: O.maximum(x, 0.5),
    "softmax": O.softmax,
    "matmul": lambda x: O.matmul(x, x, transpose_b=True),
    "cast": lambda x: O.cast(x, "int64"),
}
triple, cpu = sys.argv[1:]
for dtype in ("float64", "float32", "float16"):
    for name, operator in OPERATORS.items():
        with O.graph(name="f") as gb:
            operator(O.tensor((7, 9), dtype, name="x"))
        print(dtype, name, flush=True)
        prepare(gb.graph, "host", triple=triple, cpu=cpu).stage_text("code")
"""


@pytest.mark.parametrize(
    ("triple", "cpu"),
    [
        ("thumbv7em-none-eabihf", "cortex-m7"),
        ("thumbv6m-none-eabi", "cortex-m0"),
        ("armv7-linux-gnueabihf", "cortex-a7"),
        ("aarch64-linux-gnu", "cortex-a53"),
    ],
)
def test_small_operators_compile(triple: str, cpu: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, triple, cpu], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{done.stdout.splitlines()[-1:]}\n{done.stderr[-500:]}"
    assert len(done.stdout.splitlines()) == 12
