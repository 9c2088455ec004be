# SPDX-License-Identifier: Apache-2.0
"""What the commands share: reading a graph, common options, and how a failure ends."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xtc.core.errors import UserError, XtcError
from xtc.graph.builder import GraphBuilder
from xtc.graph.graph import Graph


def guarded(main: Callable[[Sequence[str]], int], program: str) -> int:
    """Run a command; an XtcError becomes a message on standard error and exit code 1."""
    try:
        return main(sys.argv[1:])
    except XtcError as error:
        sys.stdout.flush()
        sys.stderr.write(f"{program}: error: {error}\n")
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def read_graph(path: Path) -> Graph:
    """The graph in a YAML file, or the one a Python file defines. Raises UserError."""
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    if path.suffix in (".yaml", ".yml"):
        return Graph.load(path)
    if path.suffix != ".py":
        raise UserError(f"{path} is neither a .py nor a .yaml file")
    return _graph_of(runpy.run_path(str(path)), path)


def _graph_of(variables: dict[str, Any], path: Path) -> Graph:
    found = variables.get("graph")
    if found is None:
        graphs = [v for v in variables.values() if isinstance(v, Graph | GraphBuilder)]
        if len(graphs) != 1:
            raise UserError(
                f"{path} defines {len(graphs)} graphs and none is called 'graph'",
                hints=["assign the one to use: graph = gb.graph"],
            )
        found = graphs[0]
    if isinstance(found, GraphBuilder):
        found = found.graph
    if not isinstance(found, Graph):
        raise UserError(f"'graph' in {path} is {type(found).__name__}, not a graph")
    return found


def add_compile_options(parser: argparse.ArgumentParser) -> None:
    """Options that say what to compile and for what."""
    parser.add_argument("graph", type=Path, help="a .py file that defines `graph`, or a .yaml file")
    parser.add_argument("--target", default="host", help="what to compile for (default: host)")
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="size of a symbolic dimension; may be repeated",
    )
    parser.add_argument(
        "--option",
        "-O",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the target, such as cpu=skylake-avx512; may be repeated",
    )
    add_ir_options(parser)


def add_ir_options(parser: argparse.ArgumentParser) -> None:
    """Options that show the IR on its way."""
    parser.add_argument("--print-ir-after-all", action="store_true", help="IR after every pass")
    parser.add_argument(
        "--dump-dir", type=Path, help="folder for the IR after every pass, one file per pass"
    )
    parser.add_argument("--time-passes", action="store_true", help="print the time of every pass")


def parse_dims(texts: Sequence[str]) -> dict[str, int]:
    """`NAME=SIZE` texts as a dict. Raises UserError."""
    dims = {}
    for name, value in map(_split, texts):
        if not value.isdecimal():
            raise UserError(f"the size of dimension '{name}' is {value!r}, not a number")
        dims[name] = int(value)
    return dims


def parse_options(texts: Sequence[str]) -> dict[str, Any]:
    """`NAME=VALUE` texts as a dict; numbers become int. Raises UserError."""
    return {name: _number_or_text(value) for name, value in map(_split, texts)}


def _number_or_text(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def write_times(seconds: dict[str, float]) -> None:
    """A table of wall times on standard error."""
    total = sum(value for key, value in seconds.items() if "/" not in key)
    for key, value in seconds.items():
        indent = "    " if "/" in key else "  "
        sys.stderr.write(f"{indent}{value * 1e3:9.2f} ms  {key}\n")
    sys.stderr.write(f"  {total * 1e3:9.2f} ms  in all\n")


def write_output(text: str, path: Path | None) -> None:
    """Text to a file, or to standard output where there is none."""
    if path is None:
        sys.stdout.write(text)
    else:
        path.write_text(text)
