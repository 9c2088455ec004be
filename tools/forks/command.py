# SPDX-License-Identifier: Apache-2.0
"""Lets a forked process behave like a new interpreter with a command line."""

from __future__ import annotations

import atexit
import builtins
import importlib.util
import io
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, TextIO


@dataclass(frozen=True)
class Command:
    """The arguments of an interpreter, and its working folder."""

    arguments: Sequence[str]
    environment: dict[str, str]
    folder: str
    umask: int


def can_run(arguments: Sequence[str]) -> bool:
    """Whether `Command` supports the form: `-m MODULE ...`, `-c CODE ...` or `FILE ...`."""
    if not arguments:
        return False
    first = arguments[0]
    return len(arguments) > 1 if first in ("-m", "-c") else not first.startswith("-")


def become(command: Command) -> None:
    """Run a command to its end, in this process.

    Raises the exception that ends the command, such as SystemExit, so that the interpreter ends
    as after a program.
    """
    os.chdir(command.folder)
    os.umask(command.umask)
    os.environ.clear()  # noqa: TID251  the whole environment
    os.environ.update(command.environment)  # noqa: TID251
    tempfile.tempdir = None  # recomputed, because TMPDIR may differ
    _open_streams(unbuffered=bool(command.environment.get("PYTHONUNBUFFERED")))
    sys.excepthook = _print_exception
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    code = _load(command.arguments, main)
    exec(code, main.__dict__)  # noqa: S102  this is what an interpreter does


class Ending:
    """Ends the process like the interpreter, but without freeing everything that was imported.

    It must be created before other exit handlers are registered, so that it runs last. The
    code of the command is in a `with` statement.
    """

    def __init__(self) -> None:
        self._code: int | None = 0
        atexit.register(self._end)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SystemExit):
            code = error.code
            self._code = 0 if code is None else code if isinstance(code, int) else 1
        elif error is not None:
            self._code = None if isinstance(error, KeyboardInterrupt) else 1

    def _end(self) -> None:
        if self._code is None:  # after an interrupt, the process ends by the signal
            return
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(self._code & 0xFF)


def _open_streams(*, unbuffered: bool) -> None:
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        like: TextIO = getattr(sys, name)
        stream = _stream(descriptor, like, unbuffered=unbuffered and descriptor > 0)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _stream(descriptor: int, like: TextIO, *, unbuffered: bool) -> TextIO:
    """A standard stream as the interpreter opens it, with the encoding of the previous one."""
    mode = "w" if descriptor else "r"
    raw: Any = io.FileIO(descriptor, mode, closefd=False)
    raw.name = like.name
    stream: Any = io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw) if descriptor else io.BufferedReader(raw),
        encoding=like.encoding,
        errors=like.errors,
        line_buffering=not unbuffered and (descriptor == 2 or raw.isatty()),
        write_through=unbuffered,
    )
    stream.mode = mode
    text: TextIO = stream
    return text


def _load(arguments: Sequence[str], main: ModuleType) -> CodeType:
    """The code that the arguments name, with `main`, `sys.argv` and `sys.path` prepared for it."""
    first, *rest = arguments
    if first == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        return compile(rest[0], "<string>", "exec", dont_inherit=True)
    if first == "-m":
        sys.path[0] = str(Path.cwd())
        code = _load_module(rest[0], main)
        sys.argv = [str(main.__file__), *rest[1:]]
        return code
    file = Path(first).absolute()
    sys.argv, sys.path[0] = [first, *rest], str(file.resolve().parent)
    main.__dict__.update(__file__=str(file), __cached__=None)
    try:
        text = file.read_bytes()
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {first!r}: {error}\n")
        raise SystemExit(2) from None
    return compile(text, str(file), "exec", dont_inherit=True)


def _load_module(name: str, main: ModuleType) -> CodeType:
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        return _load_module(f"{name}.__main__", main)
    loader: Any = spec and spec.loader
    if spec is None or loader is None:
        sys.stderr.write(f"{sys.executable}: No module named {name}\n")
        raise SystemExit(1)
    main.__dict__.update(
        __file__=spec.origin, __cached__=spec.cached, __spec__=spec, __loader__=loader
    )
    main.__package__ = spec.parent
    code: CodeType = loader.get_code(name)
    return code


def _print_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback like the interpreter, without the frames before the command."""
    shown, frame = trace, trace
    while frame:
        if Path(frame.tb_frame.f_code.co_filename) == Path(__file__):
            shown = frame.tb_next
        frame = frame.tb_next
    sys.__excepthook__(kind, error.with_traceback(shown), shown)
