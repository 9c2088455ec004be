# SPDX-License-Identifier: Apache-2.0
"""Models from ONNX files: names, sizes, messages, and hostile files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

import xtc  # noqa: E402
from xtc.core.errors import UserError  # noqa: E402
from xtc.driver.specialized import SpecializedModule  # noqa: E402

helper = onnx.helper
F = onnx.TensorProto.FLOAT
I64 = onnx.TensorProto.INT64


def info(name: str, shape: Any, kind: int = F) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    nodes: list[Any], inputs: list[Any], outputs: list[Any], opset: int = 20, **more: Any
) -> Any:
    graph = helper.make_graph(nodes, "tested", inputs, outputs, **more)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def constant(name: str, values: Any, dtype: str = "float32") -> Any:
    return onnx.numpy_helper.from_array(np.asarray(values, dtype), name)


def network() -> Any:
    """A convolution, a normalization, an activation, a matmul; shapes by arithmetic."""
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((4, 3, 3, 3)),
        "scale": rng.random(4) + 0.5,
        "bias": rng.standard_normal(4),
        "mean": rng.standard_normal(4),
        "variance": rng.random(4) + 0.5,
        "dense": rng.standard_normal((4, 5)),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["conv"], pads=[1, 1, 1, 1]),
        helper.make_node(
            "BatchNormalization", ["conv", "scale", "bias", "mean", "variance"], ["bn"]
        ),
        helper.make_node("Relu", ["bn"], ["relu"]),
        helper.make_node("GlobalAveragePool", ["relu"], ["pool"]),
        helper.make_node("Shape", ["pool"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["batch"]),
        helper.make_node("Concat", ["batch", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["pool", "target"], ["flat"]),
        helper.make_node("MatMul", ["flat", "dense"], ["logits/out:0"]),
    ]
    constants = [constant(name, value) for name, value in weights.items()]
    constants += [constant("zero", [0], "int64"), constant("rest", [-1], "int64")]
    return model(
        nodes,
        [info("x", ["batch", 3, "h", "w_in"])],
        [info("logits/out:0", None)],
        initializer=constants,
    )


def expected(proto: Any, *arrays: Any) -> list[Any]:
    from onnx.reference import ReferenceEvaluator

    names = [given.name for given in proto.graph.input]
    results: list[Any] = ReferenceEvaluator(proto).run(None, dict(zip(names, arrays, strict=True)))
    return results


@pytest.mark.slow
def test_calls_determine_sizes() -> None:
    proto = network()
    read = xtc.from_onnx(proto)
    assert read.symbols == ("batch", "h", "w_in")
    with xtc.compile(read, in_memory=True) as module:
        for shape in ((2, 3, 6, 5), (1, 3, 4, 4), (2, 3, 6, 5)):
            x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
            np.testing.assert_allclose(module(x), expected(proto, x)[0], rtol=1e-4, atol=1e-5)
        assert isinstance(module, SpecializedModule)
        assert module.specialize(batch=2, h=6, w_in=5) is module.specialize(batch=2, h=6, w_in=5)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["mppa", "nvgpu"])
def test_a_model_runs_on_a_device(device: str) -> None:
    sizes = {"batch": 1, "h": 8, "w_in": 8}
    model = xtc.from_onnx(network(), dims=sizes, device=device)
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)
    with xtc.compile(model.graph, target=device) as module:
        np.testing.assert_allclose(module(x), expected(network(), x)[0], rtol=1e-4, atol=1e-5)
    assert {str(node.placement) for node in model.graph.nodes} == {f"{device}0"}


def test_constants_layouts_and_factors_fold() -> None:
    graph = xtc.from_onnx(network(), dims={"batch": 1, "h": 8, "w_in": 8}).graph
    names = [node.op.name for node in graph.nodes]
    # One transpose to channels last; the normalization is in the weights and one sum.
    assert names.count("transpose") == 1
    assert names.count("add") == 1
    assert not {"mul", "sqrt", "div", "sub"} & set(names)
    assert [tensor.name for tensor in graph.outputs] == ["logits_out_0"]
    assert {node.where.line for node in graph.nodes if node.where} <= set(range(1, 10))


def test_subnormal_weights_become_zero() -> None:
    rng = np.random.default_rng(0)
    tiny = np.float32(1e-40)
    weights = rng.standard_normal((4, 3)).astype(np.float32)
    weights[1, 2] = weights[2, 0] = tiny
    constants = {
        "w": weights,
        "b": np.array([1, tiny, 2], np.float32),
        "small": np.full((3, 2), tiny),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["sum"]),
        helper.make_node("Add", ["sum", "b"], ["y"]),
        helper.make_node("MatMul", ["y", "small"], ["z"]),
        helper.make_node("Add", ["x", "shift"], ["s"]),
    ]
    shift = np.array([1, tiny, 2, 3], np.float32)
    stored = [constant(name, value) for name, value in {**constants, "shift": shift}.items()]
    outputs = [info("z", None), info("s", None)]
    graph = xtc.from_onnx(model(nodes, [info("x", [5, 4])], outputs, initializer=stored)).graph
    found = {node.name: node.inputs[1].const for node in graph.nodes}
    np.testing.assert_array_equal(found["sum"], np.where(weights == tiny, 0, weights))
    np.testing.assert_array_equal(found["y"], [1, 0, 2])
    np.testing.assert_array_equal(found["z"], constants["small"])  # only subnormal numbers
    np.testing.assert_array_equal(found["s"], shift)  # not read by a contraction


def test_missing_sizes_are_named() -> None:
    with pytest.raises(UserError, match="dynamic dimensions 'batch', 'h', 'w_in'"):
        _ = xtc.from_onnx(network()).graph
    with pytest.raises(UserError, match="no dynamic dimension 'btach'") as caught:
        xtc.from_onnx(network(), dims={"btach": 1})
    assert "did you mean 'batch'?" in str(caught.value)


def test_all_unsupported_nodes_are_listed() -> None:
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["a"], name="first"),
        helper.make_node("Add", ["x", "x"], ["b"]),
        helper.make_node("Softmax", ["b"], ["c"], axis=7, name="second"),
    ]
    proto = model(nodes, [info("x", [2, 3])], [info("a", None, I64), info("c", None)])
    with pytest.raises(UserError) as caught:
        _ = xtc.from_onnx(proto).graph
    text = str(caught.value)
    assert "2 nodes of model 'tested' cannot be imported" in text
    assert "node 1 'first', RandomNormalLike (opset 20): the operator is not supported" in text
    assert "node 3 'second', Softmax (opset 20): axis 7 of an operand of rank 2" in text


def test_other_versions_of_a_schema_are_refused() -> None:
    proto = model(
        [helper.make_node("Add", ["x", "x"], ["y"])], [info("x", [2])], [info("y", [2])], 6
    )
    with pytest.raises(UserError, match="version 6 of its schema is not supported, only 7, 13, 14"):
        _ = xtc.from_onnx(proto).graph


@pytest.mark.slow
def test_calls_determine_values_that_shapes_depend_on() -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    proto = model(nodes, [info("x", [2, 6]), info("shape", [2], I64)], [info("y", None)])
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    with xtc.compile(xtc.from_onnx(proto), in_memory=True) as module:
        assert module(x, np.array([3, 4])).shape == (3, 4)
        assert module(x, np.array([-1, 2])).shape == (6, 2)


@pytest.mark.slow
def test_loops_and_branches() -> None:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["goes"]),
            helper.make_node("Mul", ["s", "x"], ["s2"]),
            helper.make_node("Identity", ["s2"], ["each"]),
        ],
        "body",
        [info("n", [], I64), info("go", [], onnx.TensorProto.BOOL), info("s", [2])],
        [info("goes", [], onnx.TensorProto.BOOL), info("s2", [2]), info("each", [2])],
    )
    proto = model(
        [helper.make_node("Loop", ["count", "", "x"], ["last", "all"], body=body)],
        [info("x", [2])],
        [info("last", None), info("all", None)],
        initializer=[constant("count", 3, "int64")],
    )
    x = np.array([2, 3], np.float32)
    with xtc.compile(xtc.from_onnx(proto), in_memory=True) as module:
        last, every = module(x)
    np.testing.assert_allclose(last, x**4)
    np.testing.assert_allclose(every, [x**2, x**3, x**4])


def halved(limit: int) -> Any:
    """x halved until it is at most 1, at most `limit` times."""
    boolean = onnx.TensorProto.BOOL
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["s", "half"], ["s2"]),
            helper.make_node("ReduceMax", ["s2"], ["most"], keepdims=0),
            helper.make_node("Greater", ["most", "one"], ["goes"]),
        ],
        "body",
        [info("n", [], I64), info("go", [], boolean), info("s", [2])],
        [info("goes", [], boolean), info("s2", [2])],
        initializer=[constant("half", 0.5), constant("one", 1)],
    )
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["first"], keepdims=0),
        helper.make_node("Greater", ["first", "two"], ["begins"]),
        helper.make_node("Loop", ["count", "begins", "x"], ["last"], body=body),
    ]
    constants = [constant("count", limit, "int64"), constant("two", 1)]
    return model(nodes, [info("x", [2])], [info("last", None)], initializer=constants)


def test_a_loop_with_a_computed_condition() -> None:
    graph = xtc.from_onnx(halved(8)).graph
    for value in (0.5, 3, 40, 9999):
        x = np.array([value, 0.25], np.float32)
        np.testing.assert_allclose(graph.evaluate(x), expected(halved(8), x)[0])


def test_sequences_of_known_lengths() -> None:
    nodes = [
        helper.make_node("SplitToSequence", ["x", "two"], ["parts"], axis=1),
        helper.make_node("SequenceAt", ["parts", "last"], ["tail"]),
        helper.make_node("SequenceEmpty", [], ["none"]),
        helper.make_node("SequenceInsert", ["none", "tail"], ["one"]),
        helper.make_node("SequenceInsert", ["one", "x", "zero"], ["both"]),
        helper.make_node("SequenceLength", ["both"], ["length"]),
        helper.make_node("ConcatFromSequence", ["both"], ["joined"], axis=1),
        helper.make_node("Cast", ["length"], ["number"], to=F),
        helper.make_node("Mul", ["joined", "number"], ["y"]),
    ]
    constants = [constant(name, n, "int64") for name, n in (("two", 2), ("last", -1), ("zero", 0))]
    proto = model(nodes, [info("x", [2, 5])], [info("y", None)], initializer=constants)
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    found = xtc.from_onnx(proto).graph.evaluate(x)
    np.testing.assert_array_equal(found, expected(proto, x)[0])


def test_external_data_stays_in_the_models_folder(tmp_path: Path) -> None:
    proto = network()
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret").write_bytes(bytes(4 * 108))
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../secret"
    file = tmp_path / "inside" / "model.onnx"
    file.write_bytes(proto.SerializeToString())
    with pytest.raises(UserError, match="cannot be read as an ONNX model"):
        xtc.from_onnx(file)


def test_nodes_are_sorted() -> None:
    nodes = [
        helper.make_node("Neg", ["double"], ["y"]),
        helper.make_node("Add", ["x", "x"], ["double"]),
    ]
    read = xtc.from_onnx(model(nodes, [info("x", [2])], [info("y", None)]))
    assert list(read.graph.evaluate(np.array([1, 2], np.float32))) == [-2, -4]
    nodes[1].input[0] = "y"
    with pytest.raises(UserError, match="the model violates ONNX's rules"):
        xtc.from_onnx(model(nodes, [info("x", [2])], [info("y", None)]))


@pytest.mark.parametrize("content", [b"", b"nothing", bytes(range(256)) * 8])
def test_an_invalid_model_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(content)
    with pytest.raises(UserError):
        _ = xtc.from_onnx(file).graph


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_mutants_give_a_graph_or_an_error(tmp_path: Path, is_long: bool) -> None:
    data = network().SerializeToString()
    rng = np.random.default_rng(0)
    file = tmp_path / "model.onnx"
    ended = {"graph": 0, "error": 0}
    for _ in range(10_000 if is_long else 250):
        mutant = bytearray(data)
        for position in rng.integers(0, len(data), rng.integers(1, 6)):
            mutant[position] = rng.integers(0, 256)
        if rng.random() < 0.2:
            del mutant[rng.integers(0, len(mutant)) :]
        file.write_bytes(bytes(mutant))
        try:
            read = xtc.from_onnx(file)
            read.bind(dict.fromkeys(read.symbols, 4))
            ended["graph"] += 1
        except UserError:
            ended["error"] += 1
    assert min(ended.values()) > 20


@pytest.mark.slow
def test_an_output_updates_an_input_as_a_state() -> None:
    nodes = [
        helper.make_node("Concat", ["past", "x"], ["longer"], axis=0),
        helper.make_node("Slice", ["longer", "one", "four"], ["present"]),
        helper.make_node("ReduceSum", ["present", "zero"], ["y"], keepdims=0),
    ]
    proto = model(
        nodes,
        [info("x", [1, 2]), info("past", [3, 2])],
        [info("y", None), info("present", None)],
        initializer=[constant(n, [v], "int64") for n, v in (("zero", 0), ("one", 1), ("four", 4))],
    )
    read = xtc.from_onnx(proto, states={"past": "present"})
    assert [given.name for given in read.inputs] == ["x"]
    assert read.outputs == ("y",)
    with xtc.compile(read, in_memory=True) as module:
        found = [module(np.full((1, 2), number, np.float32))[0] for number in range(1, 6)]
        assert found == [1, 3, 6, 9, 12]
        assert list(module.state["past"][:, 0]) == [3, 4, 5]
    with pytest.raises(UserError, match="the model has no output 'presents'"):
        xtc.from_onnx(proto, states={"past": "presents"})


@pytest.mark.slow
def test_a_step_writes_one_row_of_the_given_cache() -> None:
    nodes = [
        helper.make_node("TensorScatter", ["past", "new", "at"], ["present"], axis=1),
        helper.make_node("ReduceSum", ["present", "rows"], ["y"], keepdims=0),
    ]
    proto = model(
        nodes,
        [info("past", [1, 64, 16]), info("new", [1, 1, 16]), info("at", [1], I64)],
        [info("y", None), info("present", None)],
        opset=24,
        initializer=[constant("rows", [1], "int64")],
    )
    caches = [np.zeros((1, 64, 16), np.float32) for _ in range(2)]
    with xtc.compile(xtc.from_onnx(proto, states={"past": "present"}), in_memory=True) as module:
        for number in range(3):
            for cache in caches:
                new = np.full((1, 1, 16), number + 1, np.float32)
                module(new, np.array([number]), past=cache)
        assert isinstance(module, SpecializedModule)
        bufferized = module.specialize().ir("bufferized")
        with pytest.raises(UserError, match="'tested' has no input 'pats'"):
            module(new, np.array([1]), pats=caches[0])
        assert not module.state["past"].any()
    for cache in caches:
        np.testing.assert_array_equal(cache[0, :4, 0], [1, 2, 3, 0])
    made = [line for line in bufferized.splitlines() if "alloc" in line or "memref.copy" in line]
    assert "memref<1x64x16xf32>" not in "".join(made)


def contributed(rng: np.random.Generator) -> Any:
    """Operators of ONNX Runtime's optimizer, in sequence."""
    constants = [
        constant("bias", rng.standard_normal(16)),
        constant("gamma", rng.standard_normal(16)),
        constant("beta", rng.standard_normal(16)),
        constant("square", rng.standard_normal((16, 16))),
        constant("packed", rng.integers(0, 256, (6, 1, 8)), "uint8"),
        constant("scales", rng.random((6, 1))),
        constant("zeros", rng.integers(0, 256, (6, 1)), "uint8"),
    ]
    steps: list[tuple[str, list[str], list[str], dict[str, Any]]] = [
        ("BiasGelu", ["x", "bias"], ["a"], {}),
        ("FastGelu", ["a", "bias"], ["b"], {}),
        ("QuickGelu", ["b"], ["c"], {"alpha": 1.5}),
        ("Gelu", ["c"], ["d"], {}),
        ("FusedMatMul", ["d", "square"], ["e"], {"transB": 1, "alpha": 0.5}),
        ("SkipLayerNormalization", ["e", "x", "gamma", "beta", "bias"], ["f", "", "", "s"], {}),
        ("SkipSimplifiedLayerNormalization", ["f", "s", "gamma"], ["g"], {"epsilon": 1e-4}),
        ("MatMulNBits", ["g", "packed", "scales", "zeros"], ["y"], {"K": 16, "N": 6, "bits": 4}),
    ]
    nodes = [
        helper.make_node(operator, inputs, outputs, domain="com.microsoft", **attributes)
        for operator, inputs, outputs, attributes in steps
    ]
    nodes[-1].attribute.append(helper.make_attribute("block_size", 16))
    proto = model(nodes, [info("x", [2, 3, 16])], [info("y", None)], initializer=constants)
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return proto


