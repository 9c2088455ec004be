# SPDX-License-Identifier: Apache-2.0
"""A stand-in for NVIDIA's driver, built from nvgpu_driver/: it logs its calls, and its device is
this process."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import pytest

from xtc.runtime import NativeUnit
from xtc.runtime.native import compile_unit

SOURCES = Path(__file__).parent / "nvgpu_driver"


def built(name: str, folder: Path) -> Path:
    """A shared library of one of the sources."""
    flags = ("-fvisibility=default", "-Werror")
    unit = NativeUnit(f"{name}.so", "library", (SOURCES / f"{name}.c",), (), ("dl",), flags)
    return compile_unit(unit, folder)


@functools.cache
def _bytes_of(name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return built(name, Path(folder)).read_bytes()


def kernel_code() -> bytes:
    """Device code that the stand-in can load."""
    return _bytes_of("kernels")


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, image: bytes | None = None) -> Path:
    """A new library that logs to `folder` and loads `image`."""
    monkeypatch.setenv("STAND_IN_LOG", str(folder / "log"))
    monkeypatch.setenv("STAND_IN_IMAGE_BYTES", str(len(image or kernel_code())))
    library = folder / "libcuda.so"
    library.write_bytes(_bytes_of("libcuda"))
    return library


def log(library: Path) -> list[str]:
    """The logged calls."""
    return (library.parent / "log").read_text().splitlines()
