# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import xtc.ops as O
from tests.unit.graph_strategies import arrays, graphs
from xtc.core import yaml_tree
from xtc.core.errors import UserError
from xtc.core.location import SourceLocation
from xtc.core.types import ELEMENT_TYPES
from xtc.graph import known_operators, yaml_read
from xtc.graph.graph import Graph
from xtc.graph.placement import Placement

OPERATORS = sorted((Path(__file__).parents[1] / "filecheck" / "ops").glob("*.py"))

SMALL = """\
xtc_graph: 1
name: small
inputs:
  - {name: x, shape: [n, 2], dtype: float32, device: {target: null, name: null0}}
constants:
  - name: w
    shape: [2, 3]
    dtype: float32
    data:
      - [1.0, 2.0, 3.0]
      - [4.0, 5.0, 6.0]
  - {name: half, shape: [], dtype: float32, data: 0.5}
nodes:
  - name: h
    op: matmul
    inputs: [x, w]
    device: {target: null, name: null0}
  - name: y
    op: mul
    inputs: [h, half]
outputs: [y]
""".replace("target: null,", 'target: "null",')


def small() -> Graph:
    x = O.tensor(("n", 2), name="x", device="null0")
    w = O.tensor((2, 3), name="w", const=np.arange(1, 7, dtype=np.float32).reshape(2, 3))
    half = O.tensor((), name="half", const=np.float32(0.5))
    with O.graph(name="small") as gb:
        h = O.matmul(x, w, name="h", device="null0")
        O.mul(h, half, name="y")
    return gb.graph


def fails(text: str, message: str, place: str) -> UserError:
    """Check that parsing raises a UserError with `message` at `place`, a line and a column."""
    with pytest.raises(UserError) as info:
        Graph.from_yaml(text, "graph.yaml")
    assert message in str(info.value)
    assert isinstance(info.value.where, SourceLocation)
    assert str(info.value.where) == f"graph.yaml:{place}"
    return info.value


# Round trips.


@pytest.mark.slow
@given(graphs())
def test_every_graph_is_read_back_equal(graph: Graph) -> None:
    text = Graph.to_yaml(graph)
    read = Graph.from_yaml(text)
    assert read == graph
    assert Graph.to_yaml(read) == text
    assert [node.output.type for node in read] == [node.output.type for node in graph]


@pytest.mark.slow
@given(st.data())
def test_every_array_is_read_back_bit_for_bit(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 5), max_size=3).map(tuple))
    dtype = data.draw(st.sampled_from(sorted(ELEMENT_TYPES)))
    array = data.draw(arrays(shape, dtype))
    with O.graph() as gb:
        O.cast(O.tensor(shape, dtype, name="c", const=array), "float64")
    (constant,) = Graph.from_yaml(Graph.to_yaml(gb.graph)).constants
    assert constant.const is not None
    assert constant.const.tobytes() == array.tobytes()
    assert constant.const.dtype == array.dtype
    assert not constant.const.flags.writeable


@pytest.mark.parametrize("path", OPERATORS, ids=lambda path: path.stem)
def test_every_operator_is_read_back_equal(path: Path) -> None:
    graph = runpy.run_path(str(path))["graph"]
    assert Graph.from_yaml(Graph.to_yaml(graph)) == graph


def test_operators_are_covered_by_the_round_trip() -> None:
    assert OPERATORS


def test_the_text_is_readable_and_stable() -> None:
    assert Graph.to_yaml(small()) == SMALL
    assert Graph.from_yaml(SMALL) == small()


def test_the_text_is_plain_yaml() -> None:
    assert yaml.safe_load(Graph.to_yaml(small()))["nodes"][0]["inputs"] == ["x", "w"]


def test_attributes_are_written_where_they_are_set() -> None:
    x = O.tensor((1, 8, 8, 3), name="x")
    with O.graph() as gb:
        O.max_pool2d(x, 2, padding=((0, 1), (1, 0)), name="pooled")
        O.outputs(O.relu(gb.nodes[0].output))
    text = Graph.to_yaml(gb.graph)
    assert "attributes: {window: [2, 2], stride: [2, 2], padding: [[0, 1], [1, 0]]}" in text
    assert text.count("attributes") == 1
    assert Graph.from_yaml(text) == gb.graph


