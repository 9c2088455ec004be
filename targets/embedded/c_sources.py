# SPDX-License-Identifier: Apache-2.0
"""Prints a board's program as one plain C file with constants, and compiles it."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.core.errors import CompileError, ToolError
from xtc.interfaces.target import BuildRequest
from xtc.system import tool
from xtc.system.workspace import private_folder
from xtc_targets.embedded.description import Core

if TYPE_CHECKING:
    from xtc.codegen.c import Printer, Rule
    from xtc.ir.mlir import Operation

HINT = "pip install ziglang, which has a clang for all cores"
INCLUDE = Path(__file__).parent / "csrc" / "include"
# Integers wrap; buffers of different types share memory over time; multiply-adds are contracted
# where the program's operations allow it. No other flag changes results.
FLAGS = (
    *("-std=c11", "-ffreestanding", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=fast"),
    *("-fno-math-errno", "-fno-trapping-math", "-fno-sanitize=all", "-ffunction-sections"),
    *("-Wall", "-Wextra", "-Werror"),
)
# The names of cores in ziglang.
_MACHINES = {
    "cortex-m0plus": ("thumb-freestanding-eabi", "cortex_m0plus"),
    "cortex-m4": ("thumb-freestanding-eabihf", "cortex_m4+vfp4d16sp"),
    "cortex-m7": ("thumb-freestanding-eabihf", "cortex_m7+fp_armv8d16"),
    "cortex-m7-single": ("thumb-freestanding-eabihf", "cortex_m7+fp_armv8d16sp"),
    "cortex-m33": ("thumb-freestanding-eabihf", "cortex_m33+fp_armv8d16sp"),
    "cortex-a53": ("aarch64-freestanding-none", "cortex_a53"),
    "cortex-a76": ("aarch64-freestanding-none", "cortex_a76"),
}
_SECONDS = 600.0


def c_text(lowered: Operation, request: BuildRequest, *, contents: bool = True) -> str:
    """The C file; without `contents`, constants are `extern`.

    Raises CompileError for code that C cannot express.
    """
    from xtc.codegen.c import c_source
    from xtc.codegen.c.functions import is_private
    from xtc.ir.mlir import UnitAttr
    from xtc_passes.local._functions import functions

    held = request.constants if contents else {}
    module = lowered.clone()
    for function in functions(module):
        if is_private(function):  # an operator, whose instructions are counted separately
            with module.context:
                function.attributes["no_inline"] = UnitAttr.get()
    try:
        source = c_source(module, rules=_rules(), contents=held)
    except CompileError as error:
        error.hints = (*error.hints, "use codegen='llvm', which supports more than C can express")
        raise
    return f"{_head(request.entry)}{source.text}"


def object_code(text: str, core: Core, level: int, name: str) -> bytes:
    """The object file of a C file. Raises ToolError if there is no compiler for the core."""
    target, cpu = _MACHINES[_known(core)]
    with private_folder("c-") as folder:
        code, object_file = Path(folder, f"{name}.c"), Path(folder, f"{name}.o")
        code.write_text(text)
        words = [*_compiler(), "-target", target, f"-mcpu={cpu}", f"-O{level}", *FLAGS]
        words += [f"-I{INCLUDE}", "-c", "-o", str(object_file), str(code)]
        tool.run(words, what=f"compiling the C of '{name}'", install_hint=HINT, timeout=_SECONDS)
        return object_file.read_bytes()


def _known(core: Core) -> str:
    return "cortex-m7-single" if core.name == "cortex-m7" and not core.doubles else core.name


def version() -> str:
    """The version that the compiler reports; "" without a compiler."""
    return _version() if importlib.util.find_spec("ziglang") else ""


@functools.lru_cache(maxsize=1)
def _version() -> str:
    asked = tool.run(
        [*_compiler(), "--version"], what="querying the version of clang", install_hint=HINT
    )
    return asked.stdout.partition("\n")[0].strip()


def _compiler() -> tuple[str, ...]:
    if importlib.util.find_spec("ziglang") is None:
        raise ToolError(
            "compiling C for a board needs a clang for its core, which was not found",
            hints=[HINT, "xtc-compile --stage code -O codegen=c prints the C without one"],
        )
    return (sys.executable, "-m", "ziglang", "cc")


def _head(entry: str) -> str:
    return (
        f"// {entry}: the program of {entry}.h, in C11 with attributes of GCC and Clang.\n"
        "// Compile it with -fwrapv and, as buffers share memory, with -fno-strict-aliasing.\n"
    )


def _rules() -> dict[str, Rule]:
    return {"memref.view": _view}


def _view(printer: Printer, op: Operation) -> None:
    """Print a part of the arena as an array."""
    from xtc.codegen.c.expression import Expression
    from xtc.codegen.c.memref import element_type, pointer
    from xtc.ir.mlir import MemRefType

    arena, offset = (printer.expression(operand).text for operand in op.operands)
    (result,) = op.results
    type = printer.prelude.type(element_type(printer, result))
    shape = list(MemRefType(result.type).shape)
    name = printer.names.declare("buffer")
    declared = pointer(type, name, shape, "const ")
    cast = pointer(type, "", shape)
    printer.statement(f"{declared} = ({cast})({arena} + {offset});")
    printer.set(result, Expression(name), f"{name}#")
