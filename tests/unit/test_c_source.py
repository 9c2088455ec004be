# SPDX-License-Identifier: Apache-2.0
"""C printed from MLIR computes what the MLIR says, and is readable."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.unit.c_support import every_operator, strict_compiler
from tests.unit.ops_support import ALL, exactly
from xtc.codegen.c import Printer, c_source
from xtc.codegen.c.expression import Expression, assignment, binary, cast, choice, unary
from xtc.codegen.c.names import Names
from xtc.codegen.c.types import CType, literal
from xtc.codegen.llvm import LoadedObjects
from xtc.core.errors import CompileError
from xtc.driver import prepare
from xtc.ir import mlir
from xtc.system.c_compiler import CCompiler
from xtc_targets.host.generate_c import WARNINGS

__all__ = ["strict_compiler"]

Array = np.ndarray[Any, Any]
FLAGS = ("-std=c11", "-O2", "-march=native", "-fwrapv", *WARNINGS, "-fPIC")
INDICES = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
"""


def text_of(module: str, names: Sequence[str] = ()) -> str:
    with mlir.Context():
        parsed = mlir.Module.parse(module).operation
        return c_source(parsed, {"f": names} if names else None).text


def run(module: str, *arrays: Array) -> int:
    """Call the C function f of a module on arrays; returns what it returns."""
    code = CCompiler.configured().object_code(text_of(module), FLAGS, "f")
    with LoadedObjects([code]) as objects:
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p for _ in arrays))
        function = prototype(objects.address("f"))
        return int(function(*(array.ctypes.data for array in arrays)))


def function(arguments: Sequence[str], body: str) -> str:
    """A module with the function f; arguments are types, %a, %b and so on."""
    listed = ", ".join(
        f"%{name}: {type}" for name, type in zip("abcdefgh", arguments, strict=False)
    )
    return f"func.func @f({listed}) {{{INDICES}{body}\nreturn\n}}"


class TestLoops:
    def test_carried_values_are_assigned_simultaneously(self, strict_compiler: str) -> None:
        body = """
        %x = memref.load %a[%c0] : memref<2xi32>
        %y = memref.load %a[%c1] : memref<2xi32>
        %r:3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %x, %q = %y, %s = %x)
            -> (i32, i32, i32) {
          %t = arith.addi %p, %q : i32
          scf.yield %q, %t, %p : i32, i32, i32
        }
        memref.store %r#0, %b[%c0] : memref<3xi32>
        memref.store %r#1, %b[%c1] : memref<3xi32>
        %c2 = arith.constant 2 : index
        memref.store %r#2, %b[%c2] : memref<3xi32>
        """
        result = np.zeros(3, np.int32)
        run(function(["memref<2xi32>", "memref<3xi32>"], body), np.array([1, 2], np.int32), result)
        assert result.tolist() == [5, 8, 3]

    def test_an_inner_loop_continues_with_the_variable(self) -> None:
        body = """
        %x = memref.load %a[%c0] : memref<1xf32>
        %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %x) -> f32 {
          %s = scf.for %j = %c0 to %c3 step %c1 iter_args(%q = %p) -> f32 {
            %t = arith.addf %q, %q : f32
            scf.yield %t : f32
          }
          scf.yield %s : f32
        }
        memref.store %r, %a[%c0] : memref<1xf32>
        """
        text = text_of(function(["memref<1xf32>"], body), ["x"])
        assert text.count("float ") == 2
        assert "x_0 += x_0;" in text

    def test_a_first_value_that_is_still_needed_keeps_its_variable(
        self, strict_compiler: str
    ) -> None:
        body = """
        %x = memref.load %a[%c0] : memref<1xi32>
        %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %x) -> i32 {
          %s = scf.for %j = %c0 to %c3 step %c1 iter_args(%q = %p) -> i32 {
            %t = arith.addi %q, %p : i32
            scf.yield %t : i32
          }
          scf.yield %s : i32
        }
        %d = arith.subi %r, %x : i32
        memref.store %d, %a[%c0] : memref<1xi32>
        """
        array = np.array([1], np.int32)
        run(function(["memref<1xi32>"], body), array)
        assert array.tolist() == [63]

    def test_branches_yield_values(self, strict_compiler: str) -> None:
        body = """
        scf.for %i = %c0 to %c3 step %c1 {
          %x = memref.load %a[%i] : memref<3xi32>
          %y = memref.load %b[%i] : memref<3xi32>
          %less = arith.cmpi slt, %x, %y : i32
          %r:2 = scf.if %less -> (i32, i32) {
            scf.yield %y, %x : i32, i32
          } else {
            scf.yield %x, %y : i32, i32
          }
          memref.store %r#0, %a[%i] : memref<3xi32>
          memref.store %r#1, %b[%i] : memref<3xi32>
        }
        """
        a, b = np.array([1, 5, 3], np.int32), np.array([2, 4, 3], np.int32)
        run(function(["memref<3xi32>", "memref<3xi32>"], body), a, b)
        assert (a.tolist(), b.tolist()) == ([2, 5, 3], [1, 4, 3])


