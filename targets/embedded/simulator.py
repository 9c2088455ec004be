# SPDX-License-Identifier: Apache-2.0
"""A board's core and memories under unicorn, with an exact count of instructions.

Unicorn reports each executed basic block, which `counting.py` counts; the number of instructions
per block is determined afterwards. Caches, flash waits and peripherals are not simulated.
"""

from __future__ import annotations

import ctypes
import importlib.util
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from xtc.core.errors import DeviceFault, DeviceNotFound, DeviceTimeout
from xtc.runtime.interruptible import interruptible, service
from xtc_targets.embedded.counting import SLICE, End, State, address_of, counter
from xtc_targets.embedded.cycles import TIMINGS, block_cycles, flash_waits
from xtc_targets.embedded.description import BoardDescription
from xtc_targets.embedded.link.executable import Executable
from xtc_targets.embedded.link.linker import STACK
from xtc_targets.embedded.machine import operator_at, operator_of, symbol_at

_PAGE = 4096
_POISON = 0xA5
_EXCEPTIONS = {1: "an undefined instruction", 2: "a supervisor call", 7: "a breakpoint"}
ENTRY = "xtc_entry"
_SYSTEM = ((0xE0000000, 0x2000), (0xE000E000, 0x1000))  # cycle counter; system control space
INSTRUCTIONS = "embedded.INSTRUCTIONS"
MODELLED_CYCLES, MODELLED_SECONDS = "modelled.embedded.CYCLES", "modelled.embedded.SECONDS"


def unavailable() -> str | None:
    """The reason why programs cannot be simulated, or None."""
    if importlib.util.find_spec("unicorn") is None:
        return "the package unicorn is not installed: pip install unicorn"
    return None


def no_counts(board: BoardDescription) -> dict[str, float]:
    """The counters of a board before any run."""
    modelled = (MODELLED_CYCLES, MODELLED_SECONDS) if board.core.name in TIMINGS else ()
    return dict.fromkeys((INSTRUCTIONS, *modelled), 0.0)


@dataclass
class _Access:
    """A refused access, and the instruction that made it.

    Unicorn runs the rest of the basic block, so the core has moved on afterwards.
    """

    what: str
    address: int
    nbytes: int
    position: int


