# SPDX-License-Identifier: Apache-2.0
"""Models from PyTorch: exported programs, and torch.compile with dynamic sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the package torch is not installed")

import xtc  # noqa: E402
from xtc.core.errors import UserError  # noqa: E402
from xtc.graph.graph import Graph  # noqa: E402

nn = torch.nn


class Attention(nn.Module):  # type: ignore[misc, name-defined]
    """A block of a transformer, with a causal mask."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):  # type: ignore[no-untyped-def]
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, c))
        return x + self.down(nn.functional.gelu(self.up(x)))


def models() -> dict[str, tuple[Any, tuple[int, ...]]]:
    torch.manual_seed(0)
    convolutions = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU6(),
        nn.Conv2d(8, 8, 3, padding=1, groups=8),
        nn.MaxPool2d(3, 2, 1, ceil_mode=True),
        nn.ConvTranspose2d(8, 4, 2, stride=2),
        nn.Hardswish(),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.AdaptiveAvgPool2d((2, 3)),
        nn.Flatten(),
        nn.Linear(24, 5),
        nn.LogSoftmax(-1),
    )
    return {
        "convolutions": (convolutions.eval(), (1, 3, 8, 10)),
        "attention": (Attention().eval(), (2, 6, 16)),
        "signals": (
            nn.Sequential(
                nn.Conv1d(4, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.AvgPool1d(2)
            ).eval(),
            (2, 4, 20),
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["convolutions", "attention", "signals"])
def test_exported_programs(name: str) -> None:
    module, shape = models()[name]
    x = torch.randn(shape)
    with torch.no_grad():
        wanted = module(x).numpy()
    graph = xtc.from_torch(torch.export.export(module, (x,)), name=name)
    assert graph.name == name
    with xtc.compile(graph, in_memory=True) as compiled:
        np.testing.assert_allclose(compiled(x.numpy()), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_compile_adapts_to_sizes_and_weights() -> None:
    from xtc.importers.torch.backend import xtc_backend

    torch._dynamo.reset()
    module, _ = models()["attention"]
    compiled = torch.compile(module, backend=xtc_backend)
    with torch.no_grad():
        for rows in (2, 3):
            x = torch.randn(rows, 6, 16)
            torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-5)
        module.out.weight.mul_(2)
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_training_compiles_for_few_weights_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from xtc.importers.torch import backend

    torch._dynamo.reset()
    torch.manual_seed(2)
    built = []

    def compile_one(graph: Graph, **_: Any) -> xtc.Module:
        built.append(graph)
        return xtc.compile(graph)

    monkeypatch.setattr(backend, "compile", compile_one)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    compiled = torch.compile(model, backend=backend.xtc_backend)
    x = torch.randn(3, 4)
    for _ in range(6):
        loss, expected = compiled(x).square().sum(), model(x).square().sum()
        torch.testing.assert_close(loss, expected)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    forward = backend.WEIGHTS_KEPT + 1
    assert len(built) <= forward + forward  # and as many gradients at most


@pytest.mark.slow
def test_unsupported_operators_are_listed_with_their_line() -> None:
    class Unusual(nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x):  # type: ignore[no-untyped-def]
            return torch.special.i0(x) + torch.special.digamma(x)

    program = torch.export.export(Unusual(), (torch.eye(3),))
    with pytest.raises(UserError) as caught:
        xtc.from_torch(program)
    text = str(caught.value)
    assert "2 nodes of 'model' cannot be imported" in text
    assert "aten.digamma.default" in text
    assert "test_torch_import.py" in text


class Sizes(nn.Module):  # type: ignore[misc, name-defined]
    """Sizes as numbers, in reshapes and in arithmetic."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x, y):  # type: ignore[no-untyped-def]
        rows = x.shape[0] * x.shape[1]
        return self.linear(x).reshape(rows, 4), y.sum(0) * x.shape[1], torch.cat([x, x], 1)


@pytest.fixture(scope="module")
def free() -> Any:
    batch, length = torch.export.Dim("batch", min=2, max=64), torch.export.Dim("length")
    example = (torch.randn(3, 5, 8), torch.randn(10, 2))
    sizes = {"x": {0: batch, 1: length}, "y": {0: 2 * length}}
    return torch.export.export(Sizes().eval(), example, dynamic_shapes=sizes)


@pytest.mark.slow
def test_dynamic_sizes_are_those_of_calls(free: Any) -> None:
    model = xtc.from_torch(free, name="sizes")
    assert repr(model) == "<xtc model sizes(x: x_0xx_1x8xfloat32, y: y_0x2xfloat32)>"
    with xtc.compile(model) as module:
        for batch, length in ((3, 5), (4, 7)):
            inputs = (torch.randn(batch, length, 8), torch.randn(2 * length, 2))
            found = module(*(x.numpy() for x in inputs))
            for got, wanted in zip(found, free.module()(*inputs), strict=True):
                np.testing.assert_allclose(got, wanted.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dims", "text"),
    [
        ({"batch": 3}, "has no dynamic dimension 'batch'\n  hint: one of: x_0, x_1, y_0"),
        ({"x_0": 1}, "cannot be 1\n  note: the program was exported for 2 to 64"),
        ({"y_0": 9}, "cannot be 9\n  note: it is 2*x_1, here 10"),
    ],
)
def test_unknown_sizes_are_refused(free: Any, dims: dict[str, int], text: str) -> None:
    with pytest.raises(UserError) as caught:
        xtc.from_torch(free, dims={"x_0": 3, "x_1": 5, "y_0": 10, **dims})
    assert text in str(caught.value)


@pytest.mark.slow
def test_given_sizes_are_fixed(free: Any) -> None:
    graph = xtc.from_torch(free, dims={"x_0": 3, "x_1": 5, "y_0": 10})
    assert isinstance(graph, Graph)
    assert graph.outputs[0].type.sizes == (15, 4)


def test_other_objects_are_refused() -> None:
    with pytest.raises(UserError, match="takes an exported program, not Linear"):
        xtc.from_torch(nn.Linear(2, 2))


@pytest.mark.slow
def test_a_modified_buffer_is_a_state() -> None:
    class Cache(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("kept", torch.ones(4, 3))

        def forward(self, x, position):  # type: ignore[no-untyped-def]
            self.kept[position] = x
            return self.kept.sum(0)

    x, position = torch.full((1, 3), 5.0), torch.tensor([2])
    graph = xtc.from_torch(torch.export.export(Cache(), (x, position)))
    assert isinstance(graph, Graph)
    assert [str(state.name) for state, _ in graph.updates] == ["kept"]
    with xtc.compile(graph, in_memory=True) as module:
        for row, wanted in ((2, 8), (0, 12)):
            found = module(x.numpy(), np.array([row]))
            np.testing.assert_array_equal(found, np.full(3, wanted))
        np.testing.assert_array_equal(module.state["kept"][:, 0], [5, 1, 5, 1])


class Rare(nn.Module):  # type: ignore[misc, name-defined]
    """Operators that few models have."""

    def forward(self, x, grid, index):  # type: ignore[no-untyped-def]
        image = nn.functional.grid_sample(x, grid, align_corners=False)
        columns = nn.functional.unfold(x, 3, stride=2, padding=1)
        whole = nn.functional.fold(columns, x.shape[2:], 3, stride=2, padding=1)
        angle = torch.atan2(x, x.flip(3))
        return (
            image,
            whole,
            angle,
            torch.diagonal(x, 1, 2, 3),
            torch.cdist(x[0], x[0] * 2),
            torch.zeros(2, 5).scatter_reduce(1, index, x[0, 0, :2, :4], "amax"),
        )


@pytest.mark.slow
def test_operators_that_few_models_have() -> None:
    torch.manual_seed(1)
    given = (torch.randn(1, 2, 6, 7), torch.rand(1, 3, 4, 2) * 2.4 - 1.2)
    inputs = (*given, torch.tensor([[0, 4, 0, 2], [1, 1, 1, 3]]))
    graph = xtc.from_torch(torch.export.export(Rare(), inputs))
    assert isinstance(graph, Graph)
    found = graph.evaluate(*(x.numpy() for x in inputs))
    for got, wanted in zip(found.values(), Rare()(*inputs), strict=True):
        np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-4, atol=1e-5)


def _batches() -> Any:
    torch.manual_seed(3)
    layers = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)
    return nn.Sequential(*layers).train()


@pytest.mark.slow
def test_statistics_of_batches_follow_training() -> None:
    from xtc.importers.torch.backend import xtc_backend

    torch._dynamo.reset()
    found, wanted = _batches(), _batches()
    compiled = torch.compile(found, backend=xtc_backend)
    for _ in range(2):
        x = torch.randn(4, 3, 8, 8)
        for model in (compiled, wanted):
            model(x).square().mean().backward()
    for name, value in wanted.state_dict().items():
        torch.testing.assert_close(found.state_dict()[name], value, rtol=1e-4, atol=1e-5)
    for got, expected in zip(found.parameters(), wanted.parameters(), strict=True):
        torch.testing.assert_close(got.grad, expected.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}])
def test_gradients_of_convolutions(how: dict[str, int]) -> None:
    from xtc.importers.torch.backend import xtc_backend

    torch._dynamo.reset()
    torch.manual_seed(5)
    model = nn.Conv2d(4, 6, 3, **how)
    gradients = []
    for run in (torch.compile(model, backend=xtc_backend), model):
        x = torch.arange(288.0).view(2, 4, 6, 6).div(100).requires_grad_()
        model.zero_grad()
        run(x).square().sum().backward()
        gradients.append([x.grad, *(value.grad.clone() for value in model.parameters())])
    for got, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("norm_first", "mask", "padding"),
    [(False, None, None), (True, "causal", None), (False, None, "last")],
)
def test_fused_encoders(norm_first: bool, mask: str | None, padding: str | None) -> None:
    torch._dynamo.reset()
    torch.manual_seed(4)
    layer = nn.TransformerEncoderLayer(
        16, 2, 32, batch_first=True, norm_first=norm_first, activation="gelu"
    )
    model, x = (
        nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval(),
        torch.randn(2, 5, 16),
    )
    masks: dict[str, Any] = {}
    if mask:
        masks["mask"] = torch.ones(5, 5, dtype=torch.bool).triu(1)
    if padding:
        masks["src_key_padding_mask"] = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad():
        wanted = model(x, **masks)
        found = torch.compile(model, backend="xtc")(x, **masks)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_options_are_those_of_compile() -> None:
    torch._dynamo.reset()
    x = torch.randn(3)
    found = torch.compile(torch.relu, backend="xtc", options={"codegen": "c"})(x)
    torch.testing.assert_close(found, torch.relu(x))
    for how, text in (
        ({"options": {"thraeds": 2}}, "target 'host' has no option 'thraeds'"),
        ({"mode": "max-autotune"}, "backend 'xtc' has no mode 'max-autotune'"),
    ):
        torch._dynamo.reset()
        with pytest.raises(Exception, match=text):
            torch.compile(torch.relu, backend="xtc", **how)(x)
