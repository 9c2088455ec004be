# SPDX-License-Identifier: Apache-2.0
"""Programs on simulated boards: correct results, exact counts, named faults, no leaks."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.embedded_support import BOARDS, image_of, network
from xtc.core.errors import (
    ArtifactError,
    CompileError,
    DeviceFault,
    DeviceLost,
    DeviceMemoryError,
    DeviceTimeout,
    UserError,
)
from xtc_targets.embedded import EmbeddedBoard
from xtc_targets.embedded.cycles import block_cycles

pytest.importorskip("unicorn", reason="the simulator of boards needs the package unicorn")

M4 = "nucleo-l4r5zi"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network, saved for an M4."""
    path = tmp_path_factory.mktemp("embedded") / "net"
    with xtc.compile(network(), "embedded", board=M4) as module:
        module.save(path)
    return path


@pytest.fixture
def board() -> Iterator[EmbeddedBoard]:
    with EmbeddedBoard(M4) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
def test_a_network_is_correct_on_every_core(name: str) -> None:
    with xtc.compile(network(), "embedded", board=name) as module:
        module.check()
        counters = module.host.counters()
    assert {"c", "r", "p", "m", "s"} <= {
        key.rpartition(".")[2] for key in counters if key.startswith("embedded.INSTRUCTIONS.")
    }
    parts = (v for k, v in counters.items() if k.startswith("embedded.INSTRUCTIONS."))
    assert counters["embedded.INSTRUCTIONS"] == sum(parts)


@pytest.mark.slow
def test_counts_are_exact_and_repeatable(board: EmbeddedBoard, folder: Path) -> None:
    module = xtc.load(folder, board)
    x = np.ones((1, 6, 6, 3), np.float32)
    first = module(x)
    before = board.counters()["embedded.INSTRUCTIONS"]
    board.run(repeat=3)
    assert board.counters()["embedded.INSTRUCTIONS"] == 4 * before
    again = np.frombuffer(board.read("net.s"), np.float32)
    np.testing.assert_array_equal(again, first.reshape(-1))


@pytest.mark.slow
def test_the_memory_map_has_regions_operators_and_buffers(
    folder: Path, board: EmbeddedBoard
) -> None:
    memory = xtc.load(folder, board).artifact.manifest.memory
    assert memory is not None
    names = {symbol.name for symbol in memory.symbols}
    assert {"net", "net.op.c", "net.x", "net.s", "xtc_stack", "net_arena"} <= names
    assert {s.region for s in memory.symbols} == {"FLASH", "RAM"}
    assert board.counters()["embedded.FLASH_BYTES"] == memory.used("FLASH")


@pytest.mark.slow
def test_a_program_for_another_board_is_refused(folder: Path) -> None:
    with (
        EmbeddedBoard("nucleo-g0b1") as other,
        pytest.raises(ArtifactError, match=r"for nucleo-l4r5zi \(cpu cortex-m4\).* nucleo-g0b1"),
    ):
        xtc.load(folder, other)


def test_an_image_for_another_core_is_refused(board: EmbeddedBoard) -> None:
    image = image_of("define void @xtc_entry() {\n ret void\n}", "qemu-virt")
    with pytest.raises(ArtifactError, match="the image is not for cortex-m4"):
        board.flash(image)
    with pytest.raises(ArtifactError, match="not an image for a board"):
        board.flash(b"\x7fELF" + bytes(8))


def test_options_follow_the_live_board(board: EmbeddedBoard) -> None:
    with pytest.raises(UserError, match="board='qemu-virt' does not fit embedded"):
        xtc.compile(network(), board, board="qemu-virt")
    with pytest.raises(UserError, match=r"there is no board 'nucleo-l4r5z'(.|\n)*nucleo-l4r5zi"):
        EmbeddedBoard("nucleo-l4r5z")