@dataclass(eq=False)
class SimulatedMachine:
    """A core with a program in flash, which `reset` starts, and which is then called.

    Attributes:
        board: the simulated board.
        image: the program.
        limit: limit of a call in halfwords of instructions.
        seconds: time limit of a call.
    """

    board: BoardDescription
    image: Executable
    limit: int
    seconds: float
    _uc: Any = None
    _state: State = field(default_factory=State)
    _refused: _Access | None = None
    _exception: str = ""
    _unwanted: ctypes.c_int32 = field(default_factory=ctypes.c_int32)
    _runs: int = 0

    def __post_init__(self) -> None:
        if (reason := unavailable()) is not None:
            raise DeviceNotFound(reason)
        core = _core(self.board)
        self._uc, self._registers = core.open()
        self._halfwords = len(self.image.flash) // 2 + 1
        self._counts = (ctypes.c_int64 * self._halfwords)()
        self._sizes = (ctypes.c_int32 * self._halfwords)()
        self._map()
        self._count_blocks()
        self._watch()
        self._run(self.image.entry, self._address("xtc_ready"))
        self.forget()

    def close(self) -> None:
        """Release the machine."""
        self._uc = None

    def write(self, address: int, data: bytes) -> None:
        """Write bytes of memory, as a probe does."""
        self._uc.mem_write(address, data)

    def read(self, address: int, nbytes: int) -> bytes:
        """Read bytes of memory."""
        return bytes(self._uc.mem_read(address, nbytes))

    def call(self) -> None:
        """Run the program to its end.

        Raises DeviceFault with operator and address, DeviceTimeout at a limit, and exceptions of
        signal handlers.
        """
        self._runs += 1
        done = self._address("xtc_ready")
        self._uc.reg_write(self._registers.link, done)
        self._run(self._address(ENTRY), done)

    def counters(self) -> Mapping[str, float]:
        """Exact instructions, total and per operator, and modelled cycles and seconds."""
        counts = self.instructions()
        found = {INSTRUCTIONS: float(sum(counts.values()))}
        found |= {f"{INSTRUCTIONS}.{name}": float(count) for name, count in counts.items()}
        if (cycles := self.cycles()) is not None:
            found[MODELLED_CYCLES] = cycles
            found[MODELLED_SECONDS] = cycles / self.board.clock_hz
        return found

    def instructions(self) -> dict[str, int]:
        """Executed instructions since the start, by operator or by symbol of another function."""
        found: dict[str, int] = {}
        for index in self._blocks():
            address = self.image.address + 2 * index
            name = operator_of(symbol_at(self.image, address) or "elsewhere")
            count = self._counts[index] * self._length(address, self._sizes[index])
            found[name] = found.get(name, 0) + count
        return found

    def blocks(self) -> Mapping[int, tuple[int, int]]:
        """The executions and the bytes of each basic block, by address."""
        return {
            self.image.address + 2 * index: (self._counts[index], self._sizes[index])
            for index in self._blocks()
        }

    def cycles(self) -> float | None:
        """Modelled cycles since the start; None for cores without a model.

        Each call reads the program's flash once.
        """
        core = self.board.core.name
        if core not in TIMINGS:
            return None
        total = 0.0
        for address, (count, size) in self.blocks().items():
            total += count * block_cycles(self.read(address, size), core)
        board = self.board
        waits = flash_waits(len(self.image.flash), board.flash_line_bytes, board.flash_wait_states)
        return total + self._runs * waits

    def forget(self) -> None:
        """Set all counts to 0."""
        ctypes.memset(self._counts, 0, ctypes.sizeof(self._counts))

    def _blocks(self) -> Iterator[int]:
        return (index for index in range(self._halfwords) if self._counts[index])

    def _length(self, address: int, nbytes: int) -> int:
        """The number of instructions in a range of code."""
        if self.board.core.bits == 64:
            return nbytes // 4
        words = struct.unpack(f"<{nbytes // 2}H", self.read(address, nbytes))
        count = index = 0
        while index < len(words):
            index += 2 if words[index] >> 11 >= 0x1D else 1
            count += 1
        return count

    def _address(self, symbol: str) -> int:
        return self.image.symbols[symbol][0]

    def _map(self) -> None:
        from unicorn import UC_PROT_EXEC, UC_PROT_READ, UC_PROT_WRITE

        flash, ram = self.board.flash, self.board.ram
        self._uc.mem_map(flash.address, flash.nbytes, UC_PROT_READ | UC_PROT_EXEC)
        self._uc.mem_map(ram.address, ram.nbytes, UC_PROT_READ | UC_PROT_WRITE)
        if self.board.core.bits == 32:
            for address, nbytes in _SYSTEM:
                self._uc.mem_map(address, nbytes, UC_PROT_READ | UC_PROT_WRITE)
        self._uc.mem_write(flash.address, self.image.flash)
        used = min(ram.nbytes, 4 << 20)
        self._uc.mem_write(ram.address, bytes([_POISON]) * used)
        self._uc.reg_write(self._registers.stack, self._address("xtc_stack_end"))

    def _count_blocks(self) -> None:
        import unicorn
        from unicorn.unicorn_py3.unicorn import uclib

        self._state.base = self.image.address
        self._state.words = self._halfwords
        self._state.counts = ctypes.addressof(self._counts)
        self._state.sizes = ctypes.addressof(self._sizes)
        self._state.stop = address_of(uclib.uc_emu_stop)
        self._state.clock = time.CLOCK_MONOTONIC
        self._state.gettime = address_of(ctypes.CDLL(None).clock_gettime)
        _, self._state.serve = service()
        library = ctypes.CDLL(uclib._name)
        handle = ctypes.c_size_t()
        status = library.uc_hook_add(
            self._uc._uch,
            ctypes.byref(handle),
            ctypes.c_int(unicorn.UC_HOOK_BLOCK),
            ctypes.c_void_p(counter()),
            ctypes.byref(self._state),
            ctypes.c_uint64(1),
            ctypes.c_uint64(0),
        )
        if status:
            raise DeviceNotFound(f"unicorn counts no blocks: error {status}")

    def _watch(self) -> None:
        import unicorn

        kinds = {
            unicorn.UC_MEM_READ_UNMAPPED: "a read",
            unicorn.UC_MEM_WRITE_UNMAPPED: "a write",
            unicorn.UC_MEM_FETCH_UNMAPPED: "a jump",
            unicorn.UC_MEM_READ_PROT: "a read",
            unicorn.UC_MEM_WRITE_PROT: "a write",
            unicorn.UC_MEM_FETCH_PROT: "a jump",
        }

        def refuse(_: object, kind: int, address: int, size: int, *__: object) -> bool:
            what = kinds.get(kind, "an access")
            self._refused = self._refused or _Access(what, address, size, self._core_position())
            return False

        def interrupt(uc: Any, number: int, _: object) -> None:
            self._exception = _EXCEPTIONS.get(number, f"exception {number}")
            uc.emu_stop()

        self._uc.hook_add(unicorn.UC_HOOK_MEM_INVALID, refuse)
        self._uc.hook_add(unicorn.UC_HOOK_INTR, interrupt)

    def _run(self, begin: int, until: int) -> None:
        """Emulate from an address to another one, which is not executed."""
        self._refused, self._exception = None, ""
        self._uc.reg_write(self._registers.stack, self._address("xtc_stack_end"))
        if self.board.core.bits == 32:
            begin, until = begin | 1, until & ~1
        self._set_limits()
        interruptible(self._emulate, self._interrupt, begin, until)

    def _set_limits(self) -> None:
        state = self._state
        on_main = threading.current_thread() is threading.main_thread()
        state.wanted = service()[0] if on_main else ctypes.addressof(self._unwanted)
        state.left = self.limit
        state.attention = max(0, self.limit - SLICE)
        state.end = 0
        state.deadline = time.monotonic_ns() + int(self.seconds * 1e9)

    def _interrupt(self) -> None:
        self._state.end = End.INTERRUPT

    def _emulate(self, begin: int, until: int) -> None:
        from unicorn import UC_ERR_INSN_INVALID, UcError

        try:
            self._uc.emu_start(begin, until)
        except UcError as error:
            undefined = error.errno == UC_ERR_INSN_INVALID
            raise self._fault(_EXCEPTIONS[1] if undefined else str(error)) from None
        if self._exception:
            raise self._fault(self._exception)
        if self._refused is not None:
            raise self._fault(self._refused.what)
        if self._state.end in (End.INSTRUCTIONS, End.TIME):
            raise self._timeout()
        if not self._state.end and self._position() != until:
            raise self._fault("the core halted")

    def _timeout(self) -> DeviceTimeout:
        if self._state.end == End.TIME:
            limit, option = f"{self.seconds:g} s", "seconds_limit"
        else:
            limit, option = f"{self.limit} halfwords of instructions", "instruction_limit"
        return DeviceTimeout(
            f"{self._operator()} ran past {limit}",
            notes=[f"it was at {self._position():#010x}"],
            hints=[f"{option}= of the board allows more"],
        )

    def _position(self) -> int:
        return self._refused.position if self._refused else self._core_position()

    def _core_position(self) -> int:
        return int(self._uc.reg_read(self._registers.position))

    def _operator(self) -> str:
        """The operator whose code the core is in, or from which it made an invalid jump."""
        link = int(self._uc.reg_read(self._registers.link)) - 2
        inside = symbol_at(self.image, self._position())
        return operator_at(self.image, self._position() if inside else link)

    def _fault(self, said: str) -> DeviceFault:
        failed = f"{self._operator()} failed at {self._position():#010x}"
        refused = self._refused
        if refused is None:
            return DeviceFault(f"{failed}: {said}")
        stack, nbytes = self.image.symbols[STACK]
        address = f"{refused.address:#010x}"
        access = f"{refused.what} of {refused.nbytes} bytes"
        if stack - nbytes - _PAGE <= refused.address < stack and refused.what != "a jump":
            return DeviceFault(
                f"{failed.replace('failed', 'ran out of stack')}: it has {nbytes} bytes",
                notes=[f"{access} at {address}, below the stack"],
                hints=[f"compile with stack_bytes={2 * nbytes}"],
            )
        where = symbol_at(self.image, refused.address)
        located = f", in '{where}'" if where else ", where the board has nothing for it"
        if refused.what == "a jump":
            return DeviceFault(f"{self._operator()} failed: a jump to {address}{located}")
        return DeviceFault(
            f"{failed}: {refused.what} of {refused.nbytes} bytes at {address}{located}"
        )


