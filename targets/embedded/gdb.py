# SPDX-License-Identifier: Apache-2.0
"""GDB's remote protocol over two pipes to a program.

GDB manual, appendix E: packets are `$text#checksum`, acknowledged by `+`.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import time
from collections.abc import Mapping
from typing import IO

_MOST = 1024  # bytes of memory in a packet
_SECONDS = 30.0  # to wait for an answer while the core is stopped
_REGISTER = re.compile(r'<reg name="(\w+)"[^>]*?regnum="(\d+)"')


class EndedError(Exception):
    """The program at the other end has ended."""


class Remote:
    """A core that is stopped except during `resume`.

    Args:
        requests, answers: unbuffered pipes to the program and from it.

    Every call raises EndedError once the program has ended, and TimeoutError if it does not answer.
    """

    def __init__(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._requests, self._answers = requests, answers
        self._received = bytearray()
        self._system: Mapping[str, int] | None = None
        self._description("target.xml")  # required before single registers can be read

    def read(self, address: int, nbytes: int) -> bytes:
        """Read bytes of memory. Raises ValueError if there is no memory."""
        found = bytearray()
        while len(found) < nbytes:
            count = min(_MOST, nbytes - len(found))
            found += self._hexadecimal(f"m{address + len(found):x},{count:x}")
        return bytes(found)

    def write(self, address: int, data: bytes) -> None:
        """Write bytes of memory. Raises ValueError if there is no memory."""
        for at in range(0, len(data), _MOST):
            part = data[at : at + _MOST]
            self._accepted(f"M{address + at:x},{len(part):x}:{part.hex()}")

    def register(self, number: int) -> int:
        """The content of a register."""
        return int.from_bytes(self._hexadecimal(f"p{number:x}"), "little")

    def set_register(self, number: int, value: int, nbytes: int) -> None:
        """Set a register of `nbytes` bytes."""
        self._accepted(f"P{number:x}={value.to_bytes(nbytes, 'little').hex()}")

    def system_register(self, name: str) -> int:
        """The content of a register by its name in the architecture's manual."""
        if self._system is None:
            listed = self._description("system-registers.xml")
            self._system = {found: int(number) for found, number in _REGISTER.findall(listed)}
        return self.register(self._system[name])

    def set_breakpoint(self, address: int) -> None:
        """Stop before the instruction at an address, from now on."""
        self._accepted(f"Z1,{address:x},2")

    def set_watchpoint(self, address: int, nbytes: int) -> None:
        """Stop when one of these bytes is written, from now on."""
        self._accepted(f"Z2,{address:x},{nbytes:x}")

    def remove_breakpoint(self, address: int) -> None:
        """Remove the breakpoint at an address."""
        self._accepted(f"z1,{address:x},2")

    def step(self) -> None:
        """Run a single instruction."""
        self._ask("s")

    def resume(self, seconds: float) -> bool:
        """Run to the next stop; returns False if it is interrupted at the end of the time."""
        self._send("c")
        try:
            self._answer(seconds)
        except TimeoutError:
            self._write(b"\x03")
            self._answer(_SECONDS)
            return False
        return True

    def _accepted(self, text: str) -> None:
        answer = self._ask(text)
        if answer != "OK":
            raise ValueError(f"{text[:24]} was answered by '{answer}'")

    def _hexadecimal(self, text: str) -> bytes:
        answer = self._ask(text)
        if not answer or answer.startswith("E"):
            raise ValueError(f"{text[:24]} was answered by '{answer}'")
        return bytes.fromhex(answer)

    def _description(self, name: str) -> str:
        parts: list[str] = []
        while True:
            at = sum(map(len, parts))
            answer = self._ask(f"qXfer:features:read:{name}:{at:x},{_MOST:x}")
            parts.append(answer[1:])
            if not answer.startswith("m"):
                return "".join(parts)

    def _ask(self, text: str) -> str:
        self._send(text)
        return self._answer(_SECONDS)

    def _send(self, text: str) -> None:
        data = text.encode()
        self._write(b"$%s#%02x" % (data, sum(data) & 0xFF))

    def _write(self, data: bytes) -> None:
        try:
            self._requests.write(data)
        except (BrokenPipeError, ValueError):
            raise EndedError from None

    def _answer(self, seconds: float) -> str:
        end = time.monotonic() + seconds
        while True:
            begin = self._received.find(b"$")
            stop = self._received.find(b"#", begin + 1) if begin >= 0 else -1
            if 0 <= stop <= len(self._received) - 3:
                text = bytes(self._received[begin + 1 : stop])
                del self._received[: stop + 3]
                self._write(b"+")
                return text.decode("latin-1")
            self._receive(end - time.monotonic())

    def _receive(self, seconds: float) -> None:
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        if not poll.poll(max(0.0, seconds) * 1000):
            raise TimeoutError
        data = os.read(self._answers.fileno(), 1 << 16)
        if not data:
            raise EndedError
        self._received += data

    def close(self) -> None:
        """Close the pipes."""
        for pipe in (self._requests, self._answers):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
