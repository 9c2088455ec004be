# SPDX-License-Identifier: Apache-2.0
"""Boards behind a debug probe: a stub of pyocd records requests, and runs the image."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

import xtc
from tests.unit.embedded_support import image_of, network
from xtc.core.errors import DeviceFault, DeviceLost, DeviceNotFound, DeviceTimeout, UserError
from xtc_targets.embedded import EmbeddedBoard

pytest.importorskip("unicorn", reason="the stub's machine needs the package unicorn")

from tests.unit.pyocd_stub import (
    CLOCKS,
    StubProgrammer,
    StubPyocd,
    StubSession,
    StubTarget,
)
from tests.unit.test_embedded_board import LOOP, STORE

M4 = "nucleo-l4r5zi"
NOTHING = "define void @xtc_entry() {\n ret void\n}"


@pytest.fixture
def pyocd(monkeypatch: pytest.MonkeyPatch) -> StubPyocd:
    return StubPyocd(M4).install(monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", [M4, "nucleo-g0b1"])
def test_a_network_runs_and_its_cycles_are_counted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = StubPyocd(name).install(monkeypatch)
    with (
        EmbeddedBoard(name, platform="hw") as board,
        xtc.compile(network(), target=board) as module,
    ):
        assert not board.is_modelled
        module.check()
        x = np.ones((1, 6, 6, 3), np.float32)
        first, before = module(x), board.counters()
        board.run(repeat=3)
        after = board.counters()
        again = np.frombuffer(board.read("net.s"), np.float32)
        np.testing.assert_array_equal(again, first.reshape(-1))
    assert not [key for key in after if "INSTRUCTIONS" in key or "modelled" in key]
    assert 0 < after["embedded.STACK_BYTES"] <= 2048
    if name == M4:
        assert after["embedded.CYCLES"] - before["embedded.CYCLES"] == 3 * CLOCKS
    else:
        assert "embedded.CYCLES" not in after
    assert stub.calls[-1] == ("close",)


def test_the_probe_gets_the_expected_requests(pyocd: StubPyocd) -> None:
    with EmbeddedBoard(M4, platform="hw", probe="FF48") as board:
        board.flash(image_of(NOTHING))
        nbytes = int(board.counters()["embedded.FLASH_BYTES"])
        flashed = list(pyocd.calls)
        board.run()
    assert flashed[:4] == [
        ("session", "0669FF48", "stm32l4r5zitx"),
        ("open",),
        ("program", 0x08000000, nbytes),
        ("reset_and_halt",),
    ]
    assert [call[0] for call in flashed[4:]] == ["write_memory_block8", "resume", "write32"]
    assert flashed[-1] == ("write32", 0xE0001000, 1)
    written = [call[1:] for call in pyocd.calls[len(flashed) :] if call[0] != "close"]
    assert [data for _, data in written[1:]] == [bytes(12), (0xE0001004).to_bytes(4, "little")]


def test_a_board_is_usable_after_an_exception(pyocd: StubPyocd) -> None:
    with EmbeddedBoard(M4, platform="hw") as board:
        board.flash(image_of(STORE))
        with pytest.raises(
            DeviceFault, match=r"'xtc_entry' failed at 0x080000\w\w: HardFault(.|\n)*'sim' names"
        ):
            board.run()
        board.flash(image_of(NOTHING))
        board.run()
        assert board.counters()["embedded.CYCLES"] == CLOCKS


def test_a_locked_up_core_is_reported(pyocd: StubPyocd) -> None:
    pyocd.target.handles_faults = False
    with EmbeddedBoard(M4, platform="hw") as board:
        board.flash(image_of(STORE))
        with pytest.raises(DeviceFault, match=r"'xtc_entry' stopped at 0x080000\w\w: the core is"):
            board.run()


def test_an_endless_loop_ends(pyocd: StubPyocd) -> None:
    with EmbeddedBoard(M4, platform="hw", seconds_limit=0.05) as board:
        board.flash(image_of(LOOP))
        with pytest.raises(DeviceTimeout, match=r"'xtc_entry' ran past 0.05 s"):
            board.run()
    with pytest.raises(UserError, match="seconds_limit=0 is not above 0"):
        EmbeddedBoard(M4, seconds_limit=0)


def test_a_lost_probe_is_reported(pyocd: StubPyocd) -> None:
    with EmbeddedBoard(M4, platform="hw") as board:
        board.flash(image_of(NOTHING))
        pyocd.target.is_lost = True
        with pytest.raises(DeviceLost, match=r"a read of \d+ bytes at 0x2000\w+ failed: no ACK"):
            board.run()


def test_missing_prerequisites_are_named(pyocd: StubPyocd, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceNotFound, match="no debug probe reaches qemu-virt"):
        EmbeddedBoard("qemu-virt", platform="hw")
    with pytest.raises(DeviceNotFound, match=r"no debug probe whose id has '12' is connected"):
        EmbeddedBoard(M4, platform="hw", probe="12")
    pyocd.probes.append("0670AA")
    with pytest.raises(
        DeviceNotFound, match=r"2 debug probes are connected: 0669FF48, 0670AA(.|\n)*probe='0669"
    ):
        EmbeddedBoard(M4, platform="hw")
    pyocd.probes = []
    with pytest.raises(DeviceNotFound, match=r"no debug probe is connected(.|\n)*pyocd list"):
        EmbeddedBoard(M4, platform="hw")
    pyocd.probes, pyocd.knows_machine = ["1"], False
    with pytest.raises(
        DeviceNotFound, match=r"pyocd does not know (.|\n)*pyocd pack install stm32l4r5zitx"
    ):
        EmbeddedBoard(M4, platform="hw")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DeviceNotFound, match="the package pyocd is not installed: pip install"):
        EmbeddedBoard(M4, platform="hw")


def test_the_stub_has_the_parameters_of_pyocd(tmp_path: Path) -> None:
    """Each parameter of the stub is one of pyocd's, in the same position."""
    pytest.importorskip("pyocd", reason="needs the package pyocd, which the stub stands for")
    from pyocd.core.helpers import ConnectHelper
    from pyocd.core.session import Session
    from pyocd.core.soc_target import SoCTarget
    from pyocd.core.target import Target
    from pyocd.flash.file_programmer import FileProgrammer

    pairs: list[tuple[type, type, str]] = []
    pairs += [(StubPyocd, ConnectHelper, "get_all_connected_probes session_with_chosen_probe")]
    pairs += [(StubSession, Session, "open close"), (StubProgrammer, FileProgrammer, "program")]
    pairs += [(StubTarget, SoCTarget, "reset_and_halt resume halt get_state read_core_register")]
    pairs += [(StubTarget, SoCTarget, "read_memory_block8 write_memory_block8 read32 write32")]
    for stub, real, names in pairs:
        for name in names.split():
            ours, theirs = (
                [p for p in inspect.signature(getattr(c, name)).parameters if p != "self"]
                for c in (stub, real)
            )
            if name == "program":
                ours.remove("base_address")
            assert ours == theirs[: len(ours)], name
    assert {s.name: s.value for s in StubTarget.State} == {s.name: s.value for s in Target.State}
