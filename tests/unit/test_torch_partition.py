# SPDX-License-Identifier: Apache-2.0
"""torch.compile of programs with operators that PyTorch runs: partitions of both, and a warning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the package torch is not installed")

from xtc.importers.torch.partition import RunsInPyTorch  # noqa: E402

nn = torch.nn


def compiled(program: Any, **options: Any) -> Callable[..., Any]:
    torch._dynamo.reset()
    run: Callable[..., Any] = torch.compile(program, backend="xtc", **options)
    return run


@pytest.mark.slow
def test_partitions_before_and_after_an_unsupported_operator() -> None:
    layer = nn.Linear(4, 4)

    def program(x: Any) -> tuple[Any, Any]:
        y = layer(x).relu()
        return torch.linalg.inv(y.T @ y + torch.eye(4)).softmax(-1), y

    run = compiled(program, dynamic=True)
    inputs = [torch.randn(rows, 4) for rows in (3, 5)]
    with torch.no_grad(), pytest.warns(RunsInPyTorch, match="linalg_inv_ex.*test_torch_part"):
        found = [run(x) for x in inputs]
    for x, results in zip(inputs, found, strict=True):
        for got, wanted in zip(results, program(x), strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_the_gradient_of_dropout_has_the_mask_of_its_forward_pass() -> None:
    dropout = nn.Dropout(0.5)
    x = torch.randn(200, requires_grad=True)
    with pytest.warns(RunsInPyTorch, match="native_dropout"):
        y = compiled(lambda x: dropout(x * 2.0) * 3)(x)
    y.sum().backward()
    assert 0 < int((x.grad == 0).sum()) < 200
    torch.testing.assert_close(y.detach(), x.detach() * x.grad)


@pytest.mark.slow
def test_complex_results_stay_in_pytorch() -> None:
    x = torch.randn(3, 8)
    with torch.no_grad(), pytest.warns(RunsInPyTorch, match="_fft_r2c"):
        spectrum, doubled = compiled(lambda x: (torch.fft.fft(x + 1), x * 2))(x)
    torch.testing.assert_close(spectrum, torch.fft.fft(x + 1))
    torch.testing.assert_close(doubled, x * 2)


@pytest.mark.slow
def test_complex_arguments() -> None:
    z = torch.randn(3, dtype=torch.complex64)
    with torch.no_grad(), pytest.warns(RunsInPyTorch):
        torch.testing.assert_close(compiled(lambda z: (z * z).abs() + 1)(z), (z * z).abs() + 1)


@pytest.mark.slow
def test_random_numbers_differ_from_call_to_call() -> None:
    x = torch.zeros(50)
    run = compiled(lambda x: torch.rand_like(x) + x)
    with torch.no_grad(), pytest.warns(RunsInPyTorch, match="rand"):
        first, second = run(x).clone(), run(x).clone()
    assert bool(((first >= 0) & (first < 1)).all())
    assert not torch.equal(first, second)


def test_the_warning_can_be_an_error() -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", RunsInPyTorch)
        with (
            torch.no_grad(),
            pytest.raises(Exception, match="operators in PyTorch"),
        ):
            compiled(lambda x: torch.linalg.inv(x))(torch.eye(2))
