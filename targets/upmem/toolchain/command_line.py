# SPDX-License-Identifier: Apache-2.0
"""Parses the command line of the vendor's DPU compiler, as Makefiles use it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xtc.core.errors import UserError
from xtc_targets.upmem.description import PROFILES

_WITH_VALUE = (
    "-I",
    "-D",
    "-U",
    "-include",
    "-isystem",
    "-iquote",
    "-x",
    "-MF",
    "-MT",
    "-MQ",
    "-target",
)
# Only the vendor's compiler has these.
_DROPPED = ("-Werror=", "-flto", "-target", "--target=", "--sysroot=")
_STOPS = {"-c": "object", "-S": "assembly", "-E": "text", "-fsyntax-only": "nothing"}
_STACK = re.compile(r"STACK_SIZE_(DEFAULT|TASKLET_(\d+))")
_DEFAULT_STACK = 1024
MOST_TASKLETS = max(profile.tasklets for profile in PROFILES.values())


@dataclass(frozen=True)
class CommandLine:
    """A parsed command line.

    Attributes:
        flags: flags for the compiler, as given.
        linker_flags: flags for the linker.
        inputs: C, assembly and object files, and archives.
        output: the file to write; None if it is not named.
        stops_at: the kind of output: `program`, `object`, `assembly`, `text` or `nothing`.
        tasklets: NR_TASKLETS of the program.
        stacks: bytes of each tasklet's stack.
        chip: the version in -mcpu or -march; None without them.
        tasklets_are_given: whether NR_TASKLETS is defined.
    """

    flags: tuple[str, ...]
    linker_flags: tuple[str, ...]
    inputs: tuple[Path, ...]
    output: Path | None
    stops_at: str
    tasklets: int
    stacks: tuple[int, ...]
    chip: str | None = None
    tasklets_are_given: bool = True


@dataclass
class _Reading:
    flags: list[str] = field(default_factory=list)
    linker_flags: list[str] = field(default_factory=list)
    inputs: list[Path] = field(default_factory=list)
    output: Path | None = None
    stops_at: str = "program"
    chip: str | None = None
    defined: dict[str, str] = field(default_factory=dict)


def read_command_line(words: Sequence[str]) -> CommandLine:
    """Parse the arguments of a command line. Raises UserError for invalid numbers."""
    reading = _Reading()
    rest = list(words)
    while rest:
        _read_word(rest.pop(0), rest, reading)
    if not any(flag.startswith("-O") for flag in reading.flags):
        reading.flags.append("-O2")
    are_given = any("NR_TASKLETS" in word for word in words)
    if not are_given:
        reading.flags.append("-DNR_TASKLETS=1")
    tasklets = _number(reading.defined, "NR_TASKLETS", 1)
    if not 1 <= tasklets <= MOST_TASKLETS:
        raise UserError(
            f"NR_TASKLETS={tasklets} is not from 1 to {MOST_TASKLETS}",
            notes=[f"a {p.name} has {p.tasklets} tasklets" for p in PROFILES.values()],
        )
    return CommandLine(
        tuple(reading.flags),
        tuple(reading.linker_flags),
        tuple(reading.inputs),
        reading.output,
        reading.stops_at,
        tasklets,
        _stacks(reading.defined, tasklets),
        reading.chip,
        are_given,
    )


def _read_word(word: str, rest: list[str], reading: _Reading) -> None:
    if word == "-o":
        reading.output = Path(_value(word, rest))
    elif word in _STOPS:
        reading.stops_at = _STOPS[word]
        reading.flags += [word] if word != "-c" else []
    elif word.startswith("-Wl,"):
        reading.linker_flags += word.split(",")[1:]
    elif word == "-Xlinker":
        reading.linker_flags.append(_value(word, rest))
    elif word.startswith(("-l", "-L")):
        reading.linker_flags.append(word)
    elif word in _WITH_VALUE:
        _add_flag(word + _value(word, rest), reading, separate=word not in ("-I", "-D", "-U"))
    elif word.startswith("-"):
        _add_flag(word, reading)
    else:
        reading.inputs.append(Path(word))


def _add_flag(flag: str, reading: _Reading, *, separate: bool = False) -> None:
    if flag.startswith("-D"):
        name, _, value = flag[2:].partition("=")
        reading.defined[name] = value or "1"
    # Warnings differ from those of the compiler that the program's author used.
    if flag in ("-Werror", "-pg") or flag.startswith(_DROPPED):
        return
    if flag.startswith(("-mcpu=", "-march=")):
        reading.chip = flag.partition("=")[2]
        return
    if separate:
        word = next(word for word in _WITH_VALUE if flag.startswith(word))
        reading.flags += [word, flag[len(word) :]]
    else:
        reading.flags.append(flag)


def _value(word: str, rest: list[str]) -> str:
    if not rest:
        raise UserError(f"{word} needs a value")
    return rest.pop(0)


def _number(defined: dict[str, str], name: str, otherwise: int) -> int:
    text = defined.get(name, str(otherwise))
    try:
        return int(text, 0)
    except ValueError:
        raise UserError(f"{name}={text} is not a number") from None


def _stacks(defined: dict[str, str], tasklets: int) -> tuple[int, ...]:
    usual = _number(defined, "STACK_SIZE_DEFAULT", _DEFAULT_STACK)
    stacks = [usual] * tasklets
    for name in defined:
        match = _STACK.fullmatch(name)
        if match is not None and match[2] is not None and int(match[2]) < tasklets:
            stacks[int(match[2])] = _number(defined, name, usual)
    if any(stack < 0 for stack in stacks):
        raise UserError("a stack has a negative size")
    return tuple((stack + 7) // 8 * 8 for stack in stacks)
