# SPDX-License-Identifier: Apache-2.0
"""The width of vectors follows from the features, or else from the processor's name."""

from __future__ import annotations

import pytest

from xtc.codegen.llvm import Machine
from xtc_targets.host.description import HostDescription

X86 = "x86_64-unknown-linux-gnu"
ARM = "aarch64-unknown-linux-gnu"


@pytest.mark.parametrize(
    ("triple", "cpu", "features", "bits"),
    [
        (X86, "x86-64", None, 128),
        (X86, "haswell", None, 256),
        (X86, "skylake-avx512", None, 512),
        (X86, "x86-64", "+avx2,+avx", 256),
        (X86, "x86-64", "+avx,+avx512f", 512),
        (X86, "x86-64", "+avx,+avx512f,-avx512f", 256),
        (X86, "haswell", "-avx,-avx2", 128),
        (ARM, None, None, 128),
        (ARM, "neoverse-v1", "+sve", 128),
    ],
)
def test_width_of_vectors(triple: str, cpu: str | None, features: str | None, bits: int) -> None:
    machine = Machine.of(triple, cpu, features)
    assert HostDescription.of(machine).vector_bits == bits
