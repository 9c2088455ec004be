# SPDX-License-Identifier: Apache-2.0
"""Code that commands share: reading a graph, common options, and error reporting."""

from __future__ import annotations

import argparse
import contextlib
import os
import runpy
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from xtc.cli.named_shapes import is_named, named_graph
from xtc.core import discover
from xtc.core.errors import UserError, XtcError
from xtc.core.extensions import extend, failure_of
from xtc.driver import IrOptions
from xtc.graph.builder import GraphBuilder
from xtc.graph.family import GraphFamily
from xtc.graph.graph import Graph
from xtc.importers import from_onnx, from_yaml, import_tflite
from xtc.interfaces.target import DEFAULT_TARGET

_TORCH_HINT = (
    "loading such a file in PyTorch can run code; if you trust it, write a .py with "
    "graph = xtc.from_torch(torch.export.load(path))"
)
INTERRUPTED = 130  # the shells' convention: 128 plus the signal's number


def guarded(main: Callable[[Sequence[str]], int], program: str) -> int:
    """Run a command; turns an XtcError or an I/O error into a message and exit code 1."""
    try:
        code = _exit_code(main)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader closed the pipe
        _drop_output()
        return 1
    except XtcError as error:
        message = str(error)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        message = f"{error.strerror or error}{where}"
    _finish_output()
    sys.stderr.write(f"{program}: error: {message}\n")
    return 1


def _exit_code(main: Callable[[Sequence[str]], int]) -> int:
    """The exit code, also if the parser ends the program, as for --help."""
    try:
        return main(sys.argv[1:])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0


def _finish_output() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Discard pending output, so that Python's exit raises no second error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def read_graph(
    path: Path, dims: Mapping[str, int], values: Mapping[str, Sequence[float]] | None = None
) -> Graph:
    """The graph in a model, YAML or Python file, with its sizes fixed by `dims`.

    `values` are values of a model's inputs that become constants. Raises UserError.
    """
    if not _is_file(path):
        if is_named(str(path)):
            return named_graph(str(path))
        raise UserError(f"there is no file {path}")
    if path.suffix == ".onnx":
        return from_onnx(path, values=values).bind(dims)
    if values:
        raise UserError(f"--value is for .onnx files, not for {path}")
    return _written_graph(path).bind(dims)


def _written_graph(path: Path) -> Graph | GraphFamily:
    if path.suffix in (".yaml", ".yml"):
        return from_yaml(path)
    if path.suffix == ".tflite":
        return import_tflite(path)
    if path.suffix != ".py":
        raise UserError(
            f"{path} is neither a .py nor a .yaml nor an .onnx nor a .tflite file",
            hints=[_TORCH_HINT] if path.suffix in (".pt", ".pt2", ".pth") else [],
        )
    return _graph_of(_run(path), path)


def _run(path: Path) -> dict[str, Any]:
    """The globals of a program. Raises UserError with a traceback if it fails."""
    folder = str(path.resolve().parent)  # as for `python FILE`, so that its imports work
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(str(path))
    except XtcError:
        raise
    except Exception as error:
        raise failure_of(path, error) from None
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # such as a name that is too long
        return False


def _graph_of(variables: dict[str, Any], path: Path) -> Graph | GraphFamily:
    found = variables.get("graph")
    if found is None:
        graphs = [v for v in variables.values() if isinstance(v, Graph | GraphBuilder)]
        if len(graphs) != 1:
            raise UserError(
                f"{path} defines {len(graphs)} graphs and none is called 'graph'",
                hints=["assign the graph to use: graph = gb.graph"],
            )
        found = graphs[0]
    if isinstance(found, GraphBuilder):
        found = found.graph
    if not isinstance(found, Graph | GraphFamily):
        raise UserError(f"'graph' in {path} is {type(found).__name__}, not a graph")
    return found


def add_graph(parser: argparse.ArgumentParser) -> None:
    """Add the graph argument: a file, or an operator with a named shape."""
    help = "an .onnx, .tflite or .yaml file, or a .py that defines `graph`"
    parser.add_argument("graph", type=Path, nargs="?", help=help)
    parser.add_argument(
        "--op",
        metavar="KIND:NAME",
        help="instead of a file: an operator with a named shape, such as conv2d:ResNet18_01",
    )


def chosen_graph(args: argparse.Namespace) -> Path:
    """The graph's file or operator name. Raises UserError unless exactly one is given."""
    if (args.graph is None) == (args.op is None):
        what = "no graph is given" if args.op is None else "two graphs are given: a file and --op"
        raise UserError(what, hints=["name a file, or an operator by --op"])
    return Path(args.op) if args.graph is None else Path(args.graph)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add --target."""
    parser.add_argument(
        "--target", default=DEFAULT_TARGET, help="target to compile for (default: %(default)s)"
    )


def add_sized_graph(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the graph, the target, and the sizes and values of inputs."""
    add_graph(parser)
    add_target(parser)
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="size of a symbolic dimension; may be repeated",
    )
    parser.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="INPUT=NUMBERS",
        help="constant value of a model's input, such as rate=16000; may be repeated",
    )


