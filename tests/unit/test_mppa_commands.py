# SPDX-License-Identifier: Apache-2.0
"""Kalray's tools get the expected arguments, and its host library is called as in public uses.

The programs are stand-ins that record their arguments; the library's device is this process.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.unit.mppa_support import Kernels
from xtc.core.errors import (
    ArtifactError,
    DeviceLost,
    DeviceMemoryError,
    DeviceNotFound,
    LaunchError,
)
from xtc.runtime import NativeUnit
from xtc.runtime.native import compile_unit
from xtc.system import tool
from xtc_targets.mppa import vendor_commands
from xtc_targets.mppa.device import MppaDevice
from xtc_targets.mppa.options import MppaOptions

STAND_IN = Path(__file__).parent / "mppa_toolchain"
PROGRAMS = ("kvx-cos-gcc", "kvx-cluster", "kvx-qemu-offload-bridge", "kvx-board-diag")
RECORDER = f"""#!{sys.executable}
import json, os, pathlib, sys, time
folder = pathlib.Path(__file__).parents[1]
name = pathlib.Path(__file__).name
with open(folder / "calls", "a") as calls:
    calls.write(json.dumps([name, *sys.argv[1:]]) + "\\n")
if name == "kvx-board-diag":
    print((folder / "boards").read_text())
if name in ("kvx-cluster", "kvx-qemu-offload-bridge"):
    time.sleep(600)
"""

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the layout of the vendor's toolchain, whose programs record their calls."""
    folder = tmp_path / "toolchain"
    for part in ("bin", "lib", "include"):
        (folder / part).mkdir(parents=True)
    for program in PROGRAMS:
        (folder / "bin" / program).write_text(RECORDER)
        (folder / "bin" / program).chmod(0o755)
    (folder / "boards").write_text("Board 0: K300")
    header = "mppa_offload_host.h"
    (folder / "include" / header).write_text((STAND_IN / header).read_text())
    _build_library(folder / "lib")
    monkeypatch.setenv("STAND_IN_LOG", str(folder / "log"))
    return folder


def _build_library(folder: Path) -> None:
    source, empty = STAND_IN / "mppa_offload_host.c", folder / "empty.c"
    empty.write_text("int mppa_stand_in;\n")
    flags = ("-fvisibility=default", "-Werror")
    for name, program in (
        ("mppa_offload_host", source),
        ("mopd", empty),
        ("mppa_rproc_host", empty),
    ):
        unit = NativeUnit(f"lib{name}.so", "library", (program,), (STAND_IN,), ("dl",), flags)
        compile_unit(unit, folder)


def recorded(toolchain: Path) -> list[list[str]]:
    """The recorded calls: program and arguments."""
    path = toolchain / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def log(toolchain: Path) -> list[str]:
    return (toolchain / "log").read_text().splitlines()


def run(words: vendor_commands.Words) -> None:
    tool.run(words, what="a command of Kalray's", install_hint="none")


def test_kernels_are_compiled_and_linked(toolchain: Path, tmp_path: Path) -> None:
    k, o, so, ld = (tmp_path / name for name in ("k.c", "k.o", "libkvx.so", "k.ld"))
    run(vendor_commands.compile_kernel(toolchain, "kv3-2", k, o))
    run(vendor_commands.link_kernels(toolchain, "kv3-1", [o, k], ld, so))
    assert recorded(toolchain) == [
        [
            *("kvx-cos-gcc", "-O2", "-fPIC", "-march=kv3-2", "-DBUILD_ID=0"),
            *("-fvect-cost-model=cheap", "-fstack-limit-register=sr"),
            *("-c", str(k), "-o", str(o)),
        ],
        [
            *("kvx-cos-gcc", "-shared", "-fPIC", "-march=kv3-1", "-Wl,-soname=libkvx.so"),
            *(f"-Wl,-T,{ld}", str(o), str(k), "-o", str(so)),
        ],
    ]


SIMULATORS: dict[str, Callable[[Path], list[str]]] = {
    "iss": lambda work: [
        *("kvx-cluster", "--disable-cache", "--march=kv3-2", "--no-load-elf"),
        *("--sim-server=SOCKET", "--mmap", f"--mppa-wdir={work}/mymppa"),
    ],
    "qemu": lambda work: [
        *("kvx-qemu-offload-bridge", "--arch", "kv3-2"),
        *("--work-dir", f"{work}/mymppa"),
    ],
}


def device_of(platform: Any, toolchain: Path, **config: Any) -> MppaDevice:
    return MppaDevice(MppaOptions(platform=platform, toolchain_dir=toolchain, **config))


def wait_for_calls(toolchain: Path) -> list[list[str]]:
    """The recorded calls, once there are any."""
    limit = time.monotonic() + 60
    while not recorded(toolchain) and time.monotonic() < limit:
        time.sleep(0.01)
    return recorded(toolchain)


