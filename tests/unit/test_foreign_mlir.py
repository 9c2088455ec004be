# SPDX-License-Identifier: Apache-2.0
"""Untrusted MLIR never ends the process that runs it."""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path
from random import Random

import pytest

from tests.unit import mlir_mutator
from xtc.core import discover
from xtc.core.errors import ChildDied, CompileError, UserError
from xtc.driver import foreign
from xtc.driver.foreign import MAX_NESTING, check_text, run_passes
from xtc.ir import known_passes
from xtc.ir.pipeline import Step
from xtc.system.sandbox import Limits
from xtc_passes.lower.copy_by_loops import CopyByLoops

FILECHECK = Path(__file__).parents[1] / "filecheck"
GOOD = "func.func @f() {\n  %0 = arith.constant 1 : i32\n  return\n}\n"
DEEP = 100_000
NESTED = {
    "array attribute": "module attributes {a.a = " + "[" * DEEP + "]" * DEEP + "} {}",
    "tuple type": "func.func private @f(" + "tuple<" * DEEP + ">" * DEEP + ")",
    "modules": "module {" * DEEP + "}" * DEEP,
    "affine map": "#m = affine_map<(d0) -> (" + "(" * DEEP + "d0" + ")" * DEEP + ")>",
    "locations": "module {} loc(" + "fused[" * DEEP + "unknown" + "]" * DEEP + ")",
    "not closed": "module {" * DEEP,
}
SCRIPT = """
module attributes {{transform.with_named_sequence}} {{
  func.func @f(%n: index, %m: memref<8x8xf32>) {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %x = arith.constant 1.0 : f32
    scf.for %i = %zero to %n step %one {{ memref.store %x, %m[%i, %i] : memref<8x8xf32> }}
    return
  }}
  func.func @g(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {{
    %0 = linalg.add ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>)
                    outs(%b : tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }}
  transform.named_sequence @__transform_main(%root: !transform.any_op) {{
    {}
    transform.yield
  }}
}}
"""
TILE = SCRIPT.format("""
    %op = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [-4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
""")  # noqa: E501  transform operations are long
UNROLL = SCRIPT.format("""
    %op = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %op {factor = 2147483647} : !transform.any_op
""")  # noqa: E501
ENDLESS = "module attributes {a.a = " + "9" * 200_000 + " : i64} {}"  # quadratic to print
MINUSES = "#m = affine_map<(d0) -> (" + "-" * 2_000_000 + "d0)>\nmodule {}"  # nested, no brackets
INTERPRET = ["transform-interpreter"]


def alive() -> bool:
    """Check that the next request succeeds."""
    return "arith" not in run_passes(GOOD, ["canonicalize"])


@pytest.mark.slow
def test_passes_run_on_text() -> None:
    assert alive()
    assert "arith.constant" in run_passes(GOOD, [])
    copied = "memref.copy %a, %a : memref<4xf32, strided<[2]>> to memref<4xf32, strided<[2]>>"
    text = f"func.func @f(%a: memref<4xf32, strided<[2]>>) {{ {copied} return }}"
    assert "linalg.generic" in run_passes(text, [CopyByLoops(), "linalg-generalize-named-ops"])


def test_errors_have_a_location() -> None:
    with pytest.raises(CompileError) as failure:
        run_passes("\n  no.op", [], where="mine.mlir")
    assert failure.value.where == "mine.mlir"
    assert failure.value.notes[0].startswith("mine.mlir:2:3: ")
    with pytest.raises(UserError, match="MLIR has no pass 'copy-by-loop'") as misspelled:
        run_passes(GOOD, ["copy-by-loop"])
    assert misspelled.value.hints == ("did you mean 'copy-by-loops'?",)
    with pytest.raises(CompileError, match="MLIR refused the module"):
        run_passes(GOOD, INTERPRET)


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="brackets are nested deeper than 500"):
        run_passes(NESTED[name], [], where="deep.mlir")


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.slow
def test_undetected_deep_nesting_is_survived(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "MAX_NESTING", 10 * DEEP)
    with contextlib.suppress(CompileError):  # some overflow the stack, some nearly do
        run_passes(NESTED[name], [], keep_input=False)
    assert alive()


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        ("([{<" * 126, True),
        ("([{<" * 125, False),
        ("()" * 1000, False),
        ("// " + "(" * 1000 + "\n", False),
        ('"' + "(" * 1000 + '\\""', False),
        ('"' + "(" * 1000 + "\n", True),
        ('"//" ' + "(" * 1000, True),
        ('// "\n' + "(" * 1000, True),
        ("affine_set<(d0) : (d0 >= 0)> -> " * 600, False),
        ("<= " * 600, False),
        (">" * 600 + "(" * 501, True),
    ],
)
def test_brackets_in_strings_and_comments_do_not_count(text: str, deep: bool) -> None:
    if deep:
        with pytest.raises(UserError, match="nested deeper"):
            check_text(text, "f")
    else:
        check_text(text, "f")


