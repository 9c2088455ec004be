# SPDX-License-Identifier: Apache-2.0
"""A QEMU machine with a program, controlled through QEMU's GDB stub.

QEMU's clock counts instructions (-icount shift=0). Start-up code reads the machine's timer before
and after a call, so counts are exact within a tick of the timer.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, cast

from xtc.core.errors import DeviceFault, DeviceLost, DeviceNotFound, DeviceTimeout
from xtc_targets.embedded.description import BoardDescription
from xtc_targets.embedded.emulated import Emulator, emulator
from xtc_targets.embedded.gdb import EndedError, Remote
from xtc_targets.embedded.link.executable import Executable
from xtc_targets.embedded.link.linker import STACK
from xtc_targets.embedded.machine import operator_at
from xtc_targets.embedded.simulator import INSTRUCTIONS

HINT = "apt install qemu-system-arm"
READY, FAULT, MAILBOX = "xtc_ready", "xtc_fault", "xtc_mailbox"
_START_SECONDS, _END_SECONDS = 30.0, 5.0
_FIXED = ("-S", "-gdb", "stdio", "-display", "none", "-serial", "none", "-monitor", "none",
          "-parallel", "none", "-net", "none", "-icount", "shift=0")  # fmt: skip
# QEMU ends when the other end of the lifeline, the shell's descriptor 2, is closed, at the latest
# when the process that holds it ends.
_SUPERVISED = (
    'exec 3<&0; errors="$1"; shift; "$@" <&3 3<&- 2>"$errors" & child=$!; exec 3<&- <&- >&-; '
    "read -r _ <&2; kill -9 $child; wait"
)
# CMSDK APB timer (Arm DDI 0479D, 4.4): control, value, reload. It counts down.
_CONTROL, _VALUE, _RELOAD, _ENABLE, _WRAP = 0, 4, 8, 1, 1 << 32
_BETWEEN = 2  # instructions of the call and of a reading, which are not the program's
# Armv7-M Architecture Reference Manual, B3.2.15 and B3.2.18.
_FAULT_STATUS, _BUS_ADDRESS, _MEMORY_ADDRESS = 0xE000ED28, 0xE000ED38, 0xE000ED34
_THUMB = 1 << 24
_STORE = b"\x08\x60"  # str r0, [r1]
_GUARD = 4096  # guard bytes below the stack
_VECTOR = 0x200  # offset of AArch64's synchronous exception vector, from base 0


def unavailable(board: BoardDescription) -> str | None:
    """The reason why QEMU cannot emulate the board, or None."""
    program = emulator(board).program
    if shutil.which(program) is None:
        return f"QEMU is not installed: there is no {program} in PATH"
    return None


class QemuMachine:
    """A machine with a program in memory, which is started and then called.

    Args:
        board: the board as `emulated` describes it.
        image: the program.
        seconds: time limit of a call.

    Raises DeviceNotFound without QEMU, and DeviceLost if it does not start the program.
    """

    def __init__(self, board: BoardDescription, image: Executable, seconds: float) -> None:
        if (reason := unavailable(board)) is not None:
            raise DeviceNotFound(reason, hints=[HINT])
        self.image = image
        self._board, self._seconds = board, seconds
        self._emulator: Emulator = emulator(board)
        self._registers = _A64 if board.core.bits == 64 else _M
        self._instructions = 0
        self._process = _Process(self._emulator)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def write(self, address: int, data: bytes) -> None:
        with self._known("a write"):
            self._remote.write(address, data)

    def read(self, address: int, nbytes: int) -> bytes:
        with self._known("a read"):
            return self._remote.read(address, nbytes)

    def call(self) -> None:
        """Run the program to its end.

        Raises DeviceFault or DeviceTimeout; the program is then restarted and its inputs are lost.
        """
        self._begin()
        with self._restarted():
            ended = self._remote.resume(self._seconds)
            if not ended:
                at = self._position()
                raise DeviceTimeout(
                    f"{operator_at(self.image, at)} ran past {self._seconds:g} s",
                    notes=[f"it was at {at:#010x}"],
                    hints=["seconds_limit= of the board allows more"],
                )
            self._require_at_end()
        self._instructions += max(0, self._emulator.tick * self._elapsed() - _BETWEEN)

    def counters(self) -> Mapping[str, float]:
        """Instructions of all calls, for each call exact within a tick of the timer."""
        return {INSTRUCTIONS: float(self._instructions)}

    def close(self) -> None:
        """End QEMU."""
        self._process.end()

    @property
    def _remote(self) -> Remote:
        return self._process.remote

    def _start(self) -> None:
        """Write the program and run its start-up code."""
        with self._known("the start"):
            self._remote.write(self.image.address, self.image.flash)
            if self._emulator.timer:
                self._start_timer()
            for address in (self._address(READY), self._handler):
                self._remote.set_breakpoint(address)
            stack, _ = self.image.symbols[STACK]
            self._remote.set_watchpoint(stack - _GUARD, _GUARD)
            self._go_to(self.image.entry)
            if not self._remote.resume(_START_SECONDS):
                raise DeviceLost(f"the program did not start in {_START_SECONDS:g} s")
            self._require_at_end()

    def _start_timer(self) -> None:
        """Let the core itself set the timer, because secure devices respond only to it."""
        timer, ram = self._emulator.timer, self._board.ram.address
        self._remote.write(ram, _STORE)
        for offset, value in ((_RELOAD, _WRAP - 1), (_VALUE, _WRAP - 1), (_CONTROL, _ENABLE)):
            self._go_to(ram)
            self._set(0, value)
            self._set(1, timer + offset)
            self._remote.step()

    def _go_to(self, address: int) -> None:
        registers = self._registers
        self._set(registers["stack"], self._symbol("xtc_stack_end"))
        self._set(registers["position"], address & ~1)
        if "status" in registers:
            self._set(registers["status"], _THUMB)

    def _begin(self) -> None:
        """Issue the command to call the program, which is the address of the counter to read."""
        ready, command = self._address(READY), self._emulator.timer + _VALUE
        with self._known("a call"):
            self._remote.write(self._symbol(MAILBOX), struct.pack("<I", command))
            self._go_to(ready)
            self._remote.remove_breakpoint(ready)
            self._remote.step()
            self._remote.set_breakpoint(ready)

    def _elapsed(self) -> int:
        """Ticks of the call; the timer of Cortex-M counts down."""
        with self._known("reading the timer"):
            data = self._remote.read(self._symbol(MAILBOX) + 8, 4)
        (ticks,) = struct.unpack("<I", data)
        return int(-ticks % _WRAP if self._emulator.timer else ticks)

    @contextmanager
    def _known(self, doing: str) -> Iterator[None]:
        try:
            yield
        except EndedError:
            raise DeviceLost(f"QEMU ended during {doing}: {self._process.first_error()}") from None
        except (TimeoutError, ValueError) as error:
            raise DeviceLost(f"{doing} failed in QEMU: {error or 'no answer'}") from None

    @contextmanager
    def _restarted(self) -> Iterator[None]:
        """Restart the program after any error in a run."""
        try:
            yield
        except EndedError:
            message = self._process.first_error()
            self._restart()
            raise DeviceFault(
                f"the core locked up: {message}",
                hints=["platform='sim' names operator and access"],
            ) from None
        except BaseException:
            self._restart()
            raise

    def _restart(self) -> None:
        self._process.end()
        self._process = _Process(self._emulator)
        self._start()

    @property
    def _handler(self) -> int:
        """The address of the exception handler."""
        return self._address(FAULT) if self._emulator.timer else _VECTOR

    def _require_at_end(self) -> None:
        at = self._position()
        if at == self._handler:
            raise self._fault_of_m() if self._emulator.timer else self._fault_of_a64()
        if at != self._address(READY):
            raise self._out_of_stack(at)

    def _out_of_stack(self, at: int) -> DeviceFault:
        _, nbytes = self.image.symbols[STACK]
        return DeviceFault(
            f"{operator_at(self.image, at)} ran out of stack at {at:#010x}: it has {nbytes} bytes",
            hints=[f"compile with stack_bytes={2 * nbytes}"],
        )

    def _fault_of_m(self) -> DeviceFault:
        """The fault from the exception frame on the stack and the fault registers."""
        frame = self._remote.register(self._registers["stack"])
        (at,) = struct.unpack("<I", self._remote.read(frame + 24, 4))
        status, memory, bus = (
            struct.unpack("<I", self._remote.read(register, 4))[0]
            for register in (_FAULT_STATUS, _MEMORY_ADDRESS, _BUS_ADDRESS)
        )
        return self._failed(at, _status(status, memory, bus))

    def _fault_of_a64(self) -> DeviceFault:
        """The fault from ELR, ESR and FAR."""
        at, syndrome, address = (
            self._remote.system_register(name) for name in ("ELR_EL1", "ESR_EL1", "FAR_EL1")
        )
        kind = syndrome >> 26
        if kind in (0x20, 0x21):
            return DeviceFault(f"'the program' failed: a jump to {address:#010x}")
        message = (
            f"an access at {address:#010x}" if kind in (0x24, 0x25) else "an undefined instruction"
        )
        return self._failed(at, message)

    def _failed(self, at: int, message: str) -> DeviceFault:
        return DeviceFault(
            f"{operator_at(self.image, at)} failed at {at:#010x}: {message}",
            hints=["platform='sim' names the memory, too"],
        )

    def _position(self) -> int:
        return self._remote.register(self._registers["position"])

    def _set(self, register: int, value: int) -> None:
        self._remote.set_register(register, value, self._registers["bytes"])

    def _symbol(self, name: str) -> int:
        return self.image.symbols[name][0]

    def _address(self, name: str) -> int:
        """The address of an instruction, without the Thumb bit."""
        return self._symbol(name) & ~1


# Numbers in QEMU's gdb-xml/arm-m-profile.xml and aarch64-core.xml.
_M = {"stack": 13, "position": 15, "status": 25, "bytes": 4}
_A64 = {"stack": 31, "position": 32, "bytes": 8}


def _status(status: int, memory: int, bus: int) -> str:
    """Armv7-M Architecture Reference Manual, B3.2.15: CFSR."""
    if status & 0x8000:
        return f"an access at {bus:#010x}"
    if status & 0x80:
        return f"an access at {memory:#010x}"
    if status & 0x101:
        return "a jump to an address without code"
    if status & 0x30000:
        return "an undefined instruction"
    return f"a fault, CFSR {status:#010x}"


class _Process:
    """A QEMU process, which ends by `end`, with this object, or with this process."""

    def __init__(self, emulator: Emulator) -> None:
        self._errors: IO[Any] = tempfile.NamedTemporaryFile()  # noqa: SIM115  closed by `end`
        held, self._lifeline = os.pipe()
        words = [emulator.program, *emulator.machine, *_FIXED]
        try:
            self._process = subprocess.Popen(  # noqa: S603  our own words
                ["/bin/sh", "-c", _SUPERVISED, "sh", self._errors.name, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=held,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._lifeline)
            self._errors.close()
            raise DeviceNotFound(f"QEMU does not start: {error}") from None
        finally:
            os.close(held)
        self.end = weakref.finalize(self, _end, self._process, self._lifeline, self._errors)
        try:
            pipes = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
            self.remote = Remote(*pipes)
        except (EndedError, TimeoutError):
            message = self.first_error()
            self.end()
            raise DeviceNotFound(f"QEMU does not start: {message}") from None

    def first_error(self) -> str:
        """The first error line of its output, without warnings."""
        with contextlib.suppress(ValueError):
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").splitlines()
            return next((line for line in lines if line and "warning:" not in line), "no reason")
        return "no reason"


def _end(process: subprocess.Popen[bytes], lifeline: int, errors: IO[Any]) -> None:
    os.close(lifeline)
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    errors.close()
