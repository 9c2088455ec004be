# SPDX-License-Identifier: Apache-2.0
"""The server behind `xtc.tile.tuning.measured`: each child opens the device and measures."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from xtc.core import discover
from xtc.core.extensions import extend
from xtc.interfaces.target import AcceleratorTarget
from xtc.interfaces.tile_support import TensorMap
from xtc.runtime import DeviceArray, DriverDevice
from xtc.system.sandbox import Job, serve
from xtc.tile.config import support_of
from xtc.tile.launch.launches import WORDS
from xtc.tile.timing import StreamClock
from xtc.tile.tuning.measured import PROGRESS


def main() -> None:
    """Serve until standard input ends."""
    serve(_work, _prepare)


def _prepare(job: Job) -> None:
    """Import the modules that every child needs; only children open the device."""
    for file in job["extensions"]:
        extend(file)
    _target(job)


def _target(job: Job) -> AcceleratorTarget:
    target = discover.target(job["target"])
    assert isinstance(target, AcceleratorTarget)  # noqa: S101
    return target


def _work(job: Job) -> str:
    target, folder = _target(job), Path(job["folder"])
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in job["options"].items()}
    with target.runtime(target.options(**given)) as device:
        assert isinstance(device, DriverDevice)  # noqa: S101
        runs = _tried(device, job, folder)
        with StreamClock(device, 0) as clock:
            samples = clock.steady_samples(list(runs.values()), max(1, job["rounds"]))
    return json.dumps(dict(zip(runs, samples, strict=True)))


def _tried(device: DriverDevice, job: Job, folder: Path) -> dict[str, Callable[[], None]]:
    """Warm up each launch, and return its function; the progress file names the running one."""
    arrays = [device.array(np.fromfile(folder / name, np.uint8)) for name in job["arrays"]]
    runs: dict[str, Callable[[], None]] = {}
    for number, launch in job["launches"].items():
        (folder / PROGRESS).write_text(number)
        run = _run(device, launch, arrays, folder)
        for _ in range(max(1, job["warmup"])):
            run()
            _streams(device).wait(0)
        runs[number] = run
    (folder / PROGRESS).write_text("")
    return runs


def _run(
    device: DriverDevice, launch: dict[str, Any], arrays: list[DeviceArray], folder: Path
) -> Callable[[], None]:
    module = device.load_module((folder / launch["image"]).read_bytes())
    function = device.get_module_function(module, launch["symbol"])
    left = iter(arrays)
    words = [next(left) if word is None else WORDS[word[0]](word[1]) for word in launch["words"]]
    buffers = [device.zeros(nbytes, "uint8") for nbytes in launch["buffers"]]
    arguments = [*words, *buffers]
    make = support_of(device)[2].tensor_map
    for argument, given in launch["maps"]:
        assert make is not None  # noqa: S101
        moved = {**given, "address": arguments[argument].address + given["address"]}
        arguments.append(device.array(np.frombuffer(make(TensorMap(**moved)), np.uint8)))
    return partial(_again, device, function, arguments, buffers, launch["grid"])


def _again(
    device: DriverDevice,
    function: Any,
    arguments: list[Any],
    buffers: list[DeviceArray],
    grid: list[int],
) -> None:
    for buffer in buffers:
        _streams(device).fill_zero(0, buffer.address, buffer.nbytes)
    _streams(device).launch(0, function, arguments, grid)


def _streams(device: DriverDevice) -> Any:
    return device.streams
