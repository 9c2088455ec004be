# SPDX-License-Identifier: Apache-2.0
"""Commands with arbitrary arguments end with an exit code or an explained error."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc.ops as O
from tests.unit import hostile_text
from xtc.cli import compile, loop, main, opt, run
from xtc.core.errors import UserError, XtcError

pytestmark = pytest.mark.slow

GRAPH = "graph.yaml"
MODULE = "module.mlir"
LOOPS = "loops.mlir"
SCHEDULED = """func.func @f(%x: memref<6xf32>) {
  linalg.exp {loop.dims = ["i"], loop.schedule = {"i", "i#4" = {"unroll"}}}
    ins(%x : memref<6xf32>) outs(%x : memref<6xf32>)
  return
}"""
FILES = (
    *(GRAPH, MODULE, LOOPS, "symbolic.yaml", "hostile.yaml", "bytes.yaml", "empty.yaml"),
    *("folder", "gone.py", "loop", "-"),
)
T = TypeVar("T")
Command = Callable[[Sequence[str]], int]

IR = {
    "--target": ("host", "null", "hots", "os", "../host", "xtc_targets.host"),
    "-O": ("opt_level=0", "opt_level=9", "cpu=x", "triple=avr", "features=+x", "threads=0"),
    "--dump-dir": ("dumps", GRAPH, "folder/x"),
    "--print-ir-after-all": (),
    "--time-passes": (),
}
SHARED = {
    **IR,
    "--dim": ("N=4", "N", "N=0", "N=-4", "=4", "M=4"),
    "--schedule": (
        "R: {i: , i#4: unroll}",
        "R: {i#-4: }",
        "@schedule",
        "@",
        f"@{GRAPH}",
        "@folder",
    ),
}
COMPILE = {
    **SHARED,
    "--stage": ("source", "scheduled", "code", "lowerd"),
    "--output": ("out", "folder", "folder/x/y", "-"),
    "--no-cache": (),
}
RUN = {
    **SHARED,
    "--check": (),
    "--measure": (),
    "--repeat": ("1", "0", "-1"),
    "--number": ("1", "0", "-1"),
    "--min-repeat-ms": ("0", "-1", "nan", "1e-9"),
    "--counters": ("cycles", "x", ",", "cycles,cycles"),
    "--rtol": ("0", "-1", "nan", "inf"),
    "--atol": ("0", "-1", "nan", "inf"),
    "--seed": ("0", "-1", "99999999999999999999"),
}
OPT = {
    **IR,
    "--from": ("source", "lowered", "code", "x"),
    "--to": ("source", "lowered", "code", "x"),
    "--output": ("out", "folder", "folder/x/y"),
    "--split-input-file": (),
    "--list-passes": (),
    "--timeout": ("5", "0", "-1", "nan", "inf"),
    "--memory-limit": ("1", "0", "-1", "nan", "inf", "1e-9", "1e30"),
    "--pass-pipeline": ("builtin.module(cse)", "builtin.module(", "builtin.module(func.func(x))"),
    "--canonicalize": (),
    "--canonicalize{top-down=x}": (),
    "--copy-by-loops{a=1}": (),
    "--cse=": (),
    "--{": (),
}
LOOP = {
    **{name: values for name, values in IR.items() if name != "-O"},
    "-O": ("opt_level=0", "cpu=x", "features=+x"),
    "--stage": ("source", "scheduled", "code", "lowerd"),
    "--nest": (),
    "--run": (),
    "--measure": (),
    "--function": ("f", "g", ""),
    "--repeat": ("1", "0", "-1", "x"),
    "--seed": ("0", "-1", "99999999999999999999"),
    "--output": ("out", "folder", "folder/x/y"),
    "--timeout": ("5", "0", "nan"),
}


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with files to name, where commands run, and in which no canary may appear."""
    path = tmp_path_factory.mktemp("fuzz")
    write_files(path)
    with pytest.MonkeyPatch.context() as patch, hostile_text.nothing_evaluated(path):
        patch.chdir(path)
        patch.setattr("sys.stdin", io.StringIO("func.func @f() { return }"))
        yield path


