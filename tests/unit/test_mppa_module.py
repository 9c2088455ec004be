# SPDX-License-Identifier: Apache-2.0
"""Artefacts on the simulated MPPA: host code reaches devices through the driver table."""

from __future__ import annotations

import functools
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.unit.mppa_support import KERNEL_FLAGS, SOURCES, image
from xtc.core.errors import (
    ArtifactError,
    DeviceFault,
    DeviceLost,
    DeviceMemoryError,
    UserError,
)
from xtc.core.offload.native import NativeUnit, compile_unit
from xtc.interfaces.artifact import Argument, Artifact, Manifest
from xtc_targets.mppa.config import MppaConfig
from xtc_targets.mppa.device import MppaDevice

MACHINE = {"arch": "kv3-2", "clusters": "5", "pes": "16"}
VALUE = (Argument("value", "int64", (1,), "output"),)


@functools.cache
def host_library() -> bytes:
    unit = NativeUnit("host.so", "library", (SOURCES / "mppa_host.c",), flags=KERNEL_FLAGS)
    with tempfile.TemporaryDirectory() as folder:
        return compile_unit(unit, Path(folder)).read_bytes()


def artifact(folder: Path, entry: str, **changes: object) -> Artifact:
    """The host code, with `entry`, and the test kernels."""
    files = {"host.so": host_library(), "device.so": image()}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    facts = {"target": "mppa", "toolchain": MACHINE, "files": hashes, **changes}
    manifest = Manifest(entry=entry, arguments=VALUE, **facts)  # type: ignore[arg-type]
    return Artifact(manifest, folder)


pytestmark = pytest.mark.usefixtures("collected")


@pytest.fixture
def device() -> Iterator[MppaDevice]:
    with MppaDevice() as one:
        yield one


def test_generated_code_computes_on_the_device(device: MppaDevice, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((80, 64), np.float32), rng.random((64, 64), np.float32)
    c = np.zeros_like(a)
    module = device.load(artifact(tmp_path, "product"))
    call = module.bind([array.ctypes.data for array in (a, b, c)])
    for _ in range(3):
        c[:] = 0
        call()
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    c[:] = 0
    device.evaluate(module, [array.ctypes.data for array in (a, b, c)])
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert device.memory_info()[0] == 0
    device.unload(module)
    device.unload(module)
    with pytest.raises(UserError, match="the module is closed"):
        call()


def test_code_for_two_devices_runs_on_those_given(device: MppaDevice, tmp_path: Path) -> None:
    value = np.array([7])
    with MppaDevice() as other:
        module = device.load(artifact(tmp_path, "relay"), {"mppa1": other})
        module.bind([value.ctypes.data])()
        assert value[0] == 7101
        launches = "mppa.LAUNCHES.cluster.0.pe.0"
        assert (device.counters()[launches], other.counters()[launches]) == (1, 1)
    alone = device.load(artifact(tmp_path, "relay"))
    value[0] = 1
    alone.bind([value.ctypes.data])()
    assert value[0] == 1101
    assert device.counters()[launches] == 3


def test_one_file_serves_several_devices(device: MppaDevice, tmp_path: Path) -> None:
    built, value = artifact(tmp_path, "relay"), np.array([0])
    with MppaDevice() as other:
        calls = [one.load(built).bind([value.ctypes.data]) for one in (device, other)]
        for call in (*calls, *calls):
            call()
        launches = "mppa.LAUNCHES.cluster.0.pe.0"
        assert (device.counters()[launches], other.counters()[launches]) == (4, 4)


def test_a_failure_inside_the_code_is_raised_and_the_next_call_works(
    device: MppaDevice, tmp_path: Path
) -> None:
    value = np.array([1])
    call = device.load(artifact(tmp_path, "fails")).bind([value.ctypes.data])
    for _ in range(2):
        with pytest.raises(DeviceMemoryError, match=f"mppa0: cannot allocate {1 << 50} bytes"):
            call()
    value[0] = 5
    call()
    value[0] = 2
    with pytest.raises(DeviceFault, match="launch: kernel 'faults' on cluster 2, PE 5"):
        call()
    with pytest.raises(DeviceLost):
        call()


def test_a_device_that_was_closed_runs_no_code(device: MppaDevice, tmp_path: Path) -> None:
    value = np.array([3])
    module = device.load(artifact(tmp_path, "fails"))
    device.close()
    with pytest.raises(DeviceLost):
        module.bind([value.ctypes.data])()
    module.close()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"target": "host"}, "mppa0 cannot load code for host"),
        (
            {"toolchain": {**MACHINE, "arch": "kv3-1"}},
            "compiled for arch kv3-1, and mppa0 has kv3-",
        ),
        ({"toolchain": {**MACHINE, "clusters": "2"}}, "compiled for clusters 2, and mppa0 has 5"),
        ({"toolchain": {}}, "compiled for arch None"),
        ({"files": {}}, "no file 'host.so'"),
    ],
)
def test_code_for_another_machine_is_refused(
    device: MppaDevice, tmp_path: Path, changes: dict[str, object], what: str
) -> None:
    with pytest.raises(ArtifactError, match=what):
        device.load(artifact(tmp_path, "relay", **changes))


def test_a_library_that_is_none_is_refused(device: MppaDevice, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no function 'missing'"):
        device.load(artifact(tmp_path, "missing"))
    built = artifact(tmp_path, "relay")
    (tmp_path / "host.so").write_bytes(image())
    with pytest.raises(ArtifactError, match=r"cannot be loaded|no function"):
        device.load(built)
    assert device.memory_info()[0] == 0


def test_a_stand_in_has_to_be_an_mppa(device: MppaDevice, tmp_path: Path) -> None:
    from xtc_targets.null import NullDevice

    with NullDevice() as other, pytest.raises(UserError, match="uses mppa1 as an MPPA"):
        device.load(artifact(tmp_path, "relay"), {"mppa1": other})


def test_the_configuration_may_leave_a_part_of_the_machine(tmp_path: Path) -> None:
    with MppaDevice(MppaConfig(clusters=2, pes=8)) as device:
        built = artifact(tmp_path, "relay", toolchain={**MACHINE, "clusters": "2", "pes": "8"})
        value = np.array([1])
        device.load(built).bind([value.ctypes.data])()
        assert value[0] == 1101
