# SPDX-License-Identifier: Apache-2.0
"""Programs of boards as C: their images agree with LLVM's, and any C compiler accepts them."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.embedded_random import float_networks, networks
from tests.unit.embedded_support import BOARDS, network
from xtc.core.errors import ToolError, UserError
from xtc.graph.graph import Graph
from xtc_targets.embedded import EmbeddedBoard
from xtc_targets.embedded.description import board_named

pytest.importorskip("unicorn", reason="the simulator of boards needs the package unicorn")
needs_clang = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None,
    reason="C for boards is compiled by the package ziglang",
)

_FIRMWARE = """#include "net.h"
extern "C" float *x() { return net_x(); }
extern "C" float *s() { return net_s(); }
extern "C" void run() { net(); }
"""
M4 = "nucleo-l4r5zi"
IS_LONG = settings().max_examples > 1000
COUNT = 75 if IS_LONG else 3
EACH = 1 if IS_LONG else 2  # each graph runs on one of this number of boards
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.fixture(scope="module")
def boards() -> Iterator[list[EmbeddedBoard]]:
    with ExitStack() as stack:
        yield [stack.enter_context(EmbeddedBoard(name)) for name in BOARDS]


def results(graph: Graph, board: EmbeddedBoard, seed: int) -> list[np.ndarray]:
    """The results of LLVM's image and of the image from C."""
    found = []
    for codegen in ("llvm", "c"):
        with xtc.compile(graph, board, codegen=codegen) as module:
            (x,) = (a for a in module.artifact.manifest.arguments if a.role == "input")
            rng = np.random.default_rng(seed)
            if x.dtype == "int8":
                data = rng.integers(-128, 128, x.shape, np.int8)
            else:
                data = rng.standard_normal(x.shape).astype(np.float32)
            found.append(np.array(module(data)))
    return found


@needs_clang
@pytest.mark.slow
@settings(max_examples=COUNT, deadline=None, suppress_health_check=CHECKS)
@given(graph=networks(), seed=st.integers(0, 1000))
def test_int8_images_agree(boards: list[EmbeddedBoard], graph: Graph, seed: int) -> None:
    for board in boards[seed % EACH :: EACH]:
        np.testing.assert_array_equal(*results(graph, board, seed))


@needs_clang
@pytest.mark.slow
@settings(max_examples=COUNT, deadline=None, suppress_health_check=CHECKS)
@given(graph=float_networks(), seed=st.integers(0, 1000))
def test_float_images_agree(boards: list[EmbeddedBoard], graph: Graph, seed: int) -> None:
    """Bit for bit; if multiply-adds are contracted, compilers may choose different ones."""
    for board in boards[seed % EACH :: EACH]:
        by_llvm, by_c = results(graph, board, seed)
        if board.description.core.fma:
            np.testing.assert_allclose(by_c, by_llvm, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(by_c, by_llvm)


@needs_clang
@pytest.mark.slow
def test_schedules_with_vectors_run_on_every_core(boards: list[EmbeddedBoard]) -> None:
    """With LLVM, they save instructions on every core, and more than half on one with vectors."""
    with O.graph(name="product") as gb:
        O.matmul(O.tensor((4, 8), name="x"), O.tensor((8, 18), name="w"), name="C")
    schedule = "{C: {i: , k: , 'i#2': unroll, j: vectorize}}"
    for board in boards:
        with xtc.compile(gb.graph, board, codegen="c", schedule=schedule) as module:
            module.check()
        counts = [instructions(gb.graph, board, schedule=given) for given in ("{}", schedule)]
        gain = 2 if board.description.core.vector_bits else 1
        assert counts[1] < counts[0] / gain


def instructions(graph: Graph, board: EmbeddedBoard, **options: str) -> float:
    """The instructions of one run, whose result is checked."""
    with xtc.compile(graph, board, **options) as module:
        before = board.counters()["embedded.INSTRUCTIONS"]
        module.check()
        return board.counters()["embedded.INSTRUCTIONS"] - before


@needs_clang
@pytest.mark.slow
def test_the_hosts_compiler_accepts_the_file_and_agrees(tmp_path: Path) -> None:
    """Without warnings as C99, and without the constants of another file."""
    compiler = shutil.which("cc")
    if compiler is None or shutil.which("c++") is None:
        pytest.skip("the system has no C compiler cc, or no c++")
    x = np.random.default_rng(0).standard_normal((1, 6, 6, 3)).astype(np.float32)
    with xtc.compile(network(), "embedded", board=M4, codegen="c") as module:
        expected = np.array(module(x))
        module.save(tmp_path / "net")
    made = tmp_path / "net.so"
    flags = ["-O2", "-fwrapv", "-fno-strict-aliasing", "-Wall", "-Wextra", "-Werror", "-fPIC"]
    code = [str(tmp_path / "net" / "net.c"), "-std=c99", "-c", "-o", str(tmp_path / "net.o")]
    subprocess.run([compiler, *flags, *code], check=True)
    # A firmware in C++ includes the header of a program in C.
    main = tmp_path / "main.cpp"
    main.write_text(_FIRMWARE)
    files = [str(main), str(tmp_path / "net.o"), f"-I{tmp_path / 'net'}", "-shared"]
    subprocess.run([shutil.which("c++") or "c++", *flags, *files, "-o", str(made)], check=True)
    library = ctypes.CDLL(str(made))
    library.x.restype = library.s.restype = ctypes.POINTER(ctypes.c_float)
    np.ctypeslib.as_array(library.x(), x.shape)[...] = x
    library.run()
    found = np.ctypeslib.as_array(library.s(), expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_text_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    from xtc_targets.embedded import c_sources

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert c_sources.version() == ""
    with pytest.raises(ToolError, match=r"needs a clang for its core(.|\n)*pip install ziglang"):
        c_sources.object_code("", board_named(M4).core, 2, "net")
    with pytest.raises(UserError, match="option 'codegen' of target 'embedded' cannot be"):
        xtc.compile(network(), "embedded", codegen="java")
