# SPDX-License-Identifier: Apache-2.0
"""Device modules on buffers, compiled and launched on a simulated MPPA."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from xtc.driver.foreign import parse_module
from xtc.ir.mlir import Operation, single_threaded_context
from xtc.ir.pipeline import PassRunner, Pipeline
from xtc.runtime import DeviceArray
from xtc_targets.mppa.build import build_image
from xtc_targets.mppa.device import MppaDevice
from xtc_targets.mppa.options import MppaOptions
from xtc_targets.mppa.pipeline import device_stages

KERNELS = Path(__file__).parent / "mppa_kernels"
Array = npt.NDArray[Any]


def lowered(text: str, options: MppaOptions, until: str = "lowered") -> Operation:
    """A device module at a stage; the context is the caller's."""
    module = parse_module(text, "device.mlir")
    PassRunner().run(module, Pipeline(device_stages(options)).until(until))
    return module


def stage_text(text: str, until: str = "lowered", **options: Any) -> str:
    """A device module at a stage, as text."""
    with single_threaded_context():
        return str(lowered(text, MppaOptions(**options), until))


@functools.lru_cache(maxsize=64)
def image(text: str, options: MppaOptions) -> bytes:
    """The device image of a module on buffers, cached."""
    with single_threaded_context():
        return image_of(lowered(text, options), options)


def image_of(module: Operation, options: MppaOptions) -> bytes:
    """The device image of a lowered module."""
    with tempfile.TemporaryDirectory() as folder:
        name = build_image(module, options, Path(folder), "device")
        return Path(folder, name).read_bytes()


@dataclass
class Run:
    """The arguments of a kernel after its run, and the device's counters."""

    arrays: list[Array]
    counters: Any


def run(
    text: str,
    kernel: str,
    arrays: Sequence[Array],
    config: dict[str, Any] | None = None,
    **options: Any,
) -> Run:
    """Compile a device module, and launch one of its kernels on copies of arrays."""
    settings = config or {}
    shared = {name: settings[name] for name in ("clusters", "pes", "arch") if name in settings}
    code = image(text, MppaOptions(**shared, **options))
    return launch(code, kernel, arrays, settings)


def launch(code: bytes, kernel: str, arrays: Sequence[Array], config: dict[str, Any]) -> Run:
    """Launch a kernel of a device image on copies of arrays."""
    with MppaDevice(MppaOptions(**config)) as device:
        module = device.load_module(code)
        function = device.get_module_function(module, kernel)
        there: list[DeviceArray] = [device.array(array) for array in arrays]
        device.launch(function, there)
        return Run([array.numpy() for array in there], dict(device.counters()))