class TestMemory:
    def test_a_read_comes_before_the_write_that_follows_it(self, strict_compiler: str) -> None:
        body = """
        %x = memref.load %a[%c0] : memref<2xi32>
        %y = memref.load %a[%c1] : memref<2xi32>
        memref.store %y, %a[%c0] : memref<2xi32>
        memref.store %x, %a[%c1] : memref<2xi32>
        """
        array = np.array([1, 2], np.int32)
        run(function(["memref<2xi32>"], body), array)
        assert array.tolist() == [2, 1]

    def test_arguments_that_may_overlap_are_not_restricted(self) -> None:
        types = ["memref<2xi32> {llvm.noalias}", "memref<2x3xi32>"]
        body = "%x = memref.load %b[%c0, %c1] : memref<2x3xi32>\n"
        body += "memref.store %x, %a[%c0] : memref<2xi32>"
        text = text_of(function(types, body), ["out", "in"])
        assert "void f(int32_t out[restrict 2], const int32_t in[2][3])" in text

    def test_tables_are_written_out(self, strict_compiler: str) -> None:
        module = f"""
        memref.global "private" constant @table : memref<2x2xi32> = dense<[[1, -2], [3, 4]]>
        memref.global "private" constant @same : memref<40x50xf32> = dense<2.5>
        func.func @f(%a: memref<2x2xi32>, %b: memref<40x50xf32>) {{ {INDICES}
          %t = memref.get_global @table : memref<2x2xi32>
          %s = memref.get_global @same : memref<40x50xf32>
          memref.copy %t, %a : memref<2x2xi32> to memref<2x2xi32>
          memref.copy %s, %b : memref<40x50xf32> to memref<40x50xf32>
          return
        }}"""
        a, b = np.zeros((2, 2), np.int32), np.zeros((40, 50), np.float32)
        run(module, a, b)
        assert a.tolist() == [[1, -2], [3, 4]]
        assert np.all(b == 2.5)
        assert "{[0 ... 39] = {[0 ... 49] = 2.5f}}" in text_of(module)

    def test_failed_calls_fail_their_callers(self) -> None:
        module = f"""
        func.func private @inner(%a: memref<2xf32>) {{ {INDICES}
          %t = memref.alloc() : memref<2xf32>
          memref.copy %a, %t : memref<2xf32> to memref<2xf32>
          memref.copy %t, %a : memref<2xf32> to memref<2xf32>
          memref.dealloc %t : memref<2xf32>
          return
        }}
        func.func @f(%a: memref<2xf32>) {{
          %t = memref.alloc() : memref<2xf32>
          memref.copy %a, %t : memref<2xf32> to memref<2xf32>
          func.call @inner(%t) : (memref<2xf32>) -> ()
          memref.copy %t, %a : memref<2xf32> to memref<2xf32>
          memref.dealloc %t : memref<2xf32>
          return
        }}"""
        text = text_of(module)
        assert "static int inner(float buffer[2]) {" in text
        assert "  if (inner(buffer) != 0) {\n    free(buffer);\n    return 1;\n  }" in text
        array = np.ones(2, np.float32)
        assert run(module, array) == 0


