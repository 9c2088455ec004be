# SPDX-License-Identifier: Apache-2.0
"""A program for another firmware: object files, and a header with the locations of arrays."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from xtc.core.errors import UserError
from xtc.interfaces.artifact import Argument
from xtc.interfaces.target import BuildRequest
from xtc_targets.embedded.passes import ARENA

_C_TYPES = {
    "float32": "float",
    "float64": "double",
    "bool": "uint8_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_OF_STATES = (
    "// A state keeps its value from call to call; write its first one before the first call,",
    "// unless that is zeros.",
)
_OTHER = {2: "uint16_t"}  # float16, as bits


@dataclass(frozen=True)
class Program:
    """The machine code of a graph before linking.

    Attributes:
        objects: relocatable files: the code, and the constants if there are any.
        plan: buffers in the arena, in the format of `plan-memory`.
        source: the C file; "" if LLVM generated the code.
    """

    objects: tuple[bytes, ...]
    plan: tuple[Mapping[str, int | str], ...]
    source: str = ""


def library_files(program: Program, request: BuildRequest) -> dict[str, bytes]:
    """Object files, the header and the C source if there is one, by name.

    The objects need no start-up code; the firmware's linker places them.
    """
    names = [f"{request.entry}.o", f"{request.entry}_constants.o"]
    files = dict(zip(names, program.objects, strict=False))
    if program.source:
        files[f"{request.entry}.c"] = program.source.encode()
    return {**files, f"{request.entry}.h": header(program, request).encode()}


def header(program: Program, request: BuildRequest) -> str:
    """The C header of a program.

    Arrays share memory by their lifetimes, so inputs must be written before each call, and outputs
    read after it. Raises UserError if the graph's name is not a C identifier.
    """
    entry = request.entry
    if not re.fullmatch(r"[A-Za-z_]\w*", entry):
        raise UserError(
            f"a board's program cannot be called '{entry}'",
            hints=["give the graph a name of letters, digits and underscores"],
        )
    guard = f"{entry.upper()}_H"
    offsets = {str(b["name"]): int(b["offset"]) for b in program.plan}
    end = max((int(b["offset"]) + int(b["bytes"]) for b in program.plan), default=0)
    arrays = [
        _array(entry, argument, offsets[f"argument{number}"])
        for number, argument in enumerate(request.arguments)
    ]
    return "\n".join(
        [
            f"// {entry}: write the inputs, call {entry}(), read the outputs; every time, as",
            "// arrays share memory. Nothing is allocated; the stack needs about a kilobyte.",
            *(_OF_STATES if any(argument.state for argument in request.arguments) else []),
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <stdint.h>",
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            f"#define {entry.upper()}_ARENA_BYTES {end}",
            f"extern uint8_t {entry}{ARENA}[];",
            f"void {entry}(void);",
            "",
            *arrays,
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            f"#endif  // {guard}",
            "",
        ]
    )


def _array(entry: str, argument: Argument, offset: int) -> str:
    count = argument.nbytes
    type = _C_TYPES.get(argument.dtype)
    size = 1
    for extent in argument.shape:
        size *= extent
    type = type or _OTHER[count // max(1, size)]
    name = re.sub(r"\W", "_", argument.name)
    shape = " x ".join(map(str, argument.shape)) or "one number"
    return (
        f"/* {'state' if argument.state else argument.role}, {shape} */\n"
        f"static inline {type} *{entry}_{name}(void) "
        f"{{ return ({type} *)({entry}{ARENA} + {offset}); }}"
    )


def plan_text(program: Program, request: BuildRequest) -> str:
    """The buffers in the arena as JSON: names, offsets, bytes, first and last call."""
    names = {f"argument{n}": a.name for n, a in enumerate(request.arguments)}
    buffers = [{**b, "name": names.get(str(b["name"]), b["name"])} for b in program.plan]
    return json.dumps(buffers, indent=1) + "\n"