def test_the_deepest_accepted_nesting_is_parsed() -> None:
    """The limit leaves a margin: no accepted text overflows MLIR's stack."""
    inner = MAX_NESTING - 2
    for text in (
        "module attributes {a.a = " + "[" * inner + "]" * inner + "} {}",
        "module {" * inner + "}" * inner,
        "func.func private @f(" + "tuple<" * inner + ">" * inner + ")",
    ):
        assert run_passes(text, ["canonicalize", "cse"])


def test_a_long_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "MAX_TEXT", 1 << 20)
    with pytest.raises(UserError, match="longer than 1 MiB"):
        check_text(" " * (1 << 20) + " ", "f")


def test_an_assertion_of_mlir_is_an_error_that_quotes_it() -> None:
    with pytest.raises(ChildDied, match="crashed: the process was ended by SIGABRT") as failure:
        run_passes(TILE, INTERPRET, keep_input=False)
    assert "Assertion" in failure.value.notes[0]
    assert alive()


@pytest.mark.slow
def test_a_stack_overflow_is_an_error() -> None:
    with pytest.raises(ChildDied, match="crashed: the process was ended by SIGSEGV"):
        run_passes(MINUSES, [], keep_input=False)
    assert alive()


@pytest.mark.slow
def test_endless_work_is_stopped() -> None:
    with pytest.raises(ChildDied, match="took longer than 1 s and was ended"):
        run_passes(ENDLESS, [], Limits(seconds=1), keep_input=False)
    assert alive()


@pytest.mark.slow
def test_the_memory_limit_is_enforced() -> None:
    with pytest.raises(ChildDied) as failure:
        run_passes(UNROLL, INTERPRET, Limits(memory_bytes=64 << 20), keep_input=False)
    assert re.search(r"\d+ MiB of memory in use; the limit is 64 MiB", str(failure.value))
    assert alive()


def test_the_input_of_a_crash_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ChildDied) as failure:
        run_passes(TILE, INTERPRET)
    (kept,) = tmp_path.iterdir()
    assert kept.read_text() == TILE
    hint = f"reproduce with: xtc-opt {kept} --transform-interpreter"
    assert failure.value.hints == (hint,)


def test_the_input_of_other_errors_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(CompileError):
        run_passes("no.op", [])
    with pytest.raises(ChildDied):
        run_passes(TILE, INTERPRET, keep_input=False)
    assert not list(tmp_path.iterdir())


def pass_lists() -> list[list[Step]]:
    """The pass lists for mutants: none, passes of MLIR, each pass of the project, and the host's
    stages."""
    target = discover.target("host")
    stages = target.pipeline(target.options()).stages
    lists: list[list[Step]] = [[], ["canonicalize", "cse"], INTERPRET]  # type: ignore[list-item]
    lists += [[kind.parse_options("")] for kind in known_passes.passes().values() if _plain(kind)]
    lists += [[step for stage in stages[:count] for step in stage.steps] for count in (2, 3, 5)]
    return lists


def _plain(cls: type) -> bool:
    try:
        cls.parse_options("")  # type: ignore[attr-defined]
    except UserError:
        return False
    return True


@pytest.mark.slow
def test_mutants_and_passes(request: pytest.FixtureRequest) -> None:
    """300 damaged modules (10,000 with --long): text or an error, and the process survives."""
    texts, lists, random = mlir_mutator.corpus(FILECHECK), pass_lists(), Random(20)  # noqa: S311  no secret
    limits = Limits(seconds=2, memory_bytes=1 << 30)
    ends = {"text": 0, "error": 0, "death": 0}
    for _ in range(10_000 if request.config.getoption("--long") else 150):
        try:
            run_passes(
                mlir_mutator.mutant(random, texts), random.choice(lists), limits, keep_input=False
            )
            ends["text"] += 1
        except ChildDied:
            ends["death"] += 1
        except (CompileError, UserError):
            ends["error"] += 1
    assert ends["text"] > 10, "the mutants are all broken"
    assert ends["error"] > 100, "the mutants are hardly broken"
    assert alive()