@pytest.mark.parametrize(
    ("value", "dtype", "written"),
    [
        (0.1, "float32", "0.1"),
        (0.1, "float16", "0.1"),
        (0.1, "bfloat16", "0.100098"),
        (-0.0, "float64", "-0.0"),
        (1e-30, "float32", "1.0e-30"),
        (np.inf, "bfloat16", ".inf"),
        (-np.inf, "float16", "-.inf"),
        (np.nan, "float32", ".nan"),
        (-(2**63), "int64", "-9223372036854775808"),
        (True, "bool", "true"),
    ],
)
def test_a_number_is_written_short(value: Any, dtype: str, written: str) -> None:
    const = np.array(value).astype(ELEMENT_TYPES[dtype].numpy)
    with O.graph() as gb:
        O.cast(O.tensor((), dtype, name="c", const=const), "float64")
    text = Graph.to_yaml(gb.graph)
    assert f"data: {written}}}" in text
    assert Graph.from_yaml(text) == gb.graph


def test_bytes_are_little_endian_and_row_major() -> None:
    const = np.arange(20, dtype=np.int16).reshape(4, 5)
    with O.graph() as gb:
        O.neg(O.tensor((4, 5), "int16", name="c", const=const))
    assert (
        "data: |\n      AAABAAIAAwAEAAUABgAHAAgACQAKAAsADAANAA4ADwAQABEAEgATAA=="
        in Graph.to_yaml(gb.graph)
    )


def test_nodes_out_of_order_are_sorted() -> None:
    head, nodes = SMALL.split("nodes:\n")
    first, second = nodes.split("  - name: y")
    shuffled = f"{head}nodes:\n  - name: y{second.split('outputs')[0]}{first}outputs: [y]\n"
    assert Graph.from_yaml(shuffled) == small()


def test_loaded_nodes_know_their_line() -> None:
    where = Graph.from_yaml(SMALL, "graph.yaml").node("y").where
    assert str(where) == "graph.yaml:18:5"


def test_devices_are_read_back_with_their_target() -> None:
    read = Graph.from_yaml(SMALL.replace("null0", "board-3:1"))
    assert read.inputs[0].placement == Placement("null", "board-3:1")


# Errors and their locations.