STORE = """
define void @xtc_entry() noinline {
  store volatile i32 1, ptr inttoptr (i32 1073741824 to ptr)
  ret void
}
"""
LOOP = """
define void @xtc_entry() {
  br label %again
again:
  %x = load volatile i32, ptr inttoptr (i32 536870912 to ptr)
  br label %again
}
"""
DEEP = """
define i32 @deeper(i32 %n) noinline {
  %room = alloca [64 x i32]
  store volatile i32 %n, ptr %room
  %more = add i32 %n, 1
  %r = call i32 @deeper(i32 %more)
  %v = load volatile i32, ptr %room
  %s = add i32 %r, %v
  ret i32 %s
}
define void @xtc_entry() {
  %r = call i32 @deeper(i32 0)
  ret void
}
"""
WRITE_CODE = """
define void @xtc_entry() {
  store volatile i32 1, ptr inttoptr (i32 134217728 to ptr)
  ret void
}
"""


def test_an_invalid_access_is_located(board: EmbeddedBoard) -> None:
    board.flash(image_of(STORE))
    with pytest.raises(
        DeviceFault, match=r"'xtc_entry' failed at 0x080000\w\w: a write of 4 bytes at 0x40000000"
    ):
        board.run()


def test_a_write_to_flash_is_located(board: EmbeddedBoard) -> None:
    board.flash(image_of(WRITE_CODE))
    with pytest.raises(DeviceFault, match=r"a write of 4 bytes at 0x08000000"):
        board.run()


def test_an_endless_loop_ends() -> None:
    with EmbeddedBoard(M4, instruction_limit=100_000) as limited:
        limited.flash(image_of(LOOP))
        with pytest.raises(DeviceTimeout, match=r"'xtc_entry' ran past 100000"):
            limited.run()


@pytest.mark.parametrize("name", [M4, "qemu-virt"])
def test_a_stack_overflow_is_located(name: str) -> None:
    with EmbeddedBoard(name) as opened:
        opened.flash(image_of(DEEP, name))
        with pytest.raises(
            DeviceFault, match=r"'deeper' ran out of stack at .*: it has 1024 bytes"
        ):
            opened.run()


@pytest.mark.slow
def test_a_program_that_does_not_fit_fails_with_its_largest_symbols() -> None:
    x = O.tensor((512, 1024), name="x")
    with O.graph(name="big") as gb:
        O.relu(x, name="y")
    with pytest.raises(DeviceMemoryError) as caught:
        xtc.compile(gb.graph, "embedded", board=M4)
    text = str(caught.value)
    assert "bytes of RAM, which has 655360" in text
    assert "RAM at 0x20000000: 4196" in text
    assert "FLASH at 0x08000000: " in text
    assert "2097152 bytes in the arena: argument0, from call 0 to" in text


@pytest.mark.slow
def test_float64_without_instructions_is_refused_by_name() -> None:
    with O.graph(name="wide") as gb:
        O.mul(O.tensor((4,), "float64"), O.tensor((4,), "float64"))
    with pytest.raises(CompileError, match=r"__aeabi_d(.|\n)*float64 needs a core"):
        xtc.compile(gb.graph, "embedded", board=M4)


@pytest.mark.slow
def test_maxima_of_float64_compile_for_cores_with_float64(tmp_path: Path) -> None:
    """Only code generation: the simulator's core has no float64."""
    path = tmp_path / "wide.yaml"
    path.write_text(
        "core: cortex-m7\nflash: {address: 0x08000000, bytes: 131072}\n"
        "ram: {address: 0x20000000, bytes: 65536}\nclock_hz: 72000000\n"
    )
    with O.graph(name="wide") as gb:
        O.reduce_max(O.tensor((16, 2), "float64"), axes=(1,), name="y")
    with xtc.compile(gb.graph, "embedded", board=str(path)) as module:
        assert "wide.op.y" in {s.name for s in module.artifact.manifest.memory.symbols}  # type: ignore[union-attr]


def test_a_closed_or_empty_board_refuses_calls() -> None:
    opened = EmbeddedBoard(M4)
    with pytest.raises(DeviceLost, match="has no program"):
        opened.run()
    opened.close()
    opened.close()
    with pytest.raises(DeviceLost, match="is closed"):
        opened.run()
    with pytest.raises(UserError, match="platform='wafer' is not one of sim, qemu, hw"):
        EmbeddedBoard(M4, platform="wafer")
    with pytest.raises(UserError, match=r"platform sim has no debug probe(.|\n)*platform='hw'"):
        EmbeddedBoard(M4, probe="0669")


