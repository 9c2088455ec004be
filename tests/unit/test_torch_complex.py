# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs with complex numbers inside: rotations, spectra, signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the package torch is not installed")

import xtc  # noqa: E402
from xtc.core.errors import UserError  # noqa: E402
from xtc.graph.graph import Graph  # noqa: E402

Function = Callable[..., Any]


class Program(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A function as a module, with a complex constant."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("turns", torch.polar(torch.ones(4, 4), torch.arange(16.0).view(4, 4)))

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.function(x, self.turns)


def _rotated(x: Any, turns: Any) -> Any:
    pairs = torch.view_as_complex(x.reshape(2, 4, 4, 2))
    return torch.view_as_real(pairs * turns).flatten(2)


def _layer(x: Any, turns: Any) -> Any:
    """As in a Fourier neural operator: some frequencies, times complex weights."""
    low = torch.fft.rfft2(x)[:, :4, :4]
    whole = torch.zeros(2, 4, 5, dtype=torch.complex64)
    whole[:, :, 1:] = torch.einsum("bij,jk->bik", low, turns)
    return torch.fft.irfft2(whole, s=(4, 8))


def _quotients(x: Any, turns: Any) -> Any:
    z = torch.complex(x[..., :4], x[..., 4:])
    found = z / turns + 2j * z.conj() - 1 / (z + 3) + torch.exp(z)
    return torch.stack([found.real, found.imag, found.abs(), found.angle()])


def _signal(x: Any, turns: Any) -> Any:
    wave = x.reshape(1, 64)
    spectrum = torch.stft(wave, 16, 4, window=torch.hann_window(16), return_complex=True)
    return spectrum.abs(), torch.istft(spectrum, 16, 4, window=torch.hann_window(16))


PROGRAMS: dict[str, Function] = {
    "rotation": _rotated,
    "spectrum": lambda x, turns: torch.fft.fftn(x, dim=(1, 2)).real,
    "inverse": lambda x, turns: torch.fft.ifft(torch.fft.fft(x, norm="ortho"), norm="ortho").real,
    "layer": _layer,
    "quotients": _quotients,
    "signal": _signal,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_complex_numbers_inside_a_program(name: str) -> None:
    torch.manual_seed(0)
    x, program = torch.randn(2, 4, 8), Program(PROGRAMS[name])
    graph = xtc.from_torch(torch.export.export(program, (x,)))
    assert isinstance(graph, Graph)
    found, wanted = graph.evaluate(x.numpy()), program(x)
    pairs = (
        zip(found.values(), wanted, strict=True) if isinstance(found, dict) else [(found, wanted)]
    )
    for got, expected in pairs:
        np.testing.assert_allclose(got, expected.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, turns: turns * x[0, :, :4], "an output of 'model' is complex"),
        (lambda x, turns: torch.sqrt(turns).abs() * x[0, :, :4], "not supported"),
    ],
)
def test_unsupported_complex_operations_are_refused(function: Function, text: str) -> None:
    program = torch.export.export(Program(function), (torch.randn(2, 4, 8),))
    with pytest.raises(UserError) as caught:
        xtc.from_torch(program)
    assert text in str(caught.value)


@pytest.mark.slow
def test_complex_inputs_are_refused() -> None:
    program = torch.export.export(Program(lambda x, turns: x.abs()), (torch.ones(2) * 1j,))
    with pytest.raises(UserError, match="input 'x' has element type complex64"):
        xtc.from_torch(program)
