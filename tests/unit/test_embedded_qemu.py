# SPDX-License-Identifier: Apache-2.0
"""Boards in QEMU: the simulator's results and instruction counts, and located faults."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import xtc
from tests.unit.embedded_support import ALL_BOARDS, image_of, network
from tests.unit.test_embedded_board import DEEP, LOOP, STORE
from xtc.core.errors import ArtifactError, DeviceFault, DeviceNotFound, DeviceTimeout, UserError
from xtc_targets.embedded import EmbeddedBoard
from xtc_targets.embedded.emulated import emulator

pytest.importorskip("unicorn", reason="the simulator of boards needs the package unicorn")

M4 = "nucleo-l4r5zi"


def require_qemu(board: str = M4) -> None:
    program = emulator(EmbeddedBoard(board).description).program
    if shutil.which(program) is None:
        pytest.skip(f"QEMU is not installed: there is no {program} in PATH")


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_BOARDS)
def test_qemu_and_the_simulator_agree(name: str) -> None:
    require_qemu(name)
    counts = {}
    for platform in ("sim", "qemu"):
        with (
            EmbeddedBoard(name, platform=platform) as board,
            xtc.compile(network(), board) as module,
        ):
            module.check()
            found = board.counters()
            counts[platform] = found["embedded.INSTRUCTIONS"]
            assert found["embedded.STACK_BYTES"] > 0
    tick = emulator(board.description).tick
    assert abs(counts["qemu"] - counts["sim"]) <= tick


@pytest.mark.slow
def test_a_program_for_the_board_has_other_addresses() -> None:
    require_qemu()
    with EmbeddedBoard(M4) as real, xtc.compile(network(), real) as module:
        artifact = module.artifact
        with (
            EmbeddedBoard(M4, platform="qemu") as board,
            pytest.raises(ArtifactError, match=r"(.|\n)*platform='qemu'"),
        ):
            board.load(artifact)


@pytest.mark.slow
def test_the_option_chooses_the_platform() -> None:
    require_qemu()
    with xtc.compile(network(), "embedded", board=M4, platform="qemu") as module:
        module.check()
        assert getattr(module.host, "platform", "") == "qemu"
    with pytest.raises(UserError, match="option 'platform' of target 'embedded' cannot be 'jtag'"):
        xtc.compile(network(), "embedded", board=M4, platform="jtag")


@pytest.mark.slow
@pytest.mark.parametrize("name", [M4, "nrf5340", "nucleo-g0b1", "qemu-virt"])
def test_faults_are_located(name: str) -> None:
    require_qemu(name)
    where = "i64 1099511627776" if name == "qemu-virt" else "i32 3221225472"
    bad = STORE.replace("i32 1073741824", where)
    with EmbeddedBoard(name, platform="qemu") as board:
        board.flash(placed(bad, name))
        with pytest.raises(
            DeviceFault, match=r"'xtc_entry' failed at 0x\w{8}: an access at 0x\w+0000000"
        ):
            board.run()
        board.flash(placed(DEEP, name))
        with pytest.raises(DeviceFault, match=r"ran out of stack at (.|\n)*stack_bytes=2048"):
            board.run()
        board.flash(placed("define void @xtc_entry() {\n ret void\n}", name))
        board.run()


@pytest.mark.slow
def test_an_endless_loop_ends() -> None:
    require_qemu()
    with EmbeddedBoard(M4, platform="qemu", seconds_limit=0.1) as board:
        board.flash(placed(LOOP, M4))
        with pytest.raises(DeviceTimeout, match=r"'xtc_entry' ran past 0.1 s"):
            board.run()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_qemu_ends_with_its_parent_process(tmp_path: Path) -> None:
    require_qemu()
    image = tmp_path / "image.elf"
    image.write_bytes(placed("define void @xtc_entry() {\n ret void\n}", M4))
    text = (
        "import time\nfrom pathlib import Path\nfrom xtc_targets.embedded import EmbeddedBoard\n"
        f"board = EmbeddedBoard('{M4}', platform='qemu')\n"
        f"board.flash(Path({str(image)!r}).read_bytes())\n"
        "print(board._machine._process._process.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        group = int(child.stdout.readline())
        assert members(group)
        child.kill()
    end = time.monotonic() + 10
    while members(group) and time.monotonic() < end:
        time.sleep(0.05)
    assert not members(group)


def members(group: int) -> list[str]:
    """The running processes of a process group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(folder.name)
    return found


def test_a_closed_board_leaves_no_process() -> None:
    require_qemu()
    with EmbeddedBoard(M4, platform="qemu") as board:
        board.flash(placed("define void @xtc_entry() {\n ret void\n}", M4))
        process = board._machine._process._process  # type: ignore[union-attr]
    assert process.returncode is not None
    assert not members(process.pid)


def test_missing_prerequisites_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        DeviceNotFound,
        match=r"QEMU is not installed: there is no qemu-system-arm in PATH(.|\n)*apt",
    ):
        EmbeddedBoard(M4, platform="qemu")


def test_a_board_larger_than_the_machine_is_refused(tmp_path: Path) -> None:
    board = tmp_path / "large.yaml"
    board.write_text(
        "core: cortex-m4\nflash: {address: 0x08000000, bytes: 8388608}\n"
        "ram: {address: 0x20000000, bytes: 65536}\nclock_hz: 1000000\n"
    )
    with pytest.raises(UserError, match="QEMU's mps2-an386 has 4194304 bytes for FLASH, and large"):
        EmbeddedBoard(str(board), platform="qemu")


def placed(ir: str, board: str) -> bytes:
    """An image at the addresses of QEMU's machine."""
    return image_of(ir, board, platform="qemu")
