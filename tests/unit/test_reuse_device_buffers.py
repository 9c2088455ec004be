# SPDX-License-Identifier: Apache-2.0
"""reuse-device-buffers never reads an operation that it has erased."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LENGTH = 24
_TYPE = "memref<4xf32, 1>"
_DEVICE = '{xtc.device = "npu0"}'


def chain(length: int) -> str:
    """A chain of kernels, each with a new buffer, all of which are freed at the end."""
    body = []
    for number in range(length):
        before = f"%{number - 1}" if number else "%a"
        body += [
            f"%{number} = memref.alloc() {_DEVICE} : {_TYPE}",
            f"call @k({before}, %{number}) {_DEVICE} : ({_TYPE}, {_TYPE}) -> ()",
        ]
    body += [f"memref.dealloc %{number} {_DEVICE} : {_TYPE}" for number in range(length)]
    return "\n".join(
        [
            f"func.func private @k({_TYPE}, {_TYPE}) attributes {_DEVICE}",
            f"func.func @f(%a: {_TYPE} {{memref.on_device}}) {{",
            *body,
            "return",
            "}",
        ]
    )


@pytest.mark.slow
def test_a_long_chain_needs_two_buffers(tmp_path: Path) -> None:
    source = tmp_path / "chain.mlir"
    source.write_text(chain(LENGTH))
    overwriting = ["env", "MALLOC_PERTURB_=165"]  # freed memory
    command = [sys.executable, "-m", "xtc.cli.opt", str(source), "--reuse-device-buffers"]
    done = subprocess.run(
        [*overwriting, *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("memref.alloc()") == done.stdout.count("memref.dealloc") == 2