@pytest.mark.parametrize("platform", ["iss", "qemu"])
def test_the_vendors_simulator_runs_as_long_as_its_device(
    platform: str, toolchain: Path, tmp_path: Path
) -> None:
    before = set(psutil.Process().children(recursive=True))
    with device_of(platform, toolchain, work_dir=tmp_path) as device:
        assert device.is_modelled
        device.init_device()
        assert wait_for_calls(toolchain) == [SIMULATORS[platform](tmp_path)]
        assert (tmp_path / "mymppa").is_dir()
        assert len(set(psutil.Process().children(recursive=True)) - before) == 1
    assert set(psutil.Process().children(recursive=True)) == before
    firmware = toolchain / "share/pocl/linux_pcie/kv3-2/ocl_fw_l1.elf"
    created = f"create {firmware} queues=5 mode=sim path={tmp_path}/mymppa"
    assert [line for line in log(toolchain) if not line.startswith("alloc")] == [created, "destroy"]


def test_hardware_is_detected_first(toolchain: Path) -> None:
    with device_of("hw", toolchain, arch="kv3-1") as device:
        device.init_device()
        assert device.is_modelled is False
    assert recorded(toolchain) == [["kvx-board-diag", "--list-board"]]
    assert log(toolchain)[0] == "create kalray/opencl/ocl_fw_l1.elf queues=5 mode= path="
    (toolchain / "boards").write_text("No Available board")
    with pytest.raises(DeviceNotFound, match="no MPPA board") as error:
        device_of("hw", toolchain).init_device()
    assert error.value.notes == ("No Available board",)


def test_kernels_run_through_the_vendors_library(toolchain: Path) -> None:
    with device_of("hw", toolchain, clusters=3) as device:
        kernels = Kernels(device)
        array, back = device.array(np.array([20, 5])), np.zeros(2, np.int64)
        queue = device.queue()
        queue.launch(kernels.step, [array, 2])
        queue.copy_within(array.address + 8, array.address, 8)
        queue.copy_from(back.data, array.address)
        queue.wait()
        assert back.tolist() == [41, 41]
        assert sorted(line for line in log(toolchain) if line.startswith("exec")) == [
            f"exec 1 on {cluster}" for cluster in range(3)
        ]
        device.memory_fill_zero(array.address + 8, 8)
        assert array.numpy().tolist() == [41, 0]
        assert device.memory_info()[0] == 16
        array.free()
        assert device.memory_info()[0] == 0
        device.unload_module(kernels.module)
        assert dict(device.counters()) == {}


def test_errors_are_detected_before_the_vendors_library_is_called(toolchain: Path) -> None:
    with device_of("hw", toolchain) as device:
        address = device.memory_allocate(8)
        wrong: list[tuple[type[Exception], Callable[[], object]]] = [
            (DeviceMemoryError, lambda: device.memory_copy_to(address, memoryview(bytes(9)))),
            (DeviceMemoryError, lambda: device.memory_fill_zero(address + 1, 8)),
            (DeviceMemoryError, lambda: device.memory_free(address + 1)),
            (DeviceMemoryError, lambda: device.memory_allocate(1 << 40)),
            (DeviceMemoryError, lambda: device.memory_allocate(0)),
            (DeviceMemoryError, lambda: device.memory_data_pointer(8)),
            (ArtifactError, lambda: device.load_module(b"no machine code")),
            (LaunchError, lambda: Kernels(device).nothing),
        ]
        for error, use in wrong:
            with pytest.raises(error):
                use()
        assert device.memory_data_pointer(address + 7) == address + 7
    with pytest.raises(DeviceLost):
        device.memory_allocate(8)


def test_a_refusal_of_the_vendors_library_leaks_nothing(
    toolchain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(psutil.Process().children(recursive=True))
    monkeypatch.setenv("STAND_IN_FAILS", "1")
    with pytest.raises(DeviceNotFound, match="mppa_offload_create failed"):
        device_of("iss", toolchain, work_dir=tmp_path).init_device()
    assert set(psutil.Process().children(recursive=True)) == before


def test_an_incomplete_toolchain_is_refused(toolchain: Path, tmp_path: Path) -> None:
    (toolchain / "bin" / "kvx-cluster").unlink()
    with pytest.raises(DeviceNotFound, match=r"no program .*/kvx-cluster"):
        device_of("iss", toolchain).init_device()
    (toolchain / "bin" / "kvx-board-diag").unlink()
    with pytest.raises(DeviceNotFound, match="kvx-board-diag"):
        device_of("hw", toolchain).init_device()
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DeviceNotFound, match=r"building libmppa_driver_vendor\.so failed") as error:
        device_of("hw", empty).init_device()
    assert "mppa_offload_host.h" in str(error.value)
