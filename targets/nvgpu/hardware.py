# SPDX-License-Identifier: Apache-2.0
"""The GPUs of this machine, accessed through NVIDIA's driver."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_char_p, c_double, c_uint32, c_uint64
from pathlib import Path

from xtc.core.errors import DeviceNotFound
from xtc.runtime import NativeUnit, OpenDevice, built_driver
from xtc.runtime.simulator import driver_unit
from xtc_targets.nvgpu.description import MACHINES
from xtc_targets.nvgpu.options import NvgpuOptions
from xtc_targets.nvgpu.simulator import OWN_CSRC

LIBRARY = "libcuda.so.1"
_CAPABILITY_MAJOR, _CAPABILITY_MINOR, _MULTIPROCESSORS = 75, 76, 16
"""CU_DEVICE_ATTRIBUTE_... in cuda.h."""


class Config(ctypes.Structure):
    """`hw_config` of `csrc/hw_config.h`."""

    _fields_ = (
        ("nbytes", c_uint64),
        ("library", c_char_p),
        ("arch", c_char_p),
        ("number", c_uint32),
        ("major", c_uint32),
        ("minor", c_uint32),
        ("exact", c_uint32),
        ("timeout_s", c_double),
    )


def unit() -> NativeUnit:
    """The driver of this project, which builds without NVIDIA's software."""
    return driver_unit("nvgpu_driver_hw", sorted(OWN_CSRC.glob("hw_*.c")))


def capabilities(library: Path | str = LIBRARY) -> list[tuple[int, int]]:
    """The compute capability of each GPU. Raises DeviceNotFound without NVIDIA's driver."""
    cuda = _loaded(library)
    count = _number(cuda, "cuDeviceGetCount") if cuda.cuInit(0) == 0 else 0
    return [
        (_attribute(cuda, gpu, _CAPABILITY_MAJOR), _attribute(cuda, gpu, _CAPABILITY_MINOR))
        for gpu in range(count)
    ]


def _loaded(library: Path | str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(library))
    except OSError as error:
        raise DeviceNotFound(f"NVIDIA's driver cannot be loaded: {error}") from None


def _attribute(cuda: ctypes.CDLL, gpu: int, attribute: int) -> int:
    return _number(cuda, "cuDeviceGetAttribute", attribute, _number(cuda, "cuDeviceGet", gpu))


def _number(cuda: ctypes.CDLL, function: str, *arguments: int) -> int:
    """The value that a function writes to its first argument; -1 if the call fails."""
    out = ctypes.c_int(-1)
    getattr(cuda, function)(ctypes.byref(out), *arguments)
    return out.value


def chip_name(number: int, library: Path | str = LIBRARY) -> str:
    """The driver's name for a GPU, such as "NVIDIA H200"; "" if it has none."""
    cuda = _loaded(library)
    name = ctypes.create_string_buffer(256)
    if cuda.cuInit(0) or cuda.cuDeviceGetName(name, 256, _number(cuda, "cuDeviceGet", number)):
        return ""
    return name.value.decode(errors="replace")


def first_gpu(library: Path | str = LIBRARY) -> NvgpuOptions:
    """The first supported GPU, with the best architecture for it. Raises DeviceNotFound."""
    found = capabilities(library)
    for index, capability in enumerate(found):
        if arch := best_arch(capability):
            return _options(arch, index, library)
    listed = ", ".join(f"{major}.{minor}" for major, minor in found) or "none"
    raise DeviceNotFound(f"no GPU of compute capability 8.0 or later; found: {listed}")


def gpu_options(index: int, library: Path | str = LIBRARY) -> NvgpuOptions:
    """The GPU with this index, with the best architecture for it. Raises DeviceNotFound."""
    found = capabilities(library)
    arch = best_arch(found[index]) if index < len(found) else None
    if arch is None:
        raise DeviceNotFound(f"GPU {index} does not have compute capability 8.0 or later")
    return _options(arch, index, library)


def _options(arch: str, index: int, library: Path | str) -> NvgpuOptions:
    """A GPU, with the number of its multiprocessors: boards of an architecture differ."""
    sms = _attribute(_loaded(library), index, _MULTIPROCESSORS)
    return NvgpuOptions("hw", arch, index, library, sms=sms if sms > 0 else None)


def best_arch(capability: tuple[int, int]) -> str | None:
    """The newest architecture whose code a GPU of this compute capability runs, or None."""
    for arch in reversed(tuple(MACHINES)):
        needed, exact = MACHINES[arch].capability, arch.endswith("a")
        if capability == needed or (capability > needed and not exact):
            return arch
    return None


def unavailable(library: Path | str = LIBRARY) -> str | None:
    """The reason why this machine has no supported GPU, or None."""
    try:
        first_gpu(library)
    except DeviceNotFound as error:
        return error.what
    return None


def open_hardware(options: NvgpuOptions, name: str) -> OpenDevice:
    """Open a GPU.

    Raises DeviceNotFound if NVIDIA's driver or the GPU is missing, or if the GPU cannot run code
    for `options.arch`.
    """
    major, minor = options.machine.capability
    config = Config(
        nbytes=ctypes.sizeof(Config),
        library=os.fsencode(options.driver_library),
        arch=options.arch.encode(),
        number=options.device_index,
        major=major,
        minor=minor,
        # Code for an architecture whose name ends in "a" runs on that architecture only.
        exact=options.arch.endswith("a"),
        timeout_s=options.timeout_s,
    )
    try:
        return OpenDevice(built_driver(unit())[1], config, name)
    except DeviceNotFound as error:
        hint = "platform='sim' needs no GPU"
        raise DeviceNotFound(error.what, notes=error.notes, hints=[*error.hints, hint]) from None