def test_contributed_operators_agree_with_onnx_runtime() -> None:
    pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    rng = np.random.default_rng(0)
    read = xtc.from_onnx(contributed(rng))
    x = rng.standard_normal((2, 3, 16)).astype(np.float32)
    wanted, _ = read.expected({"x": x})
    np.testing.assert_allclose(read.graph.evaluate(x), wanted["y"], rtol=1e-3, atol=1e-4)


def test_constants_with_data_of_wrong_size_are_refused() -> None:
    for damage in ({"data_type": 99}, {"raw_data": b"1234"}):
        proto = network()
        tensor = proto.graph.initializer[0]
        for name, value in damage.items():
            setattr(tensor, name, value)
        with pytest.raises(UserError, match=r"rules|constant 'w', which cannot be read"):
            _ = xtc.from_onnx(proto, dims={"batch": 1, "h": 8, "w_in": 8}).graph


@pytest.mark.slow
def test_a_second_call_does_not_read_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    read = xtc.from_onnx(network())
    made: list[Any] = []
    bound = type(read)._bound

    def noted(*given: Any) -> Any:
        made.append(given)
        return bound(*given)

    monkeypatch.setattr(type(read), "_bound", noted)
    x = np.ones((2, 3, 8, 8), np.float32)
    with xtc.compile(read) as module:
        first = module(x)
        assert len(made) == 1
        np.testing.assert_array_equal(module(x), first)
        assert len(made) == 1
        module(np.ones((1, 3, 8, 8), np.float32))
        assert len(made) == 2


