# SPDX-License-Identifier: Apache-2.0
"""The part of pyocd's Python API that boards use; it records calls, and unicorn runs the image.

The image itself runs, including start-up code, mailbox and exception handler. The cycle counter
advances by 1,000 on each read.
"""

from __future__ import annotations

import enum
import importlib.machinery
import struct
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import pytest
from unicorn import UC_HOOK_MEM_READ, UC_PROT_ALL, UC_PROT_EXEC, UC_PROT_READ, UcError
from unicorn import arm_const as arm

from xtc_targets.embedded.description import BoardDescription, board_named
from xtc_targets.embedded.simulator import _core

CYCCNT, CLOCKS = 0xE0001004, 1000
_PER_LOOK = 200_000  # instructions between two polls of the probe
_HARD_FAULT = 3
_UNMAPPED = 0x10000000


class Error(RuntimeError):
    """pyocd.core.exceptions.Error."""


class TargetSupportError(Error): ...


class TransferError(Error): ...


class State(enum.Enum):
    RUNNING = 1
    HALTED = 2
    RESET = 3
    SLEEPING = 4
    LOCKUP = 5


class StubTarget:
    """A board's core: `SoCTarget`."""

    State = State

    def __init__(self, board: BoardDescription, calls: list[tuple[Any, ...]]) -> None:
        self._board, self._calls = board, calls
        self._uc, _ = _core(board).open()
        self._uc.mem_map(board.flash.address, board.flash.nbytes, UC_PROT_READ | UC_PROT_EXEC)
        self._uc.mem_map(board.ram.address, board.ram.nbytes, UC_PROT_ALL)
        self._uc.mem_write(board.ram.address, b"\xa5" * 65536)
        self._uc.mem_map(0xE0000000, 0x10000, UC_PROT_ALL)
        self._uc.hook_add(UC_HOOK_MEM_READ, self._tick, begin=CYCCNT, end=CYCCNT)
        self._clocks = 0xFFFFFE00  # it wraps between the first two reads
        self._state = State.RUNNING
        self.handles_faults = True
        self.is_lost = False

    def program(self, data: bytes, address: int) -> None:
        self._uc.mem_write(address, data)
        self._uc.ctl_flush_tb()

    def reset_and_halt(self, reset_type: object = None) -> None:
        self._record("reset_and_halt")
        base = self._board.flash.address
        stack, start = struct.unpack("<II", self._uc.mem_read(base, 8))
        self._uc.reg_write(arm.UC_ARM_REG_IPSR, 0)
        self._uc.reg_write(arm.UC_ARM_REG_SP, stack)
        self._uc.reg_write(arm.UC_ARM_REG_PC, start)
        self._state = State.HALTED

    def resume(self) -> None:
        self._record("resume")
        self._state = State.RUNNING

    def halt(self) -> None:
        self._record("halt")
        self._state = State.HALTED

    def get_state(self) -> enum.Enum:
        return self._state

    def read_core_register(self, id: str) -> int:
        assert id == "pc"
        return int(self._uc.reg_read(arm.UC_ARM_REG_PC))

    def write_memory_block8(self, addr: int, data: Sequence[int]) -> None:
        self._record("write_memory_block8", addr, bytes(data))
        self._uc.mem_write(addr, bytes(data))

    def read_memory_block8(self, addr: int, size: int) -> Sequence[int]:
        if self.is_lost:
            raise TransferError("no ACK")
        self._go_on()
        return list(self._uc.mem_read(addr, size))

    def write32(self, addr: int, value: int) -> None:
        self._record("write32", addr, value)
        self._uc.mem_write(addr, struct.pack("<I", value))

    def read32(self, addr: int, now: bool = True) -> int:
        return int(struct.unpack("<I", self._uc.mem_read(addr, 4))[0])

    def _record(self, *call: Any) -> None:
        self._calls.append(call)

    def _tick(self, *_: object) -> None:
        self._clocks = (self._clocks + CLOCKS) % (1 << 32)
        self._uc.mem_write(CYCCNT, struct.pack("<I", self._clocks))

    def _go_on(self) -> None:
        if self._state is not State.RUNNING:
            return
        try:
            self._uc.emu_start(self._uc.reg_read(arm.UC_ARM_REG_PC) | 1, _UNMAPPED, count=_PER_LOOK)
        except UcError:
            self._except()

    def _except(self) -> None:
        """Enter the handler: Armv7-M Architecture Reference Manual, B1.5.6."""
        if not self.handles_faults:
            self._state = State.LOCKUP
            return
        at = self._uc.reg_read(arm.UC_ARM_REG_PC)
        stack = self._uc.reg_read(arm.UC_ARM_REG_SP) - 32
        self._uc.mem_write(stack, struct.pack("<8I", *([0] * 6), at, 0))
        self._uc.reg_write(arm.UC_ARM_REG_SP, stack)
        self._uc.reg_write(arm.UC_ARM_REG_IPSR, _HARD_FAULT)
        handler = self._uc.mem_read(self._board.flash.address + 4 * _HARD_FAULT, 4)
        self._uc.reg_write(arm.UC_ARM_REG_PC, struct.unpack("<I", handler)[0])


