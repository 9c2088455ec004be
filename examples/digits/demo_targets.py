# SPDX-License-Identifier: Apache-2.0
"""The targets of the demo, one per row of its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def _host() -> None:
    """The host has no device to open."""


def _nothing() -> str | None:
    return None


@dataclass(frozen=True)
class DemoTarget:
    """One row of the demo.

    Attributes:
        label: its name in the table and for --targets.
        open: opens a new device, which the demo closes; None for the host itself.
        options: further arguments of `xtc.compile`.
        bytes_moved: bytes copied to and from the device so far; None if nothing is copied.
        modelled_seconds: modelled time of a simulated device so far.
        int8: whether it runs the models' int8 form.
        quantized: whether it runs the float form quantized by `xtc.quantize`, which may misread
            one more image in a hundred.
        batch: images per call, if the target fixes it.
        board: whether it is a board, whose flash, RAM and instructions are reported.
        timed: whether the wall time of a batch is meaningful.
        missing: what this machine lacks to run the row, or None.
    """

    label: str
    open: Callable[[], Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    bytes_moved: Callable[[Any], int] | None = None
    modelled_seconds: Callable[[Any], float] | None = None
    int8: bool = False
    quantized: bool = False
    batch: int | None = None
    board: bool = False
    timed: bool = True
    missing: Callable[[], str | None] = _nothing


def _mppa() -> Any:
    from xtc_targets.mppa import MppaDevice

    return MppaDevice()


def _simulated_gpu() -> Any:
    from xtc_targets.nvgpu import NvgpuDevice

    return NvgpuDevice()


def _dpus() -> Any:
    from xtc_targets.upmem import UpmemDevice

    return UpmemDevice(nr_dpus=64)


def _without_dpus() -> str | None:
    from xtc_targets.upmem import UpmemDevice

    return UpmemDevice.detect_accelerator()


def _board() -> Any:
    from xtc_targets.embedded import EmbeddedBoard

    return EmbeddedBoard(str(Path(__file__).with_name("cortex-m7.yaml")))


def _without_boards() -> str | None:
    from xtc_targets.embedded.simulator import unavailable

    return unavailable()


def _gpu() -> Any:
    from xtc_targets.nvgpu import NvgpuDevice
    from xtc_targets.nvgpu.hardware import first_gpu

    return NvgpuDevice(first_gpu())


def _without_gpu() -> str | None:
    from xtc_targets.nvgpu.hardware import unavailable

    return unavailable()


def _mppa_seconds(device: Any) -> float:
    return float(device.counters()["modelled.mppa.SECONDS"])


def _dpu_seconds(device: Any) -> float:
    return float(device.counters()["modelled.upmem.SECONDS"])


def _dpu_bytes(device: Any) -> int:
    counters = device.counters()
    return int(counters["upmem.BYTES_TO_DEVICE"] + counters["upmem.BYTES_FROM_DEVICE"])


def _bytes_moved(device: Any) -> int:
    counters = device.counters()
    target = device.target_name
    return int(counters[f"{target}.H2D_BYTES"] + counters[f"{target}.D2H_BYTES"])


TARGETS = {
    target.label: target
    for target in (
        DemoTarget("host", _host),
        DemoTarget("host (C)", _host, {"codegen": "c"}),
        DemoTarget("mppa:sim", _mppa, bytes_moved=_bytes_moved, modelled_seconds=_mppa_seconds),
        DemoTarget("nvgpu:sim", _simulated_gpu, bytes_moved=_bytes_moved, timed=False),
        DemoTarget(
            "upmem:sim",
            _dpus,
            bytes_moved=_dpu_bytes,
            modelled_seconds=_dpu_seconds,
            int8=True,
            missing=_without_dpus,
        ),
        *(
            DemoTarget(
                label,
                _board,
                batch=1,
                board=True,
                quantized=quantized,
                timed=False,
                missing=_without_boards,
            )
            for label, quantized in (("cortex-m7:sim", False), ("cortex-m7:sim int8", True))
        ),
        DemoTarget("nvgpu:hw", _gpu, bytes_moved=_bytes_moved, missing=_without_gpu),
    )
}


def left_out() -> dict[str, str]:
    """The rows that this machine cannot run, each with the reason."""
    reasons = {label: target.missing() for label, target in TARGETS.items()}
    return {label: reason for label, reason in reasons.items() if reason is not None}
