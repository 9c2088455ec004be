# SPDX-License-Identifier: Apache-2.0
"""PyTorch's attention as one operator: masks, rows without a key, shared heads, gradients."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the package torch is not installed")

import xtc  # noqa: E402
from xtc.core.errors import UserError  # noqa: E402
from xtc.graph.graph import Graph  # noqa: E402

nn = torch.nn


class Attention(nn.Module):  # type: ignore[misc, name-defined]
    """The function, with attributes and optionally a constant mask."""

    def __init__(self, mask: Any = None, **attributes: Any) -> None:
        super().__init__()
        self.register_buffer("mask", mask)
        self.attributes = attributes

    def forward(self, q, k, v, mask=None):  # type: ignore[no-untyped-def]
        mask = self.mask if mask is None else mask
        attend = nn.functional.scaled_dot_product_attention
        return attend(q, k, v, attn_mask=mask, **self.attributes)


def operands(heads: int = 2, groups: int = 2) -> tuple[Any, ...]:
    torch.manual_seed(0)
    return tuple(torch.randn(2, count, 6, 8) for count in (heads, groups, groups))


def imported(module: Any, *inputs: Any) -> Graph:
    with torch.no_grad():
        graph = xtc.from_torch(torch.export.export(module, inputs))
    assert isinstance(graph, Graph)
    return graph


def kinds(graph: Graph) -> collections.Counter[str]:
    return collections.Counter(node.op.name for node in graph.nodes)


def open_rows() -> Any:
    return torch.ones(6, 6, dtype=torch.bool).tril()


def closed_row() -> Any:
    mask = open_rows()
    mask[2] = False
    return mask


PLAIN = {
    "no mask": (Attention(), ()),
    "causal": (Attention(is_causal=True), ()),
    "own scale": (Attention(scale=0.3), ()),
    "known mask": (Attention(open_rows()), ()),
    "known numbers": (Attention(torch.randn(6, 6)), ()),
}
GUARDED = {
    "mask": (Attention(), (closed_row(),)),
    "numbers": (Attention(), (torch.where(closed_row(), 0.5, -torch.inf),)),
    "known mask": (Attention(closed_row()), ()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_rows_that_no_mask_excludes_have_no_guard(name: str) -> None:
    module, more = PLAIN[name]
    graph = imported(module, *operands(), *more)
    assert kinds(graph)["softmax"] == 1
    assert kinds(graph)["reduce_max"] == 0
    _check(graph, module, *operands(), *more)


@pytest.mark.slow
@pytest.mark.parametrize("name", GUARDED)
def test_a_query_without_a_key_gives_zeros(name: str) -> None:
    module, more = GUARDED[name]
    graph = imported(module, *operands(), *more)
    _check(graph, module, *operands(), *more)
    inputs = [x.numpy() for x in (*operands(), *more)]
    with xtc.compile(graph, in_memory=True) as compiled:
        found = compiled(*inputs)
    assert not found[:, :, 2].any()
    np.testing.assert_allclose(found, module(*operands(), *more).numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_heads_that_share_keys() -> None:
    module = Attention(enable_gqa=True)
    _check(imported(module, *operands(6, 2)), module, *operands(6, 2))


@pytest.mark.slow
def test_dropout_is_refused() -> None:
    with pytest.raises(UserError) as caught:
        imported(Attention(dropout_p=0.5), *operands())
    assert "a dropout of 0.5" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(("causal", "heads"), [(False, 2), (True, 4)])
def test_training_follows_the_gradient(causal: bool, heads: int) -> None:
    from xtc.importers.torch.backend import xtc_backend

    torch._dynamo.reset()
    module = Attention(is_causal=causal, enable_gqa=True)
    found, wanted = (tuple(x.clone().requires_grad_() for x in operands(heads)) for _ in range(2))
    torch.compile(module, backend=xtc_backend)(*found).square().sum().backward()
    module(*wanted).square().sum().backward()
    for got, expected in zip(found, wanted, strict=True):
        torch.testing.assert_close(got.grad, expected.grad, rtol=1e-4, atol=1e-5)


def _check(graph: Graph, module: Any, *inputs: Any) -> None:
    with torch.no_grad():
        wanted = module(*inputs).numpy()
    found = graph.evaluate(*(x.numpy() for x in inputs))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
