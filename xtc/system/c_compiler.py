# SPDX-License-Identifier: Apache-2.0
"""The C compiler named by the knob XTC_CC, which compiles and links."""

from __future__ import annotations

import functools
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xtc.core import knobs
from xtc.core.errors import ToolError, UserError
from xtc.system import tool
from xtc.system.workspace import private_folder

INSTALL_HINT = (
    "install a C compiler (Debian: apt install gcc; macOS: xcode-select --install), "
    f"or name one in {knobs.CC.name}"
)
_SECONDS = 600.0


def command() -> list[str]:
    """The program and its arguments. Raises UserError if XTC_CC is not a command."""
    text = knobs.CC.get()
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"{knobs.CC.name} is not a command: {text}", notes=[str(error)]) from None
    if not words:
        raise UserError(f"{knobs.CC.name} is not a command: {text!r}")
    return words


@dataclass(frozen=True)
class CCompiler:
    """GCC, Clang or one that takes their flags.

    Attributes:
        command: the program and its fixed arguments.
        path: the path of the program.
        version: the first line of its version text.
        triple: the target triple that it reports.
    """

    command: tuple[str, ...]
    path: str
    version: str
    triple: str

    @staticmethod
    def configured() -> CCompiler:
        """The compiler that XTC_CC names, queried once per process.

        Raises UserError if that is not a command, ToolError if the program is missing.
        """
        words = tuple(command())
        return _identified(words, shutil.which(words[0]) or words[0])

    def check_triple(self, triple: str) -> None:
        """Raise UserError unless the compiler generates code for the triple's architecture."""
        if _architecture(self.triple) != _architecture(triple):
            raise UserError(
                f"the C compiler {self.path} generates code for {self.triple}, not for {triple}",
                hints=[f"{knobs.CC.name} must name a compiler for {triple}"],
            )

    def object_code(self, source: str, flags: Sequence[str], name: str) -> bytes:
        """Compile C source to an object file; `name` is the source's name in messages.

        Raises ToolError with the compiler's message, UserError if the compiler lacks a type that
        the source needs.
        """
        if "_Float16" in source and not _has_float16(self, tuple(flags)):
            raise UserError(
                f"the C compiler {self.path} has no _Float16 for this machine",
                notes=[self.version],
                hints=["use GCC 12, Clang 15 or a newer one", "or generate code with LLVM"],
            )
        return self._compile(source, flags, f"compiling the C of '{name}'")

    def _compile(self, source: str, flags: Sequence[str], what: str) -> bytes:
        with private_folder("c-") as folder:
            code, result = Path(folder, "module.c"), Path(folder, "module.o")
            code.write_text(source)
            words = [*self.command, *flags, "-c", "-o", str(result), str(code)]
            tool.run(words, what=what, install_hint=INSTALL_HINT, timeout=_SECONDS)
            return result.read_bytes()


@functools.lru_cache(maxsize=16)
def _identified(command: tuple[str, ...], path: str) -> CCompiler:
    version, triple = (_answer([*command, word]) for word in ("--version", "-dumpmachine"))
    return CCompiler(command, path, version, triple)


def _answer(words: Sequence[str]) -> str:
    """The first line of a program's output."""
    asked = tool.run(
        words, what="querying the version of the C compiler", install_hint=INSTALL_HINT
    )
    return asked.stdout.strip().partition("\n")[0]


@functools.lru_cache(maxsize=64)
def _has_float16(compiler: CCompiler, flags: tuple[str, ...]) -> bool:
    try:
        compiler._compile("_Float16 x;\n", flags, "checking for _Float16")
    except ToolError:
        return False
    return True


def _architecture(triple: str) -> str:
    word = triple.partition("-")[0]
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(word, word)