def add_compile_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the graph, the target, the schedule and passes."""
    add_sized_graph(parser)
    parser.add_argument(
        "--schedule",
        help="YAML text with loop nests by operator name, or @FILE",
    )
    parser.add_argument(
        "--add-pass",
        action="append",
        default=[],
        metavar="STAGE:PASS",
        help="run a pass at the end of a stage, such as scheduled:my-pass{size=4}; may be repeated",
    )
    add_target_options(parser)
    add_ir_options(parser)


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """Add --option for options of the target."""
    parser.add_argument(
        "--option",
        "-O",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the target, such as opt_level=2; may be repeated",
    )


class _Load(argparse.Action):
    def __call__(self, parser: object, namespace: object, values: Any, option: object = "") -> None:
        extend(values)


def add_load_option(parser: argparse.ArgumentParser) -> None:
    """Add --load for files with passes and operators."""
    parser.add_argument(
        "--load",
        action=_Load,
        metavar="FILE",
        help="Python file that defines passes and operators; may be repeated",
    )


def ir_options(args: argparse.Namespace) -> IrOptions:
    """The values of the options of `add_ir_options`."""
    return IrOptions(
        dump_dir=args.dump_dir,
        print_after_all=args.print_ir_after_all,
        time_passes=args.time_passes,
        print_after=tuple(args.print_ir_after),
        print_after_change=args.print_ir_after_change,
    )


def parse_passes(texts: Sequence[str]) -> dict[str, list[str]]:
    """`STAGE:PASS` texts as passes by stage. Raises UserError."""
    passes: dict[str, list[str]] = {}
    for text in texts:
        stage, colon, step = text.partition(":")
        if not colon or not stage or not step:
            raise UserError(f"{text!r} is not of the form STAGE:PASS")
        passes.setdefault(stage, []).append(step)
    return passes


def add_ir_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that show the IR during compilation."""
    add_load_option(parser)
    parser.add_argument(
        "--print-ir-after-all", action="store_true", help="print the IR after every pass"
    )
    parser.add_argument(
        "--print-ir-after",
        action="append",
        default=[],
        metavar="PASS",
        help="print the IR after the passes of this name; may be repeated",
    )
    parser.add_argument(
        "--print-ir-after-change",
        action="store_true",
        help="print the IR after every pass, or those of --print-ir-after, that changes it",
    )
    parser.add_argument(
        "--dump-dir", type=Path, help="folder to write the IR after every pass, one file per pass"
    )
    parser.add_argument("--time-passes", action="store_true", help="print the time of every pass")


def parse_dims(texts: Sequence[str]) -> dict[str, int]:
    """`NAME=SIZE` texts as a dict. Raises UserError."""
    dims = {}
    for name, value in _pairs(texts).items():
        if not value.isdecimal():
            raise UserError(f"the size of dimension '{name}' is {value!r}, not a number")
        dims[name] = int(value)
    return dims


def parse_values(texts: Sequence[str]) -> dict[str, list[float]]:
    """`INPUT=NUMBER,NUMBER` texts as a dict. Raises UserError."""
    values: dict[str, list[float]] = {}
    for name, text in _pairs(texts).items():
        try:
            values[name] = [_number(word) for word in text.split(",")]
        except ValueError:
            raise UserError(f"the value of input '{name}' is {text!r}, not numbers") from None
    return values


def _number(word: str) -> float:
    """An int if possible: int64 holds integers that a float cannot."""
    try:
        return int(word)
    except ValueError:
        return float(word)


def parse_options(texts: Sequence[str], target: str) -> dict[str, Any]:
    """`NAME=VALUE` texts as options of a target. Raises UserError."""
    values: dict[str, Any] = discover.target(target).option_values(_pairs(texts))
    return values


def parse_schedule(text: str | None) -> str | Path | None:
    """The schedule that an option gives: YAML text, or the path after an @."""
    return Path(text[1:]) if text is not None and text.startswith("@") else text


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UserError(f"{text!r} is not of the form NAME=VALUE")
        if name in pairs:
            raise UserError(f"'{name}' is given twice, as {pairs[name]!r} and {value!r}")
        pairs[name] = value
    return pairs


def write_times(seconds: dict[str, float]) -> None:
    """A table of wall times on standard error."""
    total = sum(value for key, value in seconds.items() if "/" not in key)
    for key, value in seconds.items():
        indent = "    " if "/" in key else "  "
        sys.stderr.write(f"{indent}{value * 1e3:9.2f} ms  {key}\n")
    sys.stderr.write(f"  {total * 1e3:9.2f} ms  in all\n")


def write_output(text: str, path: Path | None) -> None:
    """Write text to standard output, or replace a file atomically. Raises UserError."""
    if path is None:
        sys.stdout.write(text)
        return
    write_bytes(text.encode(), path)


def write_bytes(data: bytes, path: Path) -> None:
    """Replace a file atomically. Raises UserError."""
    try:
        _write(data, path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None


def _write(data: bytes, path: Path) -> None:
    if path.exists() and not path.is_file():  # a pipe or a terminal cannot be replaced
        path.write_bytes(data)
        return
    file = path.resolve()  # replaces a link's target, not the link
    with tempfile.TemporaryDirectory(prefix=f".{file.name[:50]}.", dir=file.parent) as folder:
        written = Path(folder, "written")
        written.write_bytes(data)
        written.replace(file)
