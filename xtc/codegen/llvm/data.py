# SPDX-License-Identifier: Apache-2.0
"""Object files of constant data, such as weights, to link with the code that uses it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ctypes import c_void_p
from pathlib import Path

from xtc.codegen.llvm.capi import llvm
from xtc.codegen.llvm.compilation import Unit, compilation
from xtc.codegen.llvm.elf_data import Content, has_elf, write_elf_data
from xtc.codegen.llvm.fatal import guarded
from xtc.codegen.llvm.machine import Machine
from xtc.core.errors import UserError

_HIDDEN = 1  # LLVMHiddenVisibility


def data_object(symbols: Mapping[str, Content], machine: Machine, *, align: int = 64) -> bytes:
    """An object file that defines each symbol as constant bytes.

    The symbols have hidden visibility: only objects linked with it can use them.

    Args:
        symbols: names and contents, in their order in the object.
        machine: the machine of the object.
        align: the alignment of every symbol in bytes, a power of two up to 2^32.

    Raises:
        UserError: an unknown machine, an empty name, or an invalid alignment.
    """
    _check(symbols, align)

    def compile_data() -> bytes:
        with compilation(machine, 0, "data") as unit:
            module = unit.new_module()
            for name, content in symbols.items():
                _define(unit, module, name, bytes(content), align)
            return unit.emit(module, "object")

    return guarded(compile_data, "the data object")


def write_data_object(path: Path, symbols: Mapping[str, Content], machine: Machine) -> None:
    """Like `data_object`, to a file, without copies of the contents if the format is ELF."""
    _check(symbols, 1)
    with path.open("wb") as file:
        if has_elf(machine):
            write_elf_data(file, symbols, machine)
        else:
            file.write(data_object(symbols, machine))


def _check(symbols: Iterable[str], align: int) -> None:
    if align < 1 or align & (align - 1) or align > 1 << 32:
        raise UserError(f"the alignment {align} is not a power of two from 1 to 2^32")
    for name in symbols:
        if not name or "\0" in name:
            raise UserError(f"{name!r} cannot be the name of a symbol")


def _define(unit: Unit, module: c_void_p, name: str, content: bytes, align: int) -> None:
    lib = llvm()
    value = lib.LLVMConstStringInContext2(unit.context, content, len(content), 1)
    symbol = lib.LLVMAddGlobal(module, lib.LLVMTypeOf(value), name.encode())
    lib.LLVMSetInitializer(symbol, value)
    lib.LLVMSetGlobalConstant(symbol, 1)
    lib.LLVMSetVisibility(symbol, _HIDDEN)
    lib.LLVMSetAlignment(symbol, align)