SWAPS = [
    ("xtc_graph: 1", "xtc_graph: 2", "format version 2 is unknown", "1:12"),
    ("xtc_graph: 1", "xtc_graph: true", "format version True is unknown", "1:12"),
    ("xtc_graph: 1\n", "", "a graph file lacks the key 'xtc_graph'", "1:1"),
    ("name: small", "nam: small", "did you mean 'name'?", "2:1"),
    ("name: small", "name: [small]", "the name of a graph is a string, not a list", "2:7"),
    ("name: small", "name: a b", "'a b' cannot be the name of a graph", "2:7"),
    ("name: small", "name: while", "graph name 'while' is taken", "2:7"),
    ("outputs: [y]", "outputs: []", "the graph has no output", "21:10"),
    ("outputs: [y]", "outputs: y", "outputs is a list, not 'y'", "21:10"),
    ("outputs: [y]", "outputs: [z]", "there is no tensor 'z'", "21:11"),
    ("outputs: [y]", "outputs: [x, y]", "tensor 'x' is not computed", "21:11"),
    ("outputs: [y]", "outputs: [y, y]", "the output 'y' is named twice", "21:14"),
    ("outputs: [y]", "outputs: [h]", "the result of mul is neither used nor an output", "18:5"),
    ("name: x,", "name: 7,", "the name of a tensor is a string, not 7", "4:12"),
    ("name: x,", "name: w,", "two tensors are called 'w'", "6:11"),
    ("name: x, ", "", "an input lacks the key 'name'", "4:5"),
    ("[n, 2]", "[2, n]", "only the first dimension may be symbolic", "4:22"),
    ("[n, 2]", "[-1, 2]", "dimension 0 of shape (-1, 2) is -1", "4:22"),
    ("[n, 2]", "[1.5, 2]", "is not an integer: 1.5", "4:22"),
    ("[n, 2]", "[[n], 2]", "a dimension is a single value, not a list", "4:23"),
    ("[n, 2]", "n", "shape is a list, not 'n'", "4:22"),
    ("dtype: float32, dev", "dtype: float33, dev", "did you mean 'float32'?", "4:37"),
    ("dtype: float32, dev", "dtype: 32, dev", "dtype is a string, not 32", "4:37"),
    ('"null", name: null0}}', '"null"}}', "device lacks the key 'name'", "4:54"),
    ('"null", name: null0}}', "Null, name: null0}}", "'Null' is not the target", "4:63"),
    ('null", name: null0}}', 'null", name: "a\\"b"}}', "is not the name of a device", "4:77"),
    ("data: 0.5", "data: x", "the data is not base64", "12:51"),
    ("data: 0.5", "data: [0.5]", "a list is not a value of type float32", "12:51"),
    ("data: 0.5", "data: 1e39", "the number 1e+39 does not fit float32", "12:51"),
    ("data: 0.5", "data: true", "True is not a value of type float32", "12:51"),
    (", data: 0.5", "", "constant 'half' has no data", "12:5"),
    ("[1.0, 2.0, 3.0]", "[1.0, 2.0]", "the data has 2 where 3 values belong", "10:9"),
    ("[1.0, 2.0, 3.0]", "1.0", "the data has 1.0 where 3 values belong", "10:9"),
    ("[2, 3]", "[n, 3]", "the shape of nx3xfloat32 has a symbolic dimension", "6:5"),
    ("op: matmul", "op: matmull", "did you mean 'matmul'?", "15:9"),
    ("op: matmul", "op: ../matmul", "there is no operator '../matmul'", "15:9"),
    ("op: matmul", "op: elementwise", "there is no operator 'elementwise'", "15:9"),
    ("op: matmul", "op: null", "op is a string, not nothing", "15:9"),
    ("[x, w]", "[x, v]", "there is no tensor 'v'", "16:17"),
    ("[x, w]", "[x]", "matmul takes 2 operands, not 1", "14:5"),
    ("[x, w]", "[x, 3]", "the name of an input is a string, not 3", "16:17"),
    ("[x, w]", "[w, x]", "operands of matmul: 2x3xfloat32, nx2xfloat32", "14:5"),
    ("[x, w]", "[x, half]", "has rank 0, not 2 or more", "14:5"),
    ("[h, half]", "[h, h]", "tensor 'half' is declared but never used", "12:5"),
    ("[x, w]", "[y, w]", "'h' needs 'y' needs 'h'", "14:5"),
    ("[x, w]", "[h, w]", "'h' needs 'h'", "14:5"),
    ("[h, half]\n", "[h, half]\n    attributes: {a: 1}\n", "mul has no key 'a'", "21:18"),
    ("[h, half]\n", "[h, half]\n    flops: 3\n", "a node has no key 'flops'", "21:5"),
    ("    op: mul\n", "", "a node lacks the key 'op'", "18:5"),
    ("  - name: y\n    op: mul", "  - y\n  - op: mul", "a node is a mapping, not 'y'", "18:5"),
    ("outputs: [y]", "outputs: [y]\noutputs: [h]", "the key 'outputs' is given twice", "22:1"),
    ("name: small", "name: &a small", "anchors are not allowed", "2:7"),
    ("name: small", "name: *a", "", "2:7"),
    ("name: small", "name: !!str small", "tags are not allowed", "2:7"),
    ("name: small", "name: !!python/name:os.system small", "tags are not allowed", "2:7"),
    ("name: small", "? [a]\n: small", "a key is a string", "2:3"),
    ("name: small", "name: 'small", "this is not YAML", "22:1"),
    ("outputs: [y]", "outputs: [y]\n---\na: 1", "there is a second document", "22:1"),
    ("outputs: [y]", "outputs: [y]\n\x07", "characters that YAML does not allow", "22:1"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message", "place"), SWAPS, ids=range(len(SWAPS)))
def test_errors_have_a_location(old: str, new: str, message: str, place: str) -> None:
    assert old in SMALL
    fails(SMALL.replace(old, new, 1), message, place)


ATTRIBUTES = [
    ("transpose_a: 1", "attribute 'transpose_a' of matmul is 1, not bool", "17:31"),
    ("transpose_a: [true]", "is (True,), not bool", "17:31"),
    ("transpose_a: {a: 1}", "an attribute is a single value, not a mapping", "17:31"),
    ("transpos_a: true", "did you mean 'transpose_a'?", "17:18"),
    ("name: other", "matmul has no key 'name'", "17:18"),
]


@pytest.mark.parametrize(("attribute", "message", "place"), ATTRIBUTES)
def test_an_attribute_of_wrong_type_is_refused(attribute: str, message: str, place: str) -> None:
    fails(SMALL.replace("[x, w]\n", f"[x, w]\n    attributes: {{{attribute}}}\n"), message, place)


def test_a_missing_attribute_is_refused() -> None:
    text = SMALL.replace("op: mul\n", "op: pad\n").replace("[h, half]", "[h]")
    fails(text, "pad lacks the attribute 'padding'", "19:9")


def test_a_cycle_is_named() -> None:
    nodes = "".join(
        f"  - {{name: {name}, op: relu, inputs: [{need}]}}\n"
        for name, need in [("c", "b"), ("a", "c"), ("b", "a"), ("d", "a")]
    )
    text = f"xtc_graph: 1\nname: g\nnodes:\n{nodes}outputs: [d]\n"
    error = fails(text, "the graph is cyclic", "5:5")
    assert error.notes == ("'a' needs 'c' needs 'b' needs 'a'",)


def test_any_exception_of_a_type_rule_is_a_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def surprised(self: object, *inputs: object) -> None:
        raise IndexError("tuple index out of range")

    monkeypatch.setattr(known_operators.operator("mul"), "infer", surprised)
    error = fails(SMALL, "mul does not accept these operands and attributes", "18:5")
    assert "tuple index out of range" in error.notes


# Hostile files.


def test_deep_nesting_is_refused_at_once() -> None:
    fails("[" * 1_000_000, "nested deeper than 32", "1:33")
    fails("{a: " * 100_000, "nested deeper than 32", "1:126")
    fails("- " * 100_000, "nested deeper than 32", "1:65")
    fails("? " * 100_000, "a key is a string", "1:3")


def test_aliases_do_not_multiply() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60)]
    fails("\n".join(lines), "anchors are not allowed", "1:5")