PREDICATES: dict[str, Callable[[Any, Any], Any]] = {
    "oeq": lambda a, b: a == b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "one": lambda a, b: (a < b) | (a > b),
    "ord": lambda a, b: (a == a) & (b == b),
    "ueq": lambda a, b: ~((a < b) | (a > b)),
    "ugt": lambda a, b: ~(a <= b),
    "uge": lambda a, b: ~(a < b),
    "ult": lambda a, b: ~(a >= b),
    "ule": lambda a, b: ~(a > b),
    "une": lambda a, b: a != b,
    "uno": lambda a, b: (a != a) | (b != b),
    "true": lambda a, _: np.ones_like(a, bool),
    "false": lambda a, _: np.zeros_like(a, bool),
}


def elementwise(count: int, lanes: int, types: Sequence[str], lines: str) -> str:
    """A loop over `count` elements, `lanes` at a time; `lines` make %r of %x and %y."""
    vectors = {type: f"vector<{lanes}x{type}>" if lanes > 1 else type for type in types}
    op = "vector" if lanes > 1 else "memref"
    memrefs = [f"memref<{count}x{type}>" for type in types]

    def access(name: str, value: str, array: str, type: str) -> str:
        tail = f", {vectors[type]}" if lanes > 1 else ""
        return f"{value}{op}.{name} %{array}[%i] : memref<{count}x{type}>{tail}"

    reads = [
        access("load", f"%{value} = ", array, type)
        for value, array, type in zip("xy", "ab", types[:-1], strict=False)
    ]
    text = "\n".join([*reads, lines.replace("$V", vectors[types[-1]])])
    for position, type in enumerate(types):
        text = text.replace(f"${position}", vectors[type])
    array = "abc"[len(types) - 1]
    tail = f", {vectors[types[-1]]}" if lanes > 1 else ""
    store = f"{op}.store %r, %{array}[%i] : memref<{count}x{types[-1]}>{tail}"
    step = f"%step = arith.constant {lanes} : index\n%n = arith.constant {count} : index"
    body = f"{step}\nscf.for %i = %c0 to %n step %step {{\n{text}\n{store}\n}}"
    return function(memrefs, body)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_comparisons_of_floats(strict_compiler: str, dtype: str, lanes: int) -> None:
    import ml_dtypes

    kinds = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 3.0])
    a, b = (grid.ravel().astype(kinds[dtype]) for grid in np.meshgrid(special, special))
    for predicate, expected in PREDICATES.items():
        truth = f"vector<{lanes}xi1>" if lanes > 1 else "i1"
        lines = f"%t = arith.cmpf {predicate}, %x, %y : $0\n%r = arith.extui %t : {truth} to $V"
        result = np.zeros(64, np.int8)
        if lanes > 1 and predicate in ("true", "false"):
            continue
        run(elementwise(64, lanes, [dtype, dtype, "i8"], lines), a, b, result)
        wide = a.astype(np.float64), b.astype(np.float64)
        assert np.array_equal(result, expected(*wide)), predicate


@pytest.mark.parametrize("lanes", [1, 16])
class TestHalves:
    def test_every_bfloat16_is_widened_exactly(self, strict_compiler: str, lanes: int) -> None:
        bits = np.arange(65536, dtype=np.uint16)
        result = np.zeros(65536, np.float32)
        lines = "%r = arith.extf %x : $0 to $V"
        run(elementwise(65536, lanes, ["bf16", "f32"], lines), bits, result)
        assert np.array_equal(result.view(np.uint32), bits.astype(np.uint32) << 16)

    @pytest.mark.slow
    def test_bfloat16_is_rounded_to_nearest_even(self, strict_compiler: str, lanes: int) -> None:
        import ml_dtypes

        upper = np.random.default_rng(0).integers(0, 65536, 4096).astype(np.uint32) << 16
        lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
        values = (upper[:, None] | lower).ravel().view(np.float32)
        result = np.zeros(values.size, np.uint16)
        lines = "%r = arith.truncf %x : $0 to $V"
        run(elementwise(values.size, lanes, ["f32", "bf16"], lines), values, result)
        with np.errstate(invalid="ignore"):
            expected = values.astype(ml_dtypes.bfloat16)
        computed = result.view(ml_dtypes.bfloat16)
        nan = np.isnan(values)
        assert np.array_equal(result[~nan], expected.view(np.uint16)[~nan])
        assert np.all(np.isnan(computed[nan].astype(np.float32)))

    @pytest.mark.parametrize("op", ["addf", "mulf", "divf", "subf"])
    def test_float16_rounds_after_each_operation(
        self, strict_compiler: str, lanes: int, op: str
    ) -> None:
        rng = np.random.default_rng(1)
        a, b = (rng.standard_normal(256).astype(np.float16) for _ in range(2))
        result = np.zeros(256, np.float16)
        lines = f"%s = arith.{op} %x, %y : $0\n%r = arith.addf %s, %x : $0"
        run(elementwise(256, lanes, ["f16", "f16", "f16"], lines), a, b, result)
        ufunc = {"addf": np.add, "mulf": np.multiply, "divf": np.divide, "subf": np.subtract}[op]
        exactly(result, ufunc(a, b) + a)


