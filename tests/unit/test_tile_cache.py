# SPDX-License-Identifier: Apache-2.0
"""Tile kernels in the artifact cache: hits and misses of later processes."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.tile_kernels import Listed, VectorAdd
from xtc import tile
from xtc.driver import cached
from xtc.system.cache import ArtifactCache, CodeFingerprint, NoFingerprintError, configured_cache
from xtc.tile.launch.compiled import Kernel
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

_PROGRAM = """
from tests.unit.tile_kernels import Listed, VectorAdd
from xtc.ir.pipeline import PassRunner
runs, run = [], PassRunner.run
def counted(self, module, pipeline):
    runs.append(pipeline)
    return run(self, module, pipeline)
PassRunner.run = counted
kernel = VectorAdd().compile(700, None, None, None)
print(kernel.cached, len(kernel.image) > 1000, ".visible .entry" in kernel.ptx, len(runs))
"""


def compiled(**schedule: Any) -> Kernel:
    """A kernel whose code has not been requested yet."""
    return VectorAdd(**schedule).compile(700, None, None, None)


def entry_of(kernel: Kernel) -> Path:
    """The folder of a kernel's image in the cache."""
    assert not kernel.cached
    key = kernel.image_key
    assert key is not None
    found = configured_cache().lookup(key.text)
    assert found is not None
    return found


@pytest.mark.usefixtures("artifact_cache")
def test_a_second_process_compiles_nothing() -> None:
    command = [sys.executable, "-c", _PROGRAM]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert [ran.stdout for ran in runs] == [
        "False True True 3\n",
        "True True True 1\n",
    ]  # transcribed


@pytest.mark.usefixtures("artifact_cache")
@pytest.mark.parametrize("damage", ["changed", "shortened", "missing"])
def test_a_damaged_entry_is_rebuilt(damage: str, caplog: pytest.LogCaptureFixture) -> None:
    first = compiled()
    file = entry_of(first) / "image"
    file.chmod(0o600)
    if damage == "missing":
        file.unlink()
    else:
        content = file.read_bytes()
        file.write_bytes(content[:-1] + (b"" if damage == "shortened" else b"?"))
    with caplog.at_level(logging.WARNING):
        again = compiled()
        assert not again.cached
    assert "removed a damaged entry of the artifact cache" in caplog.text
    assert again.image == first.image
    assert compiled().cached


@pytest.mark.usefixtures("artifact_cache")
def test_everything_that_affects_code_is_in_the_key() -> None:
    keys = {kernel.key("image") for kernel in (compiled(), compiled(block=256))}
    for options in ({"arch": "sm_80"}, {"opt_level": 1}):
        with NvgpuDevice(NvgpuOptions(**options)) as device:
            tile.use_device(device)
            try:
                keys.add(compiled().key("image"))
            finally:
                tile.use_device(None)
    assert len(keys) == 4
    assert compiled().key("image") in keys  # with equal or different lines and files
    assert compiled().key("machine code") not in keys


def test_a_disabled_cache_stores_nothing(
    artifact_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XTC_CACHE", "0")
    assert not compiled().cached
    assert not compiled().cached
    assert not artifact_cache.exists()


def test_code_that_changes_during_compilation_is_not_stored(
    artifact_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CodeFingerprint, "unchanged", lambda self: False)
    assert not compiled().cached
    assert ArtifactCache(artifact_cache).entries() == []


@pytest.mark.usefixtures("artifact_cache")
def test_code_without_a_fingerprint_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(packages: set[str]) -> CodeFingerprint:
        raise NoFingerprintError("the code is in no file")

    monkeypatch.setattr(cached, "code_fingerprint", unknown)
    assert compiled().key("image") is None
    assert not compiled().cached


def test_parameters_may_be_lists() -> None:
    assert "memref<8x4xf32" in Listed([8, 4]).compile(None).ir()