@dataclass(frozen=True)
class _Registers:
    position: int
    stack: int
    link: int


@dataclass(frozen=True)
class _Core:
    """Unicorn's names of a core and its registers."""

    arch: int
    mode: int
    model: int
    registers: _Registers

    def open(self) -> tuple[Any, _Registers]:
        import unicorn

        uc = unicorn.Uc(self.arch, self.mode)
        uc.ctl_set_cpu_model(self.model)
        return uc, self.registers


def _core(board: BoardDescription) -> _Core:
    import unicorn
    from unicorn import arm64_const as a64
    from unicorn import arm_const as arm

    if board.core.bits == 64:
        registers = _Registers(a64.UC_ARM64_REG_PC, a64.UC_ARM64_REG_SP, a64.UC_ARM64_REG_LR)
        # Unicorn has no A76; its largest core has dot products too.
        model = a64.UC_CPU_ARM64_MAX if board.core.dots else a64.UC_CPU_ARM64_A53
        return _Core(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM, model, registers)
    models = {
        "cortex-m0plus": arm.UC_CPU_ARM_CORTEX_M0,
        "cortex-m4": arm.UC_CPU_ARM_CORTEX_M4,
        "cortex-m7": arm.UC_CPU_ARM_CORTEX_M7,
        "cortex-m33": arm.UC_CPU_ARM_CORTEX_M33,
    }
    registers = _Registers(arm.UC_ARM_REG_PC, arm.UC_ARM_REG_SP, arm.UC_ARM_REG_LR)
    mode = unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS
    return _Core(unicorn.UC_ARCH_ARM, mode, models[board.core.name], registers)
