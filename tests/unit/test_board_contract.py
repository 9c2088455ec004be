# SPDX-License-Identifier: Apache-2.0
"""Boards of all kinds satisfy one contract: the same errors, lifetime and results, no leaks."""

from __future__ import annotations

import gc
import re
import signal
import struct
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import psutil
import pytest

import xtc
from tests.unit.board_contract import (
    EMBEDDED,
    FAULTS,
    KINDS,
    RESULT,
    WITHOUT_SIMULATOR,
    A,
    B,
    Kind,
    faulty,
    find_simulated,
)
from xtc.core import discover
from xtc.core.errors import ArtifactError, DeviceFault, DeviceLost, DeviceTimeout, UserError
from xtc.interfaces.artifact import Artifact
from xtc.interfaces.runtime import EmbeddedDevice
from xtc.runtime import Board
from xtc_targets.embedded.link.executable import read_executable

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


def skipped(kind: Kind) -> object:
    """The parameter of a kind, with the reason if it cannot run here."""
    missing = bool(kind.embedded and WITHOUT_SIMULATOR)
    mark = pytest.mark.skipif(missing, reason=str(WITHOUT_SIMULATOR))
    return pytest.param(kind, marks=mark, id=str(kind))


ALL = [skipped(kind) for kind in KINDS]
FAILING = pytest.mark.parametrize("kind", [skipped(kind) for kind in EMBEDDED])


@pytest.fixture(autouse=True)
def _target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the simulated board's target available like an installed one."""
    monkeypatch.setattr(discover, "target", find_simulated())


@pytest.fixture(params=ALL)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each board in turn."""
    found: Kind = request.param
    return found


@pytest.fixture
def board(kind: Kind) -> Iterator[Board]:
    with kind.open() as opened:
        yield opened


def uses(kind: Kind, board: Board) -> dict[str, Callable[[], object]]:
    """Every operation that needs a program on the board."""
    data = B.tobytes()
    return {
        "write": lambda: board.write(kind.symbol("B"), data),
        "read": lambda: board.read(kind.symbol("C")),
        "run": board.run,
    }


def result(kind: Kind, board: Board) -> np.ndarray:
    """The board's result, computed by hand."""
    board.write(kind.symbol("A"), A.tobytes())
    board.write(kind.symbol("B"), B.tobytes())
    board.run()
    return read(kind, board)


def read(kind: Kind, board: Board) -> np.ndarray:
    return np.frombuffer(board.read(kind.symbol("C")), np.float32).reshape(4, 4)


def test_a_board_has_name_target_and_number(board: Board) -> None:
    assert isinstance(board, EmbeddedDevice)
    assert board.device_name == f"{board.target_name}{board.device_id}"
    assert board.is_modelled
    assert board.device_arch


def test_boards_get_the_lowest_free_number(kind: Kind) -> None:
    with kind.open() as first, kind.open() as second:
        names = [first.device_name, second.device_name]
        assert names == [f"{first.target_name}{n}" for n in (0, 1)]
        first.close()
        with kind.open() as third:
            assert third.device_name == names[0]
            first.close()
            assert kind.open().device_name == f"{first.target_name}2"


def test_a_collected_board_releases_its_number(kind: Kind) -> None:
    forgotten = kind.open()
    forgotten.flash(kind.image())
    name = forgotten.device_name
    del forgotten
    gc.collect()
    with kind.open() as board:
        assert board.device_name == name


def test_a_loaded_artifact_runs_repeatedly(kind: Kind, board: Board) -> None:
    module = xtc.load(kind.artifact().folder, board)
    for _ in range(3):
        np.testing.assert_allclose(module(A, B), RESULT, rtol=1e-5)


def test_an_image_is_flashed_and_used_by_symbol(kind: Kind, board: Board) -> None:
    board.flash(kind.image())
    np.testing.assert_allclose(result(kind, board), RESULT, rtol=1e-5)
    assert board.read(kind.symbol("C")) == board.read(kind.symbol("C"))