@pytest.mark.slow
@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_integers_wrap(strict_compiler: str, type: str, lanes: int) -> None:
    dtype = np.dtype(type.replace("i", "int"))
    limits = np.iinfo(dtype)
    special = np.array([limits.min, limits.min + 1, -1, 0, 1, 2, limits.max - 1, limits.max], dtype)
    a, b = (grid.ravel() for grid in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        expected = {"addi": a + b, "subi": a - b, "muli": a * b, "maxsi": np.maximum(a, b)}
        unsigned = a.view(f"u{dtype}"), b.view(f"u{dtype}")
        expected |= {"minsi": np.minimum(a, b), "maxui": np.maximum(*unsigned).view(dtype)}
        expected |= {"andi": a & b, "ori": a | b, "xori": a ^ b}
    for op, value in expected.items():
        result = np.zeros(64, dtype)
        lines = f"%r = arith.{op} %x, %y : $V"
        run(elementwise(64, lanes, [type] * 3, lines), a, b, result)
        exactly(result, value)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("divsi", lambda n, d: np.trunc(n / d)),
        ("remsi", lambda n, d: n - d * np.trunc(n / d)),
        ("floordivsi", lambda n, d: np.floor(n / d)),
        ("ceildivsi", lambda n, d: np.ceil(n / d)),
    ],
)
def test_division_of_indices(strict_compiler: str, op: str, expected: Any) -> None:
    n, d = (grid.ravel() for grid in np.meshgrid(np.arange(-7, 9), np.array([-3, -2, 1, 4])))
    lines = f"%r = arith.{op} %x, %y : $V"
    result = np.zeros(64, np.int64)
    run(elementwise(64, 1, ["index"] * 3, lines), n, d, result)
    assert np.array_equal(result, expected(n, d))


