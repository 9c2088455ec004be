# SPDX-License-Identifier: Apache-2.0
"""MppaOptions: defaults, and options refused before a device is opened."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from xtc.core.errors import DeviceNotFound, UserError
from xtc_targets.mppa.description import COOLIDGE_V1, COOLIDGE_V2
from xtc_targets.mppa.device import MppaDevice
from xtc_targets.mppa.options import MppaOptions


def test_the_default_is_the_simulated_newer_machine() -> None:
    options = MppaOptions()
    assert (options.platform, options.arch, options.machine) == ("sim", "kv3-2", COOLIDGE_V2)
    assert (options.cluster_count, options.pe_count, options.clock) == (5, 16, 1.2e9)
    assert (options.sim_schedule, options.dma_mode, options.ddr_bytes) == (
        "sequential",
        "synchronous",
        1 << 30,
    )


def test_options_compare_by_value() -> None:
    options = MppaOptions(arch="kv3-1", clusters=2, pes=4, clock_hz=8e8)
    assert options == MppaOptions(arch="kv3-1", clusters=2, pes=4, clock_hz=8e8)
    assert hash(options) == hash(dataclasses.replace(options))
    assert (options.machine, options.cluster_count, options.pe_count) == (COOLIDGE_V1, 2, 4)
    assert options.clock == 8e8
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.arch = "kv3-2"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"platform": "simulator"}, "platform='simulator' is not one of sim, iss, qemu, hw"),
        ({"platform": None}, "platform=None is not one of"),
        ({"arch": "kv3-3"}, "arch='kv3-3' is not one of kv3-1, kv3-2"),
        ({"sim_schedule": "random"}, "sim_schedule='random' is not one of"),
        ({"dma_mode": "lazy"}, "dma_mode='lazy' is not one of synchronous, deferred"),
        ({"clusters": 0}, "clusters=0 is not a whole number from 1 to 5"),
        ({"clusters": 6}, "clusters=6 is not"),
        ({"clusters": True}, "clusters=True is not"),
        ({"clusters": 2.0}, r"clusters=2\.0 is not"),
        ({"pes": 17}, "pes=17 is not a whole number from 1 to 16"),
        ({"seed": -1}, "seed=-1 is not"),
        ({"seed": 2**64}, "seed=18446744073709551616 is not"),
        ({"ddr_bytes": 1000}, "ddr_bytes=1000 is not a whole number from 1048576 to"),
        ({"ddr_bytes": (1 << 20) + 64}, "ddr_bytes=1048640 is not a multiple of 1048576"),
        ({"ddr_bytes": 1 << 40}, "ddr_bytes=1099511627776 is not"),
        ({"timeout_s": 0}, "timeout_s=0 is not a positive number"),
        ({"timeout_s": math.inf}, "timeout_s=inf is not"),
        ({"timeout_s": math.nan}, "timeout_s=nan is not"),
        ({"timeout_s": None}, "timeout_s=None is not"),
        ({"clock_hz": -1.0}, r"clock_hz=-1\.0 is not a positive number"),
        ({"clock_hz": "1 GHz"}, "clock_hz='1 GHz' is not"),
        ({"firmware": ""}, "firmware='' is not the name of a file"),
        ({"firmware": "../x.elf"}, "firmware='../x.elf' is not the name of a file"),
        ({"work_dir": 3}, "work_dir=3 is not a path"),
        ({"toolchain_dir": b"x"}, "toolchain_dir=b'x' is not a path"),
        ({"trace": 1}, "trace=1 is neither True nor False"),
    ],
)
def test_invalid_options_are_refused(given: dict[str, Any], what: str) -> None:
    with pytest.raises(UserError, match=what):
        MppaOptions(**given)


def test_a_similar_name_is_suggested() -> None:
    with pytest.raises(UserError) as error:
        MppaOptions(arch="kv3_2")
    assert error.value.hints == ("did you mean 'kv3-2'?",)


@pytest.mark.parametrize(
    "given",
    [
        {"trace": True},
        {"sim_schedule": "shuffled"},
        {"seed": 1},
        {"dma_mode": "deferred"},
        {"ddr_bytes": 1 << 20},
        {"clock_hz": 1e9},
        {"timeout_s": 1.0},
        {"pes": 8},
    ],
)
@pytest.mark.parametrize("platform", ["iss", "qemu", "hw"])
def test_simulator_options_are_refused_for_other_platforms(
    given: dict[str, Any], platform: Any
) -> None:
    name = next(iter(given))
    with pytest.raises(UserError, match=f"{name}=.* is not for platform '{platform}'"):
        MppaOptions(platform=platform, **given)


@pytest.mark.parametrize("platform", ["iss", "qemu", "hw"])
def test_a_missing_toolchain_is_named_by_its_variable(
    platform: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("KALRAY_TOOLCHAIN_DIR", raising=False)
    with pytest.raises(DeviceNotFound, match="KALRAY_TOOLCHAIN_DIR is not set") as error:
        MppaDevice(MppaOptions(platform=platform)).init_device()
    assert any("set KALRAY_TOOLCHAIN_DIR" in hint for hint in error.value.hints)
    monkeypatch.setenv("KALRAY_TOOLCHAIN_DIR", str(tmp_path / "gone"))
    with pytest.raises(DeviceNotFound, match=f"no folder {tmp_path / 'gone'}"):
        MppaDevice(MppaOptions(platform=platform)).init_device()


def test_the_toolchain_option_overrides_the_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KALRAY_TOOLCHAIN_DIR", str(tmp_path))
    assert MppaOptions(platform="iss").toolchain() == tmp_path
    own = tmp_path / "own"
    own.mkdir()
    assert MppaOptions(platform="iss", toolchain_dir=own).toolchain() == own


def test_a_device_accepts_only_options() -> None:
    with pytest.raises(UserError, match="takes MppaOptions, not 'sim'"):
        MppaDevice("sim")  # type: ignore[arg-type]
