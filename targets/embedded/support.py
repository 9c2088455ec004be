# SPDX-License-Identifier: Apache-2.0
"""Support code of board programs: start-up, and routines for missing instructions.

The sources are in `csrc/`, as assembly and LLVM IR; LLVM compiles them in this process.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from xtc.codegen.llvm import compile_ir
from xtc_targets.embedded.description import Core
from xtc_targets.embedded.link.elf import ObjectFile, read_object

CSRC = Path(__file__).parent / "csrc"
_M = ("start_m.s", "memory_m.s", "integer_m.s", "integer.ll", "soft_float.ll", "round_float.ll")
_A64 = ("start_aarch64.s", "memory_aarch64.s")


def version() -> str:
    """A hash of the sources."""
    digest = hashlib.sha256()
    for name in sorted((*_M, *_A64)):
        digest.update((CSRC / name).read_bytes())
    return digest.hexdigest()[:16]


@functools.lru_cache(maxsize=32)
def support_objects(core: Core) -> tuple[ObjectFile, ...]:
    """All support code for a core, an object per source; the linker selects what is referenced."""
    names = _A64 if core.bits == 64 else _M
    return tuple(
        read_object(support_object(core, name)) for name in names if _is_needed(core, name)
    )


def support_object(core: Core, name: str) -> bytes:
    """The object file of one source."""
    text = (CSRC / name).read_text()
    if name.endswith(".s"):
        text = _module(_assembly(core, text))
    return compile_ir(text, core.machine, opt=2, name=name, static=True)


def _is_needed(core: Core, name: str) -> bool:
    """Whether a core needs a source: an FPU makes the integer routines for floats unnecessary."""
    return not (core.fpu and name == "soft_float.ll")


def _assembly(core: Core, text: str) -> str:
    flags = {"XTC_FPU": core.fpu, "XTC_DWT": core.cycle_counter}
    set_flags = "".join(f"  .set {name}, {int(value)}\n" for name, value in flags.items())
    return set_flags + text


def _module(assembly: str) -> str:
    """A module of LLVM IR that consists only of assembly."""
    lines = (line.split("//")[0].rstrip() for line in assembly.splitlines())
    quoted = (line.replace("\\", "\\5C").replace('"', "\\22") for line in lines if line)
    return "".join(f'module asm "{line}"\n' for line in quoted)