class TestText:
    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", ALL)
    def test_lines_are_short(self, dtype: str) -> None:
        graph, _ = every_operator(dtype)
        text = prepare(graph, codegen="c").stage_text("code")
        assert max(map(len, text.splitlines())) <= 100
        assert text.endswith("}\n")
        assert not text.endswith("\n\n")

    def test_only_necessary_parentheses_are_printed(self) -> None:
        a, b, c = map(Expression, "abc")
        assert binary("*", binary("+", a, b), c).text == "(a + b) * c"
        assert binary("+", binary("*", a, b), c).text == "a * b + c"
        assert binary("+", binary("+", a, b), c).text == "a + b + c"
        assert binary("-", a, binary("-", b, c)).text == "a - (b - c)"
        assert binary("/", a, binary("*", b, c)).text == "a / (b * c)"
        assert binary("<", binary("+", a, b), c).text == "a + b < c"
        assert binary("&", binary("+", a, b), c).text == "(a + b) & c"
        assert binary("<<", a, binary("+", b, c)).text == "a << (b + c)"
        conjunction = binary("&&", binary("<", a, b), binary("==", b, c))
        assert conjunction.text == "a < b && b == c"
        assert binary("||", conjunction, a).text == "(a < b && b == c) || a"
        assert binary("==", binary("<", a, b), c).text == "(a < b) == c"
        assert unary("-", unary("-", a)).text == "-(-a)"
        assert unary("!", binary("<", a, b)).text == "!(a < b)"
        assert cast("float", binary("+", a, b)).text == "(float)(a + b)"
        assert choice(binary("<", a, b), choice(a, b, c), c).text == "a < b ? (a ? b : c) : c"

    def test_updates_are_short(self) -> None:
        a, b = Expression("a"), Expression("b")
        assert assignment("a", binary("+", a, binary("*", a, b))) == "a += a * b;"
        assert assignment("a", binary("-", a, binary("+", a, b))) == "a -= a + b;"
        assert assignment("b", binary("+", a, b)) == "b = a + b;"
        assert assignment("a", binary("/", a, b)) == "a = a / b;"

    @pytest.mark.parametrize(
        ("value", "element", "text"),
        [
            (1.0, "f32", "1.0f"),
            (0.1, "f32", "0.1f"),
            (1e20, "f32", "1e+20f"),
            (2.0**-149, "f32", "1e-45f"),
            (0.1, "f64", "0.1"),
            (-0.0, "f64", "-0.0"),
            (float("-inf"), "f64", "-INFINITY"),
            (1.5, "f16", "(_Float16)1.5f"),
            (1.0, "bf16", "0x3f80 /* 1 */"),
            (-(2**31), "i32", "INT32_MIN"),
            (-(2**63), "i64", "INT64_MIN"),
            (-128, "i8", "-128"),
            (1, "i1", "true"),
        ],
    )
    def test_literals(self, value: float, element: str, text: str) -> None:
        assert literal(value, CType(element)).text == text

    def test_names_are_unique_in_a_scope_and_reused_in_the_next(self) -> None:
        names = Names(["f"])
        assert [names.declare("A"), names.declare("A"), names.declare("f")] == ["A", "A_1", "f_1"]
        assert [names.declare("B#"), names.declare("B_0#")] == ["B_0", "B_1"]
        with names.scope():
            assert [names.declare_loop(), names.declare_loop()] == ["i", "j"]
        with names.scope():
            assert names.declare_loop() == "i"


class TestRefusals:
    def test_an_unknown_operation_is_named_with_its_node(self) -> None:
        body = """
        %x = memref.load %a[%c0] : memref<1xf32>
        %y = math.cbrt %x : f32 loc("root"("net.py":7:3))
        memref.store %y, %a[%c0] : memref<1xf32>"""
        with pytest.raises(CompileError) as caught:
            text_of(function(["memref<1xf32>"], body))
        assert str(caught.value).startswith("net.py:7: 'root': math.cbrt cannot be written in C")
        assert "%2 = math.cbrt" in str(caught.value) or "math.cbrt %" in str(caught.value)

    @pytest.mark.parametrize(
        ("types", "body"),
        [
            (["memref<?xf32>"], "%x = memref.load %a[%c0] : memref<?xf32>"),
            (["memref<2xi4>"], "%x = memref.load %a[%c0] : memref<2xi4>"),
            (
                ["memref<9xf32>"],
                "%x = vector.load %a[%c0] : memref<9xf32>, vector<3xf32>\n"
                "vector.store %x, %a[%c1] : memref<9xf32>, vector<3xf32>",
            ),
            (
                ["memref<4xf32, strided<[2]>>"],
                "%x = memref.load %a[%c0] : memref<4xf32, strided<[2]>>\n"
                "memref.store %x, %a[%c1] : memref<4xf32, strided<[2]>>",
            ),
        ],
    )
    def test_operations_without_a_c_form_are_refused(self, types: list[str], body: str) -> None:
        with pytest.raises(CompileError, match="cannot be written in C"):
            text_of(function(types, body))

    def test_a_target_can_add_rules(self) -> None:
        def cube_root(printer: Printer, op: mlir.Operation) -> None:
            (operand,) = printer.operands(op)
            printer.define(op.results[0], Expression(f"cbrtf({operand.text})"), "root")

        body = """
        %x = memref.load %a[%c0] : memref<1xf32>
        %y = math.cbrt %x : f32
        memref.store %y, %a[%c1] : memref<1xf32>"""
        with mlir.Context():
            module = mlir.Module.parse(function(["memref<1xf32>"], body)).operation
            text = c_source(module, {"f": ["x"]}, {"math.cbrt": cube_root}).text
        assert "x[1] = cbrtf(x[0]);" in text
