# SPDX-License-Identifier: Apache-2.0
"""Build DPU programs and a host program, and run them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xtc.core import knobs
from xtc.core.errors import UserError
from xtc.system import c_compiler, tool
from xtc.system.workspace import private_folder
from xtc_targets.upmem.commands._child import ended
from xtc_targets.upmem.description import PROFILES, DpuDescription, default_profile, profile_named
from xtc_targets.upmem.toolchain.command_line import read_command_line
from xtc_targets.upmem.toolchain.environment import environment
from xtc_targets.upmem.toolchain.folders import INCLUDE
from xtc_targets.upmem.toolchain.library import built_library
from xtc_targets.upmem.toolchain.program import build
from xtc_targets.upmem.toolchain.vendor import VendorKit

_SECONDS = 600.0
_CXX = (".cc", ".cpp", ".cxx", ".C")


@dataclass(frozen=True)
class DpuProgram:
    """A program of the option `--dpu`: the name for `dpu_load`, and its files."""

    name: str
    sources: tuple[Path, ...]

    @staticmethod
    def parse(text: str) -> DpuProgram:
        """Read `NAME=a.c,b.c`. Raises ArgumentTypeError."""
        name, equals, files = text.partition("=")
        if not (name and equals and files):
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE[,FILE]")
        return DpuProgram(name, tuple(Path(file) for file in files.split(",")))


def run(argv: Sequence[str]) -> int:
    """Build and run; returns the program's exit code. Raises XtcError if a build fails."""
    words, arguments = _split(list(argv))
    words, flags = _separated(words)
    options = _parser().parse_args(words)
    profile = _profile(options)
    if options.platform == "hw":
        return _run_on_hardware(options, flags, profile, arguments)
    with private_folder("upmem-") as folder:
        host = _build_host(options.host, flags, options.tasklets, Path(folder))
        programs = [
            f"{program.name}={_build_dpu(program, i, flags, options, profile, Path(folder))}"
            for i, program in enumerate(options.dpu)
        ]
        settings = {
            "XTC_UPMEM_PROFILE": profile.name,
            "XTC_UPMEM_PROGRAMS": "\n".join(programs),
            "XTC_UPMEM_REPORT": str(options.report.absolute()) if options.report else "",
            "XTC_UPMEM_LINES": "1" if options.report else "",
        }
        return ended([str(host), *arguments], environment(Path(folder, "kit"), settings))


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """The arguments of the command, and those of the program, which follow `--`."""
    if "--" not in argv:
        return argv, []
    at = argv.index("--")
    return argv[:at], argv[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xtc upmem run",
        allow_abbrev=False,
        description="Compile DPU programs and a host program, and run the host program. The "
        "command has its output and its exit code. -D, -I and -O apply to both compilers, as does "
        "NR_TASKLETS; -l applies to the host's. Arguments of the program follow --.",
    )
    parser.add_argument("host", nargs="+", type=Path, help="C or C++ files of the host")
    parser.add_argument(
        "--dpu",
        action="append",
        required=True,
        type=DpuProgram.parse,
        metavar="NAME=FILE[,FILE]",
        help="a DPU program: the name for dpu_load, and its C files",
    )
    parser.add_argument(
        "--tasklets", type=int, default=1, metavar="N", help="NR_TASKLETS (default: 1)"
    )
    parser.add_argument(
        "--stack",
        type=int,
        default=1024,
        metavar="BYTES",
        help="stack of each tasklet (default: %(default)s)",
    )
    parser.add_argument(
        "--profile",
        choices=[*PROFILES],
        help="version of the chip (default: v1B, or v1A for more tasklets than v1B has)",
    )
    parser.add_argument(
        "--platform",
        choices=["sim", "hw"],
        default="sim",
        help="the simulator, or the DPUs of this machine (default: %(default)s)",
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write a report of the run as JSON"
    )
    return parser


def _profile(options: argparse.Namespace) -> DpuDescription:
    if options.profile is not None:
        return profile_named(options.profile)
    return default_profile(options.tasklets)


def _run_on_hardware(
    options: argparse.Namespace,
    flags: Sequence[str],
    profile: DpuDescription,
    arguments: Sequence[str],
) -> int:
    """Build with the vendor's SDK and run; DPU programs are placed where `dpu_load` finds them."""
    if options.report is not None:
        raise UserError("--report needs the simulator", hints=["omit it, or --platform hw"])
    kit = VendorKit.found()
    numbers = [f"-DNR_TASKLETS={options.tasklets}", f"-DSTACK_SIZE_DEFAULT={options.stack}"]
    own = [flag for flag in _joined(flags) if not flag.startswith(("-l", "-L"))]
    compiling, linking = kit.host_flags()
    with private_folder("upmem-") as folder:
        for program in options.dpu:
            kit.build(program.sources, Path(program.name), profile.name, [*own, *numbers])
        host = Path(folder, "host")
        _compile_host(options.host, [*_joined(flags), *compiling, numbers[0]], linking, host)
        return ended([str(host), *arguments], knobs.inherited_environment())


def _build_dpu(
    program: DpuProgram,
    number: int,
    flags: Sequence[str],
    options: argparse.Namespace,
    profile: DpuDescription,
    folder: Path,
) -> Path:
    output = folder / f"{number}.dpu"
    own = [flag for flag in _joined(flags) if not flag.startswith(("-l", "-L"))]
    numbers = [f"-DNR_TASKLETS={options.tasklets}", f"-DSTACK_SIZE_DEFAULT={options.stack}"]
    words = [*own, *numbers, "-o", str(output), *map(str, program.sources)]
    build(read_command_line(words), profile, name=program.name)
    return output


def _build_host(sources: Sequence[Path], flags: Sequence[str], tasklets: int, folder: Path) -> Path:
    output = folder / "host"
    compiling = [*_joined(flags), f"-DNR_TASKLETS={tasklets}", f"-I{INCLUDE}"]
    _compile_host(sources, compiling, [f"-L{built_library()}", "-ldpu"], output)
    return output


def _compile_host(
    sources: Sequence[Path], flags: Sequence[str], linking: Sequence[str], output: Path
) -> None:
    words = [*c_compiler.command(), "-g", "-O2", *flags, *map(str, sources), "-o", str(output)]
    words += [*linking, "-lm", "-pthread", *(flag for flag in flags if flag.startswith("-l"))]
    if any(source.suffix in _CXX for source in sources):
        words.append("-lstdc++")
    done = tool.run(
        words,
        what="compiling the host's program",
        install_hint=c_compiler.INSTALL_HINT,
        timeout=_SECONDS,
    )
    if done.stderr:
        sys.stderr.write(done.stderr)


def _separated(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The command's arguments, and those for compilers, which may be followed by a value."""
    own: list[str] = []
    flags: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("--") or not word.startswith("-") or word in ("-h", "-"):
            own.append(word)
            continue
        flags.append(word)
        if word in ("-D", "-I", "-l", "-L", "-U") and rest:
            flags.append(rest.pop(0))
    return own, flags


def _joined(flags: Sequence[str]) -> list[str]:
    """`-D NAME` as `-DNAME`, and so on. Raises UserError for unknown compiler flags."""
    joined: list[str] = []
    rest = list(flags)
    while rest:
        flag = rest.pop(0)
        if flag in ("-D", "-I", "-l", "-L", "-U") and rest:
            flag += rest.pop(0)
        if not flag.startswith(("-D", "-I", "-O", "-l", "-L", "-U", "-W", "-g", "-std", "-f")):
            raise UserError(f"{flag} is neither an option of this command nor of a compiler")
        joined.append(flag)
    return joined
