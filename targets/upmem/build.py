# SPDX-License-Identifier: Apache-2.0
"""Builds images from the lowered module: DPU programs, and a table of the kernels in them.

An image begins with its magic number and the numbers of programs and of kernels. Then follow the
offset and size of each program, the name, program, number in the program and buffers of each
kernel, and the programs themselves. `csrc/driver_image.c` reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xtc.core.errors import CompileError, UserError
from xtc.interfaces.target import kernel_symbol
from xtc.ir.mlir import Operation
from xtc.ir.partition import symbol_of
from xtc.system.workspace import private_folder
from xtc_passes.local._functions import functions
from xtc_targets.upmem.device_c import MAX_BUFFERS, DeviceCode, KernelCode, device_code
from xtc_targets.upmem.options import STACK_BYTES, UpmemOptions
from xtc_targets.upmem.toolchain.command_line import read_command_line
from xtc_targets.upmem.toolchain.program import build
from xtc_targets.upmem.toolchain.vendor import VendorKit

_FAST = ("-O2", "-funroll-loops")
_SMALL = ("-Oz",)
_FLAGS = (
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fno-builtin",
    "-w",
)
MAGIC = b"XTCDPU01"
_HEADER = struct.Struct("<8sII")
_PROGRAM = struct.Struct("<QQ")
_KERNEL = struct.Struct("<128sIII")
_BUFFER = struct.Struct("<QQI")


@dataclass(frozen=True)
class Program:
    """A DPU program, and the kernels in it."""

    elf: bytes
    kernels: tuple[KernelCode, ...]


def write_image(lowered: Operation, options: UpmemOptions, folder: Path, stem: str) -> str:
    """Write the image; returns the file name.

    Raises ToolError with the compiler's message, and UserError if a kernel does not fit a DPU.
    """
    programs = _programs(lowered, options, stem)
    name = f"{stem}.dpu"
    (folder / name).write_bytes(image_bytes(programs))
    return name


def image_text(lowered: Operation, options: UpmemOptions) -> str:
    """The C of all kernels."""
    return _code(lowered).text


def _code(module: Operation) -> DeviceCode:
    symbols = {symbol_of(op): kernel_symbol(symbol_of(op)) for op in functions(module)}
    return device_code(module, symbols)


def _programs(lowered: Operation, options: UpmemOptions, stem: str) -> list[Program]:
    """One program, or several if it has too many instructions; each launch loads the right one.

    A kernel that is too large on its own is compiled for size.
    """
    code = _code(lowered)
    for kernel in code.kernels:
        if len(kernel.each) > MAX_BUFFERS:
            raise CompileError(
                f"kernel '{kernel.symbol}' has {len(kernel.each)} buffers, and a launch at most "
                f"{MAX_BUFFERS}"
            )
    try:
        return [Program(_compiled(code.text, options, stem, _FAST), code.kernels)]
    except UserError:
        if len(code.kernels) < 2:
            return [Program(_compiled(code.text, options, stem, _SMALL), code.kernels)]
    halves = [_half(lowered, number) for number in range(2)]
    return [program for half in halves for program in _programs(half, options, stem)]


def _half(module: Operation, number: int) -> Operation:
    """A module with half of the kernels."""
    part = module.clone()
    kernels = functions(part)
    middle = len(kernels) // 2
    for kernel in kernels[middle:] if number == 0 else kernels[:middle]:
        kernel.erase()
    return part


def _compiled(text: str, options: UpmemOptions, stem: str, level: Sequence[str]) -> bytes:
    with private_folder("upmem-") as folder:
        source, output = Path(folder, f"{stem}.c"), Path(folder, f"{stem}.elf")
        source.write_text(text)
        numbers = [f"-DNR_TASKLETS={options.tasklets}", f"-DSTACK_SIZE_DEFAULT={STACK_BYTES}"]
        flags = [*level, *_FLAGS, *numbers]
        if options.platform == "hw":
            VendorKit.found().build([source], output, options.profile, flags)
        else:
            line = read_command_line([*flags, "-o", str(output), str(source)])
            build(line, options.machine, name=stem)
        return output.read_bytes()


def image_bytes(programs: Sequence[Program]) -> bytes:
    """The image of these programs."""
    kernels = [
        (number, index, kernel)
        for number, program in enumerate(programs)
        for index, kernel in enumerate(program.kernels)
    ]
    described = b"".join(_kernel_bytes(*kernel) for kernel in kernels)
    start = _HEADER.size + len(programs) * _PROGRAM.size + len(described)
    table, elves = b"", b""
    for program in programs:
        at = (start + len(elves) + 7) // 8 * 8
        elves += bytes(at - start - len(elves)) + program.elf
        table += _PROGRAM.pack(at, len(program.elf))
    return _HEADER.pack(MAGIC, len(programs), len(kernels)) + table + described + elves


def _kernel_bytes(program: int, index: int, kernel: KernelCode) -> bytes:
    name = kernel.symbol.encode()
    if len(name) > 127:
        raise CompileError(f"the kernel's name has more than 127 bytes: {kernel.symbol}")
    buffers = zip(kernel.each, kernel.nbytes, kernel.written, strict=True)
    text = b"".join(_BUFFER.pack(*buffer) for buffer in buffers)
    return _KERNEL.pack(name, program, index, len(kernel.each)) + text
