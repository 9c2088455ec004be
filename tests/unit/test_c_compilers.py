# SPDX-License-Identifier: Apache-2.0
"""GCC and Clang compile the generated C without warnings."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence

import pytest

import xtc.ops as O
from tests.unit.c_support import STRICT, every_operator
from tests.unit.ops_support import ALL, FLOATS
from tests.unit.parallel_support import NESTS
from xtc.driver import prepare
from xtc.system.c_compiler import CCompiler
from xtc_targets.host.generate_c import WARNINGS

FLAGS = ("-std=c11", "-march=native", "-ffp-contract=fast", "-fwrapv", *WARNINGS, "-fPIC")


@pytest.fixture(params=["gcc", "clang"])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> CCompiler:
    """Each compiler in turn, with warnings as errors."""
    name = str(request.param)
    if shutil.which(name) is None:
        pytest.skip(f"the C compiler {name} is not installed")
    monkeypatch.setenv("XTC_CC", f"{name} {STRICT}")
    return CCompiler.configured()


SOME = ("float32", "bfloat16", "int8")


def texts(dtypes: Sequence[str]) -> Iterator[tuple[str, str]]:
    """C code by subject: every operator on these types, vectors, parallel loops."""
    for dtype in dtypes:
        compilation = prepare(every_operator(dtype)[0], codegen="c")
        yield f"operators on {dtype}", compilation.stage_text("code")
    for dtype in FLOATS:
        yield f"vectors of {dtype}", vectors(dtype)
    for name, (graph, schedule) in NESTS.items():
        for threads in (1, 4):
            compilation = prepare(graph, schedule=schedule, codegen="c", threads=threads)
            yield f"{name} on {threads} threads", compilation.stage_text("code")


def vectors(dtype: str) -> str:
    """Sums, maxima, selections and functions of vectors, with a remainder."""
    a, b = O.tensor((4, 7), dtype, name="a"), O.tensor((7, 53), dtype, name="b")
    with O.graph(name="vectors") as gb:
        product = O.matmul(a, b, name="P")
        largest = O.maximum(O.exp(product, name="E"), O.relu(product, name="R"), name="M")
        condition = O.tensor((4, 53), "bool", name="c")
        O.outputs(O.where(condition, product, largest, name="W"))
    rows = {"i": {}, "j": "vectorize"}
    schedule = {"P": {"i": {}, "k": {}, "j": "vectorize"}, **dict.fromkeys("ERMW", rows)}
    return prepare(gb.graph, schedule=schedule, codegen="c").stage_text("code")


@pytest.mark.slow
def test_compilers_emit_no_warning(compiler: CCompiler, is_long: bool) -> None:
    for name, text in texts(ALL if is_long else SOME):
        for level in (0, 1, 2, 3) if is_long else (1,):
            assert compiler.object_code(text, (f"-O{level}", *FLAGS), name)