def test_each_run_begins_with_the_inputs_that_were_written(kind: Kind, board: Board) -> None:
    board.flash(kind.image())
    first = result(kind, board)
    for repeat in (1, 3):
        board.run(repeat)
        np.testing.assert_array_equal(read(kind, board), first)
    board.write(kind.symbol("A"), bytes(A.nbytes))
    board.run()
    assert not read(kind, board).any()


def test_counters_cover_all_runs_and_survive_close(kind: Kind, board: Board) -> None:
    board.flash(kind.image())
    start = dict(board.counters())
    board.run()
    once = {name: value - start.get(name, 0) for name, value in board.counters().items()}
    board.run(3)
    counted = "embedded.INSTRUCTIONS" if kind.embedded else "modelled.cycles"
    total = board.counters()[counted] - start.get(counted, 0)
    assert once[counted] > 0
    assert total == 4 * once[counted]
    board.close()
    assert board.counters()[counted] == total + start.get(counted, 0)


def test_an_empty_board_runs_nothing(kind: Kind, board: Board) -> None:
    for use in uses(kind, board).values():
        with pytest.raises(DeviceLost, match=f"^{board.device_name} has no program"):
            use()


def test_a_closed_board_refuses_everything(kind: Kind) -> None:
    board, image = kind.open(), kind.image()
    loaded = board.load(kind.artifact())
    call = loaded.bind([0] * 3)
    board.close()
    board.close()
    others = {
        "flash": lambda: board.flash(image),
        "load": lambda: board.load(kind.artifact()),
        "call": call,
        "evaluate": lambda: board.evaluate(loaded, [0] * 3),
    }
    for use in (uses(kind, board) | others).values():
        with pytest.raises(DeviceLost, match=f"^{board.device_name} is closed$"):
            use()
    board.unload(loaded)


@pytest.mark.parametrize("repeat", [0, -1, True, 1.5, "1"])
def test_an_invalid_number_of_runs_is_refused(kind: Kind, board: Board, repeat: int) -> None:
    board.flash(kind.image())
    with pytest.raises(UserError, match="repeat"):
        board.run(repeat)


def test_symbols_are_checked(kind: Kind, board: Board) -> None:
    board.flash(kind.image())
    name = kind.symbol("A")
    with pytest.raises(UserError, match=f"no symbol '{name}s'") as info:
        board.write(f"{name}s", b"")
    assert info.value.hints == (f"did you mean '{name}'?",)
    with pytest.raises(UserError, match="no symbol 'nothing'"):
        board.read("nothing")
    for nbytes in (0, 63, 65):
        with pytest.raises(UserError, match=f"'{name}' has 64 bytes, not {nbytes}"):
            board.write(name, bytes(nbytes))


def test_a_refused_program_of_another_board_keeps_the_current_one(kind: Kind, board: Board) -> None:
    board.load(kind.artifact())
    before = result(kind, board)
    for other in KINDS:
        if other is kind or (other.embedded and WITHOUT_SIMULATOR):
            continue
        with pytest.raises(ArtifactError):
            board.load(other.artifact())
    board.run()
    np.testing.assert_array_equal(read(kind, board), before)