@dataclass
class StubProbe:
    unique_id: str


@dataclass
class StubPyocd:
    """A computer with probes, one of which has a board.

    Attributes:
        board: that board's name.
        probes: ids of the probes.
        knows_machine: whether pyocd has the board's machine.
        calls: what was called, in order.
    """

    board: str
    probes: list[str] = field(default_factory=lambda: ["0669FF48"])
    knows_machine: bool = True
    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.target = StubTarget(board_named(self.board), self.calls)

    def get_all_connected_probes(
        self, blocking: bool = True, unique_id: str | None = None, print_wait_message: bool = True
    ) -> list[StubProbe]:
        assert not blocking
        return [StubProbe(id) for id in self.probes if unique_id is None or unique_id in id]

    def session_with_chosen_probe(
        self,
        blocking: bool = True,
        return_first: bool = False,
        unique_id: str | None = None,
        auto_open: bool = True,
        options: Mapping[str, Any] | None = None,
    ) -> StubSession:
        assert return_first  # pyocd would ask the user
        assert not blocking  # pyocd would wait
        self.calls.append(("session", unique_id, (options or {})["target_override"]))
        return StubSession(self)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> StubPyocd:
        """Replace the package `pyocd`."""
        modules: dict[str, dict[str, object]] = {
            "pyocd": {},
            "pyocd.core": {},
            "pyocd.core.exceptions": {"Error": Error, "TargetSupportError": TargetSupportError},
            "pyocd.core.helpers": {"ConnectHelper": self},
            "pyocd.core.target": {"Target": StubTarget},
            "pyocd.flash": {},
            "pyocd.flash.file_programmer": {"FileProgrammer": StubProgrammer},
        }
        for name, attributes in modules.items():
            module = types.ModuleType(name)
            module.__spec__ = importlib.machinery.ModuleSpec(name, None)
            vars(module).update(attributes)
            monkeypatch.setitem(sys.modules, name, module)
        for name, module in [(n, sys.modules[n]) for n in modules if "." in n]:
            parent, _, attribute = name.rpartition(".")
            setattr(sys.modules[parent], attribute, module)
        return self


@dataclass
class StubSession:
    pyocd: StubPyocd

    @property
    def target(self) -> StubTarget:
        return self.pyocd.target

    def open(self, init_board: bool = True) -> None:
        if not self.pyocd.knows_machine:
            raise TargetSupportError("Target type not recognized")
        self.pyocd.calls.append(("open",))

    def close(self) -> None:
        self.pyocd.calls.append(("close",))


@dataclass
class StubProgrammer:
    session: StubSession

    def program(
        self, file_or_path: IO[bytes], file_format: str | None = None, *, base_address: int
    ) -> None:
        assert file_format == "bin"
        data = file_or_path.read()
        self.session.pyocd.calls.append(("program", base_address, len(data)))
        self.session.target.program(data, base_address)
