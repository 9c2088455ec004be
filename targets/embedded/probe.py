# SPDX-License-Identifier: Apache-2.0
"""A board's core behind a debug probe, with pyocd. Experimental.

The start-up code waits for a command in its mailbox, which is the address of the counter to read.
It calls the program, then stores the cycles of the DWT's counter in the mailbox, or the exception
that stopped it. Memory is read and written while the core runs.
"""

from __future__ import annotations

import importlib.util
import io
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from xtc.core.errors import DeviceFault, DeviceLost, DeviceNotFound, DeviceTimeout
from xtc_targets.embedded.description import BoardDescription
from xtc_targets.embedded.link.executable import Executable
from xtc_targets.embedded.machine import operator_at

CYCLES = "embedded.CYCLES"
# Armv7-M Architecture Reference Manual, C1.8.7. A probe may write it where code must unlock it.
_DWT_CONTROL, _DWT_CYCLES, _COUNT_CYCLES = 0xE0001000, 0xE0001004, 1
_MAILBOX = struct.Struct("<4I")  # command, exception, clocks, address of the exception: start_m.s
_START_SECONDS, _POLL_SECONDS = 5.0, 0.001
_EXCEPTIONS = {2: "NMI", 3: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault"}


def unavailable(board: BoardDescription) -> str | None:
    """The reason why no probe can reach the board, or None."""
    if not board.probe:
        return f"no debug probe reaches {board.name}: its description has no field 'probe'"
    if board.core.bits != 32:
        return f"debug probes reach Cortex-M cores only, and {board.name} has a {board.core.name}"
    if importlib.util.find_spec("pyocd") is None:
        return "the package pyocd is not installed: pip install pyocd"
    return None


@dataclass(frozen=True)
class Probe:
    """An open connection to a board.

    Attributes:
        board: the connected board.
        session: the session of pyocd.
    """

    board: BoardDescription
    session: Any

    @classmethod
    def connect(cls, board: BoardDescription, unique_id: str | None) -> Probe:
        """Connect through the probe with this id, or through the only probe.

        Raises DeviceNotFound without pyocd, without such a probe, with several of them, or if pyocd
        does not know the machine.
        """
        if (reason := unavailable(board)) is not None:
            raise DeviceNotFound(reason)
        from pyocd.core import exceptions
        from pyocd.core.helpers import ConnectHelper

        with translated("connecting to the debug probe"):
            found = ConnectHelper.get_all_connected_probes(blocking=False, unique_id=unique_id)
            ids = [str(probe.unique_id) for probe in found]
            _require_single(board, unique_id, ids)
            session = ConnectHelper.session_with_chosen_probe(
                blocking=False,
                return_first=True,
                unique_id=ids[0],
                options={"target_override": board.probe, "hide_programming_progress": True},
            )
            if session is None:
                raise DeviceNotFound(f"the debug probe {ids[0]} is gone")
            try:
                session.open()
            except exceptions.TargetSupportError as error:
                raise DeviceNotFound(
                    f"pyocd does not know the machine of {board.name}: {error}",
                    hints=[f"pyocd pack install {board.probe}"],
                ) from None
        return cls(board, session)

    def close(self) -> None:
        """Disconnect; the core keeps running."""
        with translated("closing the debug probe"):
            self.session.close()


def _require_single(board: BoardDescription, unique_id: str | None, ids: list[str]) -> None:
    if not ids:
        which = f" whose id has '{unique_id}'" if unique_id else ""
        raise DeviceNotFound(
            f"no debug probe{which} is connected",
            hints=[
                "pyocd list shows the connected probes",
                f"platform='sim' simulates {board.name}",
            ],
        )
    if len(ids) > 1:
        raise DeviceNotFound(
            f"{len(ids)} debug probes are connected: {', '.join(ids)}",
            hints=[f"choose by its id: EmbeddedBoard('{board.name}', 'hw', probe='{ids[0]}')"],
        )


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Translate errors of pyocd to DeviceLost."""
    from pyocd.core import exceptions

    try:
        yield
    except exceptions.Error as error:
        raise DeviceLost(f"{doing} failed: {error or type(error).__name__}") from error


class ProbedMachine:
    """A core behind a probe, with a program in flash.

    Args:
        probe: the connection.
        image: the program, which is written to flash and started.
        seconds: time limit of a call.

    Raises DeviceLost if flash cannot be written, and DeviceTimeout if the program does not start.
    """

    def __init__(self, probe: Probe, image: Executable, seconds: float) -> None:
        self.image = image
        self._probe = probe
        self._target = probe.session.target
        self._seconds = seconds
        self._counts_cycles = probe.board.core.cycle_counter
        self._clocks = 0
        self._mailbox = image.symbols["xtc_mailbox"][0]
        self._flash()
        self._start()

    def write(self, address: int, data: bytes) -> None:
        with translated(f"a write of {len(data)} bytes at {address:#010x}"):
            self._target.write_memory_block8(address, list(data))

    def read(self, address: int, nbytes: int) -> bytes:
        with translated(f"a read of {nbytes} bytes at {address:#010x}"):
            return bytes(self._target.read_memory_block8(address, nbytes))

    def call(self) -> None:
        """Run the program to its end.

        Raises DeviceFault with operator and address, or DeviceTimeout; the program is then
        restarted and its inputs are lost.
        """
        counter = _DWT_CYCLES if self._counts_cycles else self._mailbox
        answer = _MAILBOX.pack(counter, 0, 0, 0)
        self.write(self._mailbox + 4, answer[4:])  # the core continues on the command
        self.write(self._mailbox, answer[:4])
        if not self._wait(self._has_answered, self._seconds):
            self._stop_endless()
        command, exception, clocks, address = self._answer()
        if exception:
            self._start()
            raise _fault(self.image, exception, address)
        if command:
            self._stop_halted()
        self._clocks += clocks

    def counters(self) -> Mapping[str, float]:
        """Cycles of all calls by the core's counter; empty for cores without one."""
        return {CYCLES: float(self._clocks)} if self._counts_cycles else {}

    def close(self) -> None:
        """Do nothing: the probe stays connected, and the program stays in flash."""

    def _flash(self) -> None:
        from pyocd.flash.file_programmer import FileProgrammer

        with translated("writing flash"):
            FileProgrammer(self._probe.session).program(
                io.BytesIO(self.image.flash), file_format="bin", base_address=self.image.address
            )

    def _start(self) -> None:
        """Reset the core and wait until start-up code clears its last word."""
        last = self.image.symbols["xtc_zero_end"][0] - 4
        with translated("a reset"):
            self._target.reset_and_halt()
            self._target.write_memory_block8(last, [0xFF] * 4)
            self._target.resume()
        if not self._wait(lambda: not any(self.read(last, 4)), _START_SECONDS):
            at = self._position()
            raise DeviceTimeout(
                f"the program did not start in {_START_SECONDS:g} s, it is at {at:#010x}",
                hints=["see that the machine boots from its flash"],
            )
        if self._counts_cycles:
            with translated("starting the cycle counter"):
                control = self._target.read32(_DWT_CONTROL)
                self._target.write32(_DWT_CONTROL, control | _COUNT_CYCLES)

    def _wait(self, is_done: Callable[[], bool], seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not is_done():
            if time.monotonic() > end:
                return is_done()
            time.sleep(_POLL_SECONDS)
        return True

    def _has_answered(self) -> bool:
        from pyocd.core.target import Target

        command, exception, _, _ = self._answer()
        if not command or exception:
            return True
        with translated("reading the core's state"):
            return self._target.get_state() in (Target.State.HALTED, Target.State.LOCKUP)

    def _answer(self) -> tuple[int, ...]:
        return _MAILBOX.unpack(self.read(self._mailbox, _MAILBOX.size))

    def _position(self) -> int:
        """Halt the core to read its position."""
        with translated("halting the core"):
            self._target.halt()
            return int(self._target.read_core_register("pc"))

    def _stop_endless(self) -> None:
        at = self._position()
        self._start()
        raise DeviceTimeout(
            f"{operator_at(self.image, at)} ran past {self._seconds:g} s",
            notes=[f"it was at {at:#010x}"],
            hints=["seconds_limit= of the board allows more"],
        )

    def _stop_halted(self) -> None:
        at = self._position()
        self._start()
        raise DeviceFault(
            f"{operator_at(self.image, at)} stopped at {at:#010x}: the core is halted"
        )


def _fault(image: Executable, exception: int, address: int) -> DeviceFault:
    name = _EXCEPTIONS.get(exception, f"exception {exception}")
    return DeviceFault(
        f"{operator_at(image, address)} failed at {address:#010x}: {name}",
        hints=["platform='sim' names the access"],
    )
