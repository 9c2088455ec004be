# SPDX-License-Identifier: Apache-2.0
"""Compiles the sources of external functions to object files, with their declarations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.codegen.llvm import Machine
from xtc.core.errors import ToolError, UserError
from xtc.ir.attributes import EXTERNALS
from xtc.system.c_compiler import CCompiler
from xtc_targets.host.external_signature import DEFINITION, PRELUDE

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

LANGUAGES = {".s": "assembler", ".S": "assembler-with-cpp"}
"""The compilers' names for assembly, by file suffix."""


@dataclass(frozen=True)
class _Function:
    """An external function as the lowered module describes it.

    Attributes:
        function: its name.
        sources: files that define it.
        flags: compiler flags for the sources.
        declaration: its declaration in C.
        callers: C functions that call it.
    """

    function: str
    sources: tuple[str, ...]
    flags: tuple[str, ...]
    declaration: str
    callers: str

    @property
    def home(self) -> str:
        """The source that the callers are compiled with; "" if none is in C."""
        return next((source for source in self.sources if source.endswith(".c")), "")


def external_objects(
    lowered: Operation, machine: Machine, flags: Sequence[str]
) -> tuple[bytes, ...]:
    """The objects of the external functions that a lowered module calls.

    `flags` are those for the machine. Raises UserError for a source that does not exist, or that
    does not define the function as it is called, and ToolError if there is no C compiler.
    """
    functions = _functions(lowered)
    if not functions:
        return ()
    compiler = CCompiler.configured()
    compiler.check_triple(machine.triple)
    flags = (*flags, "-fPIC", "-w")
    homeless = (function for function in functions if not function.home)
    own = DEFINITION + "".join(f"{each.declaration};\n{each.callers}" for each in homeless)
    objects = [compiler.object_code(own, flags, "calls of external functions")]
    for source, added in _sources(functions).items():
        users = [function for function in functions if source in function.sources]
        objects.append(_compiled(compiler, source, users, (*flags, *added)))
    return tuple(objects)


def _functions(lowered: Operation) -> list[_Function]:
    from xtc.ir.mlir import ArrayAttr, DictAttr, StringAttr

    if EXTERNALS not in lowered.attributes:
        return []
    found = []
    for item in ArrayAttr(lowered.attributes[EXTERNALS]):
        fields = {entry.name: entry.attr for entry in DictAttr(item)}
        function, declaration, callers = (
            StringAttr(fields[name]).value for name in ("function", "declaration", "callers")
        )
        sources, flags = (
            tuple(StringAttr(text).value for text in ArrayAttr(fields[name]))
            for name in ("sources", "flags")
        )
        found.append(_Function(function, sources, flags, declaration, callers))
    return found


def _sources(functions: Sequence[_Function]) -> Mapping[str, tuple[str, ...]]:
    """Each source once, with its flags. Raises UserError if two functions disagree on them."""
    flags: dict[str, tuple[str, ...]] = {}
    for function in functions:
        if not function.sources:
            raise UserError(
                f"external function '{function.function}' has no sources",
                hints=["sources=['kernel.c']: files in C or assembly that define it"],
            )
        for source in function.sources:
            if flags.setdefault(source, function.flags) != function.flags:
                raise UserError(f"{source} is to be compiled with two sets of flags")
    return flags


def _compiled(
    compiler: CCompiler, source: str, users: Sequence[_Function], flags: Sequence[str]
) -> bytes:
    path = Path(source).absolute()
    if path.suffix not in (".c", *LANGUAGES):
        raise UserError(f"{source} is neither C nor assembly", hints=["a name in .c, .s or .S"])
    if not path.is_file():
        raise UserError(
            f"there is no file {source}",
            notes=["the schedule names it as a source of external functions"],
        )
    flags = (*flags, "-iquote", str(path.parent))
    try:
        content = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {source}: {error}") from None
    if path.suffix in LANGUAGES:
        return compiler.object_code(content, (*flags, "-x", LANGUAGES[path.suffix]), source)
    try:
        return compiler.object_code(_unit(source, content, users), flags, source)
    except ToolError as error:
        raise UserError(
            f"{source} does not compile as external functions",
            notes=[*error.notes],
            hints=[f"it is called as {function.declaration}" for function in users],
        ) from None


def _unit(source: str, content: str, users: Sequence[_Function]) -> str:
    """A source, with the declarations of its functions before it and their callers after it."""
    declared = "".join(f"{function.declaration};\n" for function in users)
    calls = "".join(function.callers for function in users if function.home == source)
    begin, end = (f"#line 1 {json.dumps(name)}" for name in (source, "calls"))
    return f"#include <stdint.h>\n{declared}{begin}\n{content}\n{end}\n{PRELUDE}{calls}"