def test_a_refused_damaged_image_keeps_the_current_one(kind: Kind, board: Board) -> None:
    image = kind.image()
    board.flash(image)
    before = result(kind, board)
    for bad in (b"", b"\x7fELF", b"no image", bytes(4096), image[:40], image[: len(image) // 2]):
        with pytest.raises(ArtifactError, match="is not an image for a board"):
            board.flash(bad)
    board.run()
    np.testing.assert_array_equal(read(kind, board), before)


def test_a_board_holds_a_single_program(kind: Kind, board: Board) -> None:
    call = board.load(kind.artifact()).bind([0] * 3)
    lost = f"is no longer on {board.device_name}"
    second = board.load(kind.artifact())
    with pytest.raises(DeviceLost, match=lost):
        call()
    board.flash(kind.image())
    with pytest.raises(DeviceLost, match=lost):
        board.evaluate(second, [0] * 3)
    third = board.load(kind.artifact())
    board.unload(second)
    board.require_flashed(third)
    board.unload(third)
    with pytest.raises(DeviceLost, match=lost):
        board.evaluate(third, [0] * 3)


def test_memory_does_not_outlive_its_program(kind: Kind, board: Board) -> None:
    board.flash(kind.image())
    result(kind, board)
    board.flash(kind.image())
    board.write(kind.symbol("B"), B.tobytes())
    board.write(kind.symbol("A"), bytes(A.nbytes))
    board.run()
    assert not read(kind, board).any()


ONE, NONE = struct.pack("<i", 1), struct.pack("<i", 0)
SAID = {
    "write": r"'xtc_entry' failed at 0x\w{8}: a write of 4 bytes at 0x90000000, where the board",
    "read": r"'xtc_entry' failed at 0x\w{8}: a read of 4 bytes at 0x90000000, where the board",
    "flash": r"'xtc_entry' failed at 0x\w{8}: a write of 4 bytes at 0x\w{8}, in 'xtc_entry'$",
    "jump": r"'xtc_entry' failed: a jump to 0x9000000[01], where the board has nothing for it",
    "trap": r"'xtc_entry' failed at 0x\w{8}: (an undefined instruction|a breakpoint)$",
    "halt": r"'xtc_entry' failed at 0x\w{8}: the core halted$",
    "stack": r"'deeper' ran out of stack at 0x\w{8}: it has 1024 bytes\n  note: a write of",
    "loop": r"'xtc_entry' ran past 100000 halfwords of instructions\n  note: it was at 0x",
}


@FAILING
@pytest.mark.parametrize("fault", FAULTS)
def test_a_board_is_usable_after_a_fault(kind: Kind, fault: str) -> None:
    assert kind.brief is not None
    error = DeviceTimeout if fault == "loop" else DeviceFault
    said = []
    with kind.brief() as board:
        board.flash(faulty(kind, fault))
        for _ in range(2):
            board.write("ran", NONE)
            board.write("flag", ONE)
            with pytest.raises(error, match=SAID[fault]) as info:
                board.run()
            said.append(str(info.value))
            board.write("flag", NONE)
            board.run()
            assert board.read("ran") == struct.pack("<i", 7)
        assert said[0] == said[1]
        board.flash(kind.image())
        np.testing.assert_allclose(result(kind, board), RESULT, rtol=1e-5)


@pytest.mark.parametrize("kind", [skipped(kind) for kind in EMBEDDED[:2]])
def test_a_refused_conditional_write_is_located(kind: Kind) -> None:
    """On these cores, the emulator continues after a refused conditional write."""
    image = read_executable(faulty(kind, "write"))
    code = struct.unpack(f"<{len(image.flash) // 2}H", image.flash[: len(image.flash) & ~1])
    with kind.open() as board:
        board.flash(faulty(kind, "write"))
        board.write("flag", ONE)
        with pytest.raises(DeviceFault) as info:
            board.run()
    (address,) = re.findall(r"failed at (0x\w{8})", info.value.what)
    at = (int(address, 16) - image.address) // 2
    after = [word & 0xF8FF for word in code[at : at + 6]]
    assert code[at] >> 11 == 0b01100  # STR
    assert 0x2007 in after  # then 7 is stored elsewhere


@FAILING
def test_a_run_ends_at_its_time_limit(kind: Kind) -> None:
    assert kind.hasty is not None
    with kind.hasty() as board:
        board.flash(faulty(kind, "loop"))
        board.write("flag", ONE)
        with pytest.raises(DeviceTimeout, match=r"'xtc_entry' ran past 0\.05 s") as info:
            board.run()
        assert info.value.hints == ("seconds_limit= of the board allows more",)


def interrupt_once_it_runs(main: int) -> None:
    """Send Ctrl-C to the main thread."""
    time.sleep(0.05)
    signal.pthread_kill(main, signal.SIGINT)


@FAILING
def test_a_board_is_usable_after_an_interrupt(kind: Kind) -> None:
    with kind.open() as board:
        board.flash(faulty(kind, "loop"))
        board.run()
        once = board.counters()["embedded.INSTRUCTIONS"]
        board.write("flag", ONE)
        thread = threading.Thread(target=interrupt_once_it_runs, args=[threading.get_ident()])
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            board.run()
        thread.join()
        ended = board.counters()["embedded.INSTRUCTIONS"]
        board.write("flag", NONE)
        board.run()
        assert board.read("ran") == struct.pack("<i", 7)
        assert board.counters()["embedded.INSTRUCTIONS"] == ended + once


class Counted:
    """A signal handler that counts and raises nothing."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *_: object) -> None:
        self.calls += 1


@pytest.mark.skipif(bool(WITHOUT_SIMULATOR), reason=str(WITHOUT_SIMULATOR))
def test_counts_are_exact_despite_signals() -> None:
    """A loop of 3 instructions, 40 million times, while a handler is called every 20 ms."""
    from tests.unit.embedded_support import image_of
    from xtc_targets.embedded import EmbeddedBoard

    text = """
define void @xtc_entry() {
  call void asm sideeffect "1: subs $0, #1\\0A nop\\0A bne 1b", "l,~{cc}"(i32 40000000)
  ret void
}
"""
    found, handler = [], Counted()
    with EmbeddedBoard() as board:
        board.flash(image_of(text))
        before = signal.signal(signal.SIGALRM, handler)
        try:
            for period in (0, 0.02):
                start = board.counters()["embedded.INSTRUCTIONS"]
                signal.setitimer(signal.ITIMER_REAL, period, period)
                board.run()
                calls = handler.calls
                found.append(board.counters()["embedded.INSTRUCTIONS"] - start)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert calls > 1
    assert found[0] == found[1] > 3 * 40_000_000


def resources() -> dict[str, int]:
    """The resources of this process that could leak."""
    process = psutil.Process()
    return {
        "descriptors": process.num_fds(),
        "children": len(process.children(recursive=True)),
        "threads": process.num_threads(),
    }


def leave_by(kind: Kind, way: str) -> None:
    board = kind.open()
    board.flash(kind.image())
    result(kind, board)
    if way == "flashed":
        board.flash(kind.image())
    if way == "error":
        with pytest.raises(ArtifactError):
            board.flash(b"no image")
    if way == "fault":
        board.flash(faulty(kind, "write"))
        board.write("flag", ONE)
        with pytest.raises(DeviceFault):
            board.run()
    if way != "forgotten":
        board.close()


@pytest.mark.parametrize("way", ["closed", "forgotten", "flashed", "error", "fault"])
def test_a_board_leaks_nothing(kind: Kind, way: str) -> None:
    if way == "fault" and not kind.embedded:
        way = "error"
    for _ in range(3):  # pools of the emulator and of the process's allocator
        leave_by(kind, way)
    gc.collect()
    before, size = resources(), psutil.Process().memory_info().vms
    for _ in range(4):
        leave_by(kind, way)
        gc.collect()
    assert resources() == before
    assert psutil.Process().memory_info().vms < size + (64 << 20)


def test_a_run_on_a_thread_leaves_signals_to_the_main_thread(kind: Kind, board: Board) -> None:
    board.flash(kind.image())
    found: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: found.append(result(kind, board)))
    thread.start()
    thread.join()
    np.testing.assert_allclose(found[0], RESULT, rtol=1e-5)


def test_code_of_another_target_is_refused(kind: Kind, board: Board) -> None:
    artifact = kind.artifact()
    data = artifact.manifest.to_json().replace(f'"{board.target_name}"', '"wafer"', 1)
    other = Artifact(type(artifact.manifest).from_json(data, artifact.folder), artifact.folder)
    with pytest.raises(ArtifactError, match=f"^{board.device_name} cannot run code for wafer$"):
        board.load(other)
