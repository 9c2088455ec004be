# SPDX-License-Identifier: Apache-2.0
"""Reads the memory sizes of a linked DPU program from its ELF file."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xtc.core.errors import ArtifactError, UserError
from xtc_targets.upmem.description import DpuDescription

_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_SECTION = struct.Struct("<10I")
_SYMBOL = struct.Struct("<IIIBBH")
_SYMBOLS = 2  # the type of a symbol table
_OBJECT = 1  # the type of a symbol that is a variable
_HEAP, _MRAM_END = "__sys_heap_pointer_reset", "__sys_used_mram_end"
_MRAM_BASE = 0x08000000
_STACKS = "__sys_stack_thread_0"
_INSTRUCTIONS, _WRAM = "instructions (of RISC-V) in IRAM", "bytes of data and stacks in WRAM"
_HINTS = {
    _INSTRUCTIONS: [
        "compile it with -Os",
        "make two programs of it, and load each when needed",
    ],
    _WRAM: [
        "keep large data in MRAM (__mram_noinit), and a block of it in WRAM",
        "use fewer tasklets, or a smaller STACK_SIZE_DEFAULT",
    ],
}


@dataclass(frozen=True)
class ProgramSize:
    """The memory sizes of a program.

    Attributes:
        instructions: RISC-V instructions in instruction memory.
        data_bytes: WRAM, without stacks.
        stack_bytes: WRAM for the stacks of all tasklets.
        mram_bytes: MRAM of variables.
        mutexes: number of atomic bits.
        tasklets: NR_TASKLETS.
    """

    instructions: int
    data_bytes: int
    stack_bytes: int
    mram_bytes: int
    mutexes: int
    tasklets: int

    def check(self, profile: DpuDescription, name: str) -> None:
        """Raise UserError if the program exceeds a limit of the machine."""
        wram = self.data_bytes + self.stack_bytes
        needs = (
            (_INSTRUCTIONS, self.instructions, profile.iram_instructions),
            (_WRAM, wram, profile.wram_bytes),
            ("bytes of variables in MRAM", self.mram_bytes, profile.mram_bytes),
            ("atomic bits", self.mutexes, profile.mutexes),
            ("tasklets", self.tasklets, profile.tasklets),
        )
        for what, needed, there in needs:
            if needed > there:
                raise UserError(
                    f"the program '{name}' needs {needed} {what}, and a {profile.name} has {there}",
                    notes=[
                        f"its data have {self.data_bytes} bytes, the stacks of {self.tasklets} "
                        f"tasklets {self.stack_bytes}"
                    ],
                    hints=_HINTS.get(what, ()),
                )


def program_size(path: Path) -> ProgramSize:
    """Read a linked program. Raises ArtifactError if it is invalid."""
    try:
        symbols, sections = _read(path.read_bytes())
        heap, stacks = symbols[_HEAP], symbols[_STACKS]
        return ProgramSize(
            instructions=sections[".text"] // 4,
            data_bytes=stacks,
            stack_bytes=heap - stacks,
            mram_bytes=symbols[_MRAM_END] - _MRAM_BASE,
            mutexes=sections.get(".atomic", 0),
            tasklets=symbols["NR_TASKLETS"],
        )
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise ArtifactError(
            "it is not a program for DPUs", where=path, notes=[str(error)]
        ) from None


def variables(path: Path) -> list[str]:
    """The names of a linked program's variables. Raises ArtifactError if it is invalid."""
    try:
        data = path.read_bytes()
        return [name for name, _, info in _symbols(data, _sections(data)) if info & 15 == _OBJECT]
    except (struct.error, IndexError, ValueError) as error:
        raise ArtifactError(
            "it is not a program for DPUs", where=path, notes=[str(error)]
        ) from None


def _read(data: bytes) -> tuple[dict[str, int], dict[str, int]]:
    """The values of symbols and the sizes of sections, by name."""
    sections = _sections(data)
    names = sections[_HEADER.unpack_from(data)[13]][4]
    sizes = {_text(data, names + section[0]): section[5] for section in sections}
    return {name: value for name, value, _ in _symbols(data, sections)}, sizes


def _sections(data: bytes) -> list[tuple[int, ...]]:
    header = _HEADER.unpack_from(data)
    if header[0][:5] != b"\x7fELF\x01":
        raise ValueError("it is not a 32-bit ELF file")
    offset, entry, count = header[6], header[11], header[12]
    return [_SECTION.unpack_from(data, offset + i * entry) for i in range(count)]


def _symbols(data: bytes, sections: Sequence[tuple[int, ...]]) -> Iterator[tuple[str, int, int]]:
    """Name, value and type of each symbol."""
    for section in sections:
        if section[1] != _SYMBOLS:
            continue
        strings = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], _SYMBOL.size):
            name, value, _, info, *_ = _SYMBOL.unpack_from(data, at)
            yield _text(data, strings + name), value, info


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(0, at)].decode()