def test_a_board_of_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = """
core: cortex-m4
flash: {address: 0x08000000, bytes: 131072}
ram: {address: 0x20000000, bytes: 65536}
clock_hz: 72000000
"""
    path.write_text(text)
    with EmbeddedBoard(str(path)) as mine:
        assert mine.description.flash.nbytes == 131072
    path.write_text(text.replace("cortex-m4", "z80"))
    with pytest.raises(UserError, match="unknown core 'z80'"):
        EmbeddedBoard(str(path))


@pytest.mark.slow
def test_firmware_in_c_links_the_library() -> None:
    pytest.importorskip("ziglang", reason="the firmware is compiled by the package ziglang")
    from examples.embedded import firmware

    readings = np.random.default_rng(2).integers(-128, 128, 16)
    weights = np.random.default_rng(0).standard_normal((16, 4))
    assert firmware.run(readings) == int((readings @ weights).argmax())


@pytest.mark.slow
def test_cycles_are_modelled_from_blocks_and_flash_wait_states(folder: Path) -> None:
    found = {}
    for waits in (0, 4):
        text = f"""
core: cortex-m4
flash: {{address: 0x08000000, bytes: 2097152}}
ram: {{address: 0x20000000, bytes: 655360}}
clock_hz: 100000000
flash_wait_states: {waits}
flash_line_bytes: 16
"""
        path = folder.parent / f"waits{waits}.yaml"
        path.write_text(text)
        with EmbeddedBoard(str(path)) as board:
            board.flash((folder / "image.elf").read_bytes())
            board.run()
            found[waits] = board.counters()
    cycles = {waits: counters["modelled.embedded.CYCLES"] for waits, counters in found.items()}
    lines = -(-found[4]["embedded.FLASH_BYTES"] // 16)
    assert cycles[4] - cycles[0] == 4 * lines
    assert 1 < cycles[0] / found[0]["embedded.INSTRUCTIONS"] < 2
    assert found[4]["modelled.embedded.SECONDS"] == cycles[4] / 100e6


@pytest.mark.parametrize(
    ("core", "cycles"),
    [
        ("cortex-m0plus", 1 + 2 + 1 + 1 + 1 + 1),
        ("cortex-m4", 1 + 2 + 1 + 1 + 1 + 2),
        ("cortex-m7", 3),
    ],
)
def test_cycles_of_a_block(core: str, cycles: int) -> None:
    """adds r0, #1; ldr r1, [r2]; adds r3, r1; muls r3, r4; bne."""
    code = struct.pack("<5H", 0x3001, 0x6811, 0x185B, 0x4363, 0xD1FA)
    assert block_cycles(code, core) == cycles


@pytest.mark.slow
def test_the_size_command_prints_sizes_or_what_does_not_fit(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from xtc_targets.embedded.commands import size

    graph = tmp_path / "graph.py"
    graph.write_text(
        "import xtc.ops as O\nwith O.graph(name='g') as gb:\n"
        "    O.relu(O.tensor((4096,), name='x'))\n"
    )
    assert size.run([str(graph), "--board", "nucleo-g0b1"]) == 0
    assert "of 147,456 bytes" in capfd.readouterr().out
    board = tmp_path / "small.yaml"
    board.write_text(
        "core: cortex-m4\nflash: {address: 0x08000000, bytes: 32768}\n"
        "ram: {address: 0x20000000, bytes: 8192}\nclock_hz: 1000000\n"
    )
    assert size.run([str(graph), "--board", str(board)]) == 1
    assert "bytes of RAM, which has 8192" in capfd.readouterr().err


@pytest.mark.slow
def test_sizes_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from xtc_targets.embedded.commands import size

    assert size.run([str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FLASH  0x08000000")
    assert lines[0].endswith("of 2,097,152 bytes")
    (x,) = [line.split() for line in lines if line.endswith("  x")]
    assert x[1] == "432"
    assert x[2].startswith("#")