def write_files(path: Path) -> None:
    for file, rows in ((GRAPH, 4), ("symbolic.yaml", "N")):
        x = O.tensor((rows, 3), name="X")
        with O.graph(name="positive") as gb:
            O.relu(x, name="R")
        gb.graph.save(path / file)
    (path / MODULE).write_text("func.func @f() { return }")
    (path / LOOPS).write_text(SCHEDULED)
    (path / "hostile.yaml").write_text("\n".join(hostile_text.PAYLOADS))
    (path / "bytes.yaml").write_bytes(bytes(range(256)))
    (path / "empty.yaml").touch()
    (path / "schedule").write_text("R: {i: , j: }")
    (path / "folder").mkdir()
    (path / "loop").symlink_to("loop")


def words(options: dict[str, tuple[str, ...]], file: str) -> st.SearchStrategy[list[str]]:
    """Arguments: most often a valid file and existing options, otherwise anything."""
    option = st.sampled_from(sorted(options)).flatmap(lambda name: with_value(name, options[name]))
    word = st.one_of(st.sampled_from(FILES), hostile_text.texts).map(lambda word: [word])
    tame = st.lists(option, max_size=3).map(lambda groups: [[file], *groups])
    wild = st.lists(st.one_of(option, word), max_size=5)
    groups = mostly(tame, wild).flatmap(st.permutations)
    return groups.map(lambda found: [word for group in found for word in group])


def mostly(usual: st.SearchStrategy[T], odd: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """Mostly the usual choice: one odd word is enough for a command to ignore the rest."""
    return st.integers(0, 9).flatmap(lambda number: odd if number == 7 else usual)


def with_value(name: str, values: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    """An option and a value for it, as two words or one."""
    if not values:
        return st.just([name])
    value = mostly(st.sampled_from(values), hostile_text.texts)
    return value.flatmap(lambda text: st.sampled_from([[name, text], [f"{name}={text}"]]))


def ends(command: Command, argv: Sequence[str]) -> None:
    """Check that the command returns an exit code, explains an error, or exits like argparse."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 1
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = command(argv)
        except XtcError as error:
            err.write(str(error))
        except SystemExit as stop:
            code = stop.code
    assert code in (0, 1, 2)
    assert code == 0 or err.getvalue().strip()


@given(words(OPT, MODULE))
def test_any_arguments_of_opt(argv: list[str]) -> None:
    ends(opt.run, argv)


@given(words(COMPILE, GRAPH))
def test_any_arguments_of_compile(argv: list[str]) -> None:
    ends(compile.run, argv)


@given(words(RUN, GRAPH))
def test_any_arguments_of_run(argv: list[str]) -> None:
    ends(run.run, argv)


@given(words(LOOP, LOOPS))
def test_any_arguments_of_loop(argv: list[str]) -> None:
    ends(loop.run, argv)


@given(
    st.lists(st.one_of(st.sampled_from(["cache", "devices", "opt", "prune"]), hostile_text.texts))
)
def test_any_arguments_of_xtc(argv: list[str]) -> None:
    ends(main.run, argv)


@pytest.mark.parametrize(
    ("program", "what"),
    [
        (b"graph =", "SyntaxError: invalid syntax"),
        (b"\xff\xfe", "SyntaxError"),
        (b"\0", "SyntaxError|ValueError"),  # depends on the version of Python
        (b"import nowhere_to_be_found", "ModuleNotFoundError"),
        (b"raise RecursionError", "RecursionError"),
        (b"graph = 3", "'graph' in program.py is int"),
        (b"", "defines 0 graphs"),
    ],
)
def test_failing_programs_are_reported(program: bytes, what: str) -> None:
    path = Path("program.py")
    path.write_bytes(program)
    with pytest.raises(UserError, match=what):
        compile.run(["program.py", "--stage", "source"])


@pytest.mark.parametrize("stage", [[], ["--stage", "source"]], ids=["artifact", "stage"])
def test_output_files_have_names_of_limited_length(stage: list[str]) -> None:
    longest = str(len(stage)) * os.pathconf(".", "PC_NAME_MAX")
    assert compile.run([GRAPH, *stage, "--output", longest]) == 0
    with pytest.raises(UserError, match="File name too long"):
        compile.run([GRAPH, *stage, "--output", f"{longest}o"])
