# SPDX-License-Identifier: Apache-2.0
"""Random numbers by Philox-4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
SC 2011), from a seed and a counter per element, so that runs are reproducible."""

from __future__ import annotations

import math
from typing import Any

from xtc.core.errors import UserError
from xtc.tile.instructions.shapes import tensor_of
from xtc.tile.types import float32, int32, uint32, uint64
from xtc.tile.values.arithmetic import binary, cast, select, unary
from xtc.tile.values.runtime import Data, RegisterTensor

_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_LOW = 0xFFFFFFFF
_SCALE = 4.6566127342e-10
_LEAST = 1e-7
"""Of the numbers whose logarithm is taken, as in Tilus 0.2 and Triton."""


class RandomNumbers:
    """Instructions that generate random tiles (Philox)."""

    def randint4x(
        self, seed: Any, offset: RegisterTensor, n_rounds: int = 10
    ) -> tuple[Any, Any, Any, Any]:
        """Four tiles of random uint32 from a seed and an integer per element."""
        if not isinstance(n_rounds, int) or n_rounds < 1:
            raise UserError(
                f"n_rounds is a constant of 1 or more, not {n_rounds!r}",
                hints=["omit it: 10 rounds pass the usual statistical tests"],
            )
        if tensor_of(offset, "randint4x").dtype.kind != "int":
            raise UserError(
                f"the offset of randint4x consists of integers, not {offset!r}",
                hints=["self.register_tensor(dtype=int32, shape=..., init=lambda i: start + i)"],
            )
        return philox(seed, offset, n_rounds)

    def randint(self, seed: Any, offset: RegisterTensor, n_rounds: int = 10) -> Any:
        """A tile of random uint32."""
        return self.randint4x(seed, offset, n_rounds)[0]

    def rand(self, seed: Any, offset: RegisterTensor, n_rounds: int = 10) -> Any:
        """A tile of random float32 in [0, 1)."""
        return uniform(self.randint(seed, offset, n_rounds))

    def randn(self, seed: Any, offset: RegisterTensor, n_rounds: int = 10) -> Any:
        """A tile of normally distributed float32 (Box-Muller)."""
        a, b, *_ = self.randint4x(seed, offset, n_rounds)
        return normal(uniform(a), uniform(b))

    def randn4x(
        self, seed: Any, offset: RegisterTensor, n_rounds: int = 10
    ) -> tuple[Any, Any, Any, Any]:
        """Four tiles of normally distributed float32."""
        a, b, c, d = map(uniform, self.randint4x(seed, offset, n_rounds))
        return normal(a, b), normal(a, b, "sin"), normal(c, d), normal(c, d, "sin")

    def rand4x(
        self, seed: Any, offset: RegisterTensor, n_rounds: int = 10
    ) -> tuple[Any, Any, Any, Any]:
        """Four tiles of random float32 in [0, 1)."""
        a, b, c, d = self.randint4x(seed, offset, n_rounds)
        return uniform(a), uniform(b), uniform(c), uniform(d)


def philox(seed: Any, offset: RegisterTensor, rounds: int) -> tuple[Any, Any, Any, Any]:
    """The four random numbers of each counter (offset, 0, 0, 0)."""
    wide = binary("add", offset, cast(0, uint64)) if offset.dtype.bits == 64 else offset
    zero = binary("mul", cast(offset, uint32), cast(0, uint32))
    counter: list[Any] = [cast(wide, uint32), zero, zero, zero]
    if offset.dtype.bits == 64:
        counter[1] = cast(binary("rshift", cast(wide, uint64), 32), uint32)
    key = _key(seed)
    for _ in range(rounds):
        (high0, low0), (high1, low1) = (
            _product(counter[at], number) for at, number in zip((0, 2), _MULTIPLIERS, strict=True)
        )
        counter = [
            binary("xor", binary("xor", high1, counter[1]), key[0]),
            low1,
            binary("xor", binary("xor", high0, counter[3]), key[1]),
            low0,
        ]
        key = [_stepped(part, step) for part, step in zip(key, _KEY_STEPS, strict=True)]
    return counter[0], counter[1], counter[2], counter[3]


def uniform(bits: Any) -> Data:
    """A float32 in [0, 1) from 31 bits of each number, with the results of Tilus and Triton.

    A number with the sign bit is complemented first; the factor is the float32 before 2^-31.
    """
    number = cast(bits, int32)
    folded = select(binary("lt", number, 0), binary("xor", number, -1), number)
    return binary("mul", cast(folded, float32), _SCALE)


def normal(a: Any, b: Any, wave: str = "cos") -> Data:
    """A normally distributed float32 from two numbers in [0, 1): sqrt(-2 ln a) cos(2 pi b)."""
    square = binary("mul", unary("log", binary("max", a, _LEAST)), -2.0)
    return binary("mul", unary("sqrt", square), unary(wave, binary("mul", b, 2 * math.pi)))


def _key(seed: Any) -> list[Any]:
    if isinstance(seed, int):
        return [seed & _LOW, seed >> 32 & _LOW]
    wide = cast(seed, uint64)
    return [cast(wide, uint32), cast(binary("rshift", wide, 32), uint32)]


def _stepped(part: Any, step: int) -> Any:
    if isinstance(part, int):
        return part + step & _LOW
    return binary("add", part, cast(step, uint32))


def _product(a: Any, number: int) -> tuple[Data, Data]:
    """The upper and the lower half of a product."""
    whole = binary("mul", cast(a, uint64), cast(number, uint64))
    return cast(binary("rshift", whole, 32), uint32), cast(whole, uint32)