def test_constants_are_folded_without_the_evaluator() -> None:
    """ONNX's evaluator has no DequantizeLinear of operator set 18."""
    nodes = [
        helper.make_node("DequantizeLinear", ["packed", "scale", "zero"], ["w"], axis=0),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]
    packed = np.arange(12).reshape(4, 3)
    constants = [
        constant("packed", packed, "int8"),
        constant("scale", [0.5, 0.25, 2, 1]),
        constant("zero", [1, 2, 3, 4], "int8"),
    ]
    proto = model(nodes, [info("x", [2, 4])], [info("y", None)], 18, initializer=constants)
    graph = xtc.from_onnx(proto).graph
    assert [node.op.name for node in graph.nodes] == ["matmul"]
    scale, zero = np.array([[0.5], [0.25], [2], [1]]), np.array([[1], [2], [3], [4]])
    x = np.ones((2, 4), np.float32)
    np.testing.assert_allclose(graph.evaluate(x), x @ ((packed - zero) * scale), rtol=1e-6)


def test_inputs_without_elements_are_constants() -> None:
    """Like the caches of a language model in its first call."""
    nodes = [helper.make_node("Concat", ["past", "x"], ["y"], axis=0)]
    proto = model(nodes, [info("past", ["n", 2]), info("x", [3, 2])], [info("y", None)])
    graph = xtc.from_onnx(proto).bind({"n": 0})
    assert [str(tensor.name) for tensor in graph.inputs] == ["x"]
    x = np.ones((3, 2), np.float32)
    np.testing.assert_array_equal(graph.evaluate(x), x)


@pytest.mark.slow
def test_results_are_written_to_the_callers_arrays() -> None:
    x, out = np.ones((2, 3, 5, 6), np.float32), np.empty((2, 5), np.float32)
    with xtc.compile(xtc.from_onnx(network())) as module:
        assert module(x, out=out) is out
        np.testing.assert_array_equal(out, module(x))
        with pytest.raises(UserError, match=r"out= has 2"):
            module(x, out=[out, out])
