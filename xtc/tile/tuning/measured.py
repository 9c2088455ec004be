# SPDX-License-Identifier: Apache-2.0
"""Measures candidates on a device in separate processes: a kernel that faults or hangs ends
its process, and the other candidates are measured without it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core import knobs
from xtc.core.errors import UserError, XtcError
from xtc.runtime.device_array import DeviceArray
from xtc.system.sandbox import Limits, Workers
from xtc.system.workspace import private_folder
from xtc.tile.launch.maps import described_maps, require_maps
from xtc.tile.settings import get_option
from xtc.tile.types import DataType

if TYPE_CHECKING:
    from xtc.tile.launch.compiled import Kernel

LIMITS = Limits(seconds=60.0, memory_bytes=1 << 46)
"""Memory limit of a measuring process: GPU drivers reserve more addresses than any machine has."""

_SECONDS_EACH = 1.0
"""Seconds for each further candidate, in addition to those of `LIMITS`."""

PROGRESS = "progress"
"""The file that names the running candidate, in case the process dies."""

_workers = Workers("xtc.tile.tuning.measure_worker")


def is_measurable(device: Any, arrays: Sequence[Any]) -> bool:
    """Whether the device can be timed, and there are arrays to run on."""
    return device.streams is not None and all(array is not None for array in arrays)


def measured(
    kernels: Sequence[Kernel], values: Mapping[str, Any], device: Any
) -> list[tuple[float, ...] | XtcError]:
    """For each compiled kernel the seconds of its runs, or the error if it does not run."""
    found: dict[int, tuple[float, ...] | XtcError] = {}
    with private_folder("tile-") as folder:
        arrays = _written(kernels[0], values, device, Path(folder)) if kernels else []
        launches: dict[int, dict[str, Any]] = {}
        for number, kernel in enumerate(kernels):
            try:
                launches[number] = _launch(kernel, values, Path(folder, f"image{number}"))
            except XtcError as error:
                found[number] = error
        job = {**_device(device), "folder": str(folder), "arrays": arrays}
        while launches:
            try:
                found |= _samples({**job, "launches": launches})
                break
            except XtcError as error:
                guilty = _progress(Path(folder))
                if guilty not in launches:
                    raise
                del launches[guilty]
                found[guilty] = error
    return [found[number] for number in range(len(kernels))]


def _samples(job: dict[str, Any]) -> dict[int, tuple[float, ...]]:
    limits = replace(LIMITS, seconds=LIMITS.seconds + _SECONDS_EACH * len(job["launches"]))
    reply = _workers.ask(job, limits, what="measuring the kernel")
    return {int(number): tuple(samples) for number, samples in json.loads(reply).items()}


def _progress(folder: Path) -> int:
    file = folder / PROGRESS
    return int(file.read_text() or -1) if file.exists() else -1


def _device(device: Any) -> dict[str, Any]:
    options = {each.name: getattr(device.options, each.name) for each in fields(device.options)}
    return {
        "target": device.target_name,
        "options": {name: str(v) if isinstance(v, Path) else v for name, v in options.items()},
        "extensions": [str(file) for file in knobs.EXTENSIONS.get()],
        "warmup": get_option("bench_warmup"),
        "rounds": get_option("bench_repeat"),
    }


def _written(kernel: Kernel, values: Mapping[str, Any], device: Any, folder: Path) -> list[str]:
    """Write the contents of array arguments to files, and return their names."""
    names: list[str] = []
    for word, kind in zip(kernel.words(values), kernel.kinds(), strict=True):
        if not isinstance(kind, DataType):
            names.append(f"array{len(names)}")
            _contents(word, device).tofile(folder / names[-1])
    return names


def _contents(word: Any, device: Any) -> np.ndarray[Any, Any]:
    if isinstance(word, np.ndarray):
        return word.reshape(-1).view(np.uint8)
    array = word if isinstance(word, DeviceArray) else device.borrowed(word)
    return np.asarray(array.numpy()).reshape(-1).view(np.uint8)


def _launch(kernel: Kernel, values: Mapping[str, Any], image: Path) -> dict[str, Any]:
    """A launch as plain data; the worker creates arrays, buffers and maps."""
    maps = described_maps(kernel, values)
    try:
        require_maps(kernel, values)
    except UserError:
        if not kernel.is_divided:
            raise
        return _launch(kernel.undivided, values, image)  # memory without a tensor map
    image.write_bytes(kernel.image)
    words = zip(kernel.words(values), kernel.kinds(), strict=True)
    return {
        "image": image.name,
        "symbol": kernel.symbol,
        "grid": kernel.grid(values),
        "words": [[k.name, w] if isinstance(k, DataType) else None for w, k in words],
        "buffers": [made.nbytes for made in kernel.made(values)],
        "maps": [[argument, asdict(each)] for argument, each in maps],
    }