def test_values_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_read, "LIMITS", replace(yaml_read.LIMITS, values=100))
    fails(f"a: [{'1, ' * 200}]", "more than 100 values", "1:296")


def test_long_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fails(SMALL.replace("name: small", f"name: {'a' * 2000}"), "longer than 1024", "2:7")
    fails(SMALL.replace("name: small", f"? {'a' * 1025}\n: small"), "longer than 1024", "2:3")
    fails(SMALL.replace("name: small", f"name: |\n  {'a' * 1025}"), "longer than 1024", "2:7")
    monkeypatch.setattr(yaml_read, "LIMITS", replace(yaml_read.LIMITS, text=10))
    fails(SMALL, "the text is longer than", "1:1")


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n...\n"])
def test_an_empty_file_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        Graph.from_yaml(text)


def test_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(UserError, match=r"not Unicode|does not allow"):
        Graph.from_yaml("name: \ud800")


@pytest.mark.parametrize("text", ["1e999", "1_000", "0x10", "0o7", "012", "yes", "12:30:00"])
def test_only_plain_decimal_numbers_are_numbers(text: str) -> None:
    fails(SMALL.replace("[n, 2]", f"[2, {text}]"), f"is the name {text!r}", "4:22")


@pytest.mark.slow
def test_the_slow_parser_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_tree, "_LOADER", yaml.SafeLoader)
    assert Graph.from_yaml(SMALL) == small()
    fails("[" * 100_000, "nested deeper than 32", "1:33")
    fails(SMALL.replace("name: small", "name: &a small"), "anchors are not allowed", "2:7")
