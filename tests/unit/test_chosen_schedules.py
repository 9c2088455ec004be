# SPDX-License-Identifier: Apache-2.0
"""Default schedules can be printed and passed back, and yield to the user's schedules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.random_graphs import graphs, inputs_of
from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc_targets.host.passes import _default_contraction as _choose_product
from xtc_targets.host.passes import _default_window as _choose_window

pytestmark = pytest.mark.slow


def layer(m: int = 96, n: int = 80, k: int = 64, **attributes: bool) -> Graph:
    """A matmul, a bias and an activation."""
    a = O.tensor((m, k), name="A")
    b = O.tensor((n, k) if attributes.get("transpose_b") else (k, n), name="B")
    bias = O.tensor((n,), name="bias")
    with O.graph(name="layer") as gb:
        O.relu(O.add(O.matmul(a, b, name="C", **attributes), bias), name="R")
    return gb.graph


@pytest.mark.parametrize("transpose_b", [False, True])
def test_a_default_schedule_passed_back_gives_the_same_code(transpose_b: bool) -> None:
    graph = layer(transpose_b=transpose_b)
    with xtc.compile(graph, in_memory=True) as chosen:
        assert "vectorize" in str(chosen.schedule["C"])
        with xtc.compile(graph, schedule=chosen.schedule, in_memory=True) as given:
            assert given.ir("scheduled") == chosen.ir("scheduled")
            assert str(given.schedule) == str(chosen.schedule)
            given.check()


def test_a_users_schedule_is_kept() -> None:
    graph = layer()
    with xtc.compile(graph, schedule={"C": ["k", "i", "j"]}, in_memory=True) as module:
        assert module.schedule["C"].data == "{k: {}, i: {}, j: {}}"
        module.check()


def test_operators_fused_by_the_user_get_no_schedule() -> None:
    nest = {"i": {"fuse": 0}, "j": {}, "i#16": {}}
    a, b = O.tensor((96, 64), name="A"), O.tensor((64, 80), name="B")
    with O.graph(name="layer") as gb:
        O.relu(O.matmul(a, b, name="C"), name="R")
    with xtc.compile(gb.graph, schedule={"R": nest}, in_memory=True) as module:
        assert "for" not in str(module.schedule["C"]).splitlines()[0]
        assert "vectorize" not in str(module.schedule["C"])
        module.check()


def test_an_epilogue_is_computed_in_the_loops_of_the_matmul() -> None:
    with xtc.compile(layer(n=64), in_memory=True) as module:
        text = module.ir("scheduled")
        loop = text.index("scf.forall" if "scf.forall" in text else "scf.for")
        assert loop < text.index("arith.maximumf")
        assert "linalg.generic" not in text[text.index('{"./j"}') :]
        module.check()


def test_an_epilogue_of_many_rows_is_computed_in_place() -> None:
    image, filters = O.tensor((1, 30, 30, 32), name="X"), O.tensor((3, 3, 1, 32), name="W")
    with O.graph(name="layer") as gb:
        O.relu(O.conv2d(image, filters, groups=32, name="C"), name="R")
    with xtc.compile(gb.graph, in_memory=True) as module:
        text = module.ir("bufferized")
        assert "arith.maximumf" in text
        assert "memref.copy" not in text
        assert "memref.alloc" not in text
        module.check()


@pytest.mark.parametrize("codegen", ["llvm", "c"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(97, 80, 64), (130, 67, 300), (64, 1000, 40)])
def test_remainders_have_an_epilogue(
    shape: tuple[int, int, int], threads: int, codegen: str
) -> None:
    with xtc.compile(layer(*shape), codegen=codegen, threads=threads, l2_bytes=16384) as module:
        module.check()


def test_caches_are_options() -> None:
    def nest(**options: int) -> str:
        with xtc.compile(layer(256, 256, 256), in_memory=True, **options) as module:
            return module.schedule["C"].data

    assert "pack" in nest(l2_bytes=65536)
    assert "pack" not in nest(l2_bytes=1 << 24)


def test_a_cache_size_that_is_too_small_is_refused() -> None:
    with pytest.raises(UserError, match="l2_bytes=12 is not a whole number from 1024 to"):
        xtc.compile(layer(), l2_bytes=12)


def test_an_epilogue_may_read_the_result_of_another() -> None:
    x, w = O.tensor((128, 64), name="X"), O.tensor((64, 64), name="W")
    with O.graph(name="block") as gb:
        hidden = O.relu(O.matmul(x, w, name="C1"), name="R1")
        O.relu(O.add(O.matmul(hidden, w, name="C2"), hidden, name="S"), name="R2")
    with xtc.compile(gb.graph, in_memory=True) as module:
        module.check()


def test_an_epilogue_of_two_matmuls_is_computed_with_the_second() -> None:
    x, v, w = (O.tensor((64, 64), name=name) for name in "XVW")
    with O.graph(name="gate") as gb:
        O.mul(O.matmul(x, v, name="C1"), O.tanh(O.matmul(x, w, name="C2")), name="R")
    with xtc.compile(gb.graph, in_memory=True) as module:
        module.check()


@settings(max_examples=settings().max_examples // 2)
@given(graphs(), st.integers(0, 1000), st.integers(1, 2))
def test_default_schedules_of_all_sizes_are_compatible(
    graph: Graph, seed: int, threads: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for rules in (_choose_product, _choose_window):
            for limit in ("_SMALL_WORK", "_PARALLEL_WORK"):
                patch.setattr(rules, limit, 1)
        with xtc.compile(graph, in_memory=True, l2_bytes=2048, threads=threads) as module:
            module.check(*inputs_of(graph, seed))
