# SPDX-License-Identifier: Apache-2.0
"""Values of integer registers in straight-line PTX."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

SHARED = 0x400
"""The address of dynamic shared memory: the system reserves the first KiB of a block on sm_90."""

_DEFINITION = re.compile(r"^\s*([a-z0-9_.:]+)\s+(%\w+), (.+);$", re.MULTILINE)
_TWO: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "shl": operator.lshift,
    "shr": operator.rshift,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "mul": operator.mul,
}
_SAME = ("mov", "cvt", "cvta")


class Registers:
    """The registers of a thread, each of which is written once; other ones have no value."""

    def __init__(self, ptx: str, thread: int) -> None:
        self._thread = thread
        self._written: dict[str, list[tuple[str, str]]] = {}
        for opcode, name, operands in _DEFINITION.findall(ptx):
            self._written.setdefault(name, []).append((opcode, operands))

    def value(self, name: str) -> int:
        """The value of a register, a special register, an address or a number."""
        if name == "%tid.x":
            return self._thread
        if not name.startswith("%"):
            return self._address(name)
        ((opcode, operands),) = self._written[name]
        return self._result(opcode, [self.value(each) for each in operands.split(", ")])

    def parameter(self, name: str) -> int:
        """The number of the kernel's parameter that a register holds."""
        ((opcode, operands),) = self._written[name]
        if opcode.startswith("ld.param"):
            return int(operands.rstrip("]").rpartition("_")[2])
        return self.parameter(operands)

    @staticmethod
    def _address(text: str) -> int:
        symbol, _, offset = text.partition("+")
        base = SHARED if symbol == "xtc_shared" else int(symbol, 0)
        return base + int(offset or 0)

    @staticmethod
    def _result(opcode: str, values: list[int]) -> int:
        name = opcode.partition(".")[0]
        bits = 64 if opcode.endswith("64") else 32
        if name in _SAME:
            result = values[0]
        elif name == "mad":
            result = values[0] * values[1] + values[2]
        else:
            result = _TWO[name](*values)
        return result & (1 << (64 if ".wide" in opcode else bits)) - 1
