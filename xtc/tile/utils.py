# SPDX-License-Identifier: Apache-2.0
"""Functions that kernels and the programs that call them use."""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

from xtc.core.errors import UserError
from xtc.tile import config, settings
from xtc.tile.timing import StreamClock
from xtc.tile.types import TYPES, DataType, tfloat32
from xtc.tile.values.runtime import Data


def cdiv(a: Any, b: Any) -> Any:
    """`a / b` rounded up, of non-negative integers."""
    return (a + b - 1) // b


def ceil_div(a: Any, b: Any) -> Any:
    """`a / b` rounded up, of non-negative integers."""
    return cdiv(a, b)


def gcd(*numbers: int) -> int:
    """The greatest common divisor of constants."""
    if any(isinstance(number, Data) for number in numbers):
        raise UserError("gcd takes compile-time constants", hints=["math.gcd of constants"])
    return math.gcd(*numbers)


def lcm(*numbers: int) -> int:
    """The least common multiple of constants."""
    return math.lcm(*numbers)


def prod(seq: Iterable[int]) -> int:
    """The product of constants."""
    return math.prod(seq)


def is_power_of_two(n: int) -> bool:
    """Whether a constant is 1, 2, 4, ..."""
    return n > 0 and n & (n - 1) == 0


def idiv(a: int, b: int) -> int:
    """`a / b` of constants. Raises UserError for a remainder."""
    if a % b:
        raise UserError(f"idiv: {a} is not a multiple of {b}", hints=["cdiv(a, b) rounds up"])
    return a // b


def round_up_to_multiple(a: Any, b: Any) -> Any:
    """The smallest multiple of `b` that is at least `a`."""
    return cdiv(a, b) * b


def floor_log2(n: int) -> int:
    """The binary logarithm of a constant, rounded down."""
    if n < 1:
        raise UserError(f"floor_log2: {n} has no logarithm", hints=["a number of 1 or more"])
    return n.bit_length() - 1


def nbytes_from_nbits(nbits: int) -> int:
    """Convert bits to bytes. Raises UserError for a fraction of a byte."""
    return idiv(nbits, 8)


def same_list(lhs: Sequence[Any], rhs: Sequence[Any]) -> bool:
    """Whether two sequences have equal elements in the same order."""
    return list(lhs) == list(rhs)


def to_snake_case(name: str) -> str:
    """Convert `MatmulV2` to `matmul_v2`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def parallel_map(
    func: Callable[[Any], Any], jobs: Sequence[Any], num_workers: int | None = None
) -> list[Any]:
    """The results of a function for each job, computed by threads."""
    return list(parallel_imap(func, jobs, num_workers))


def parallel_imap(
    func: Callable[[Any], Any], jobs: Sequence[Any], num_workers: int | None = None
) -> Iterator[Any]:
    """The results of a function for each job, in order, computed by threads."""
    with ThreadPoolExecutor(num_workers or settings.get_option("parallel_workers")) as workers:
        yield from workers.map(func, jobs)


def ncu_run(*_: Any, **__: Any) -> NoReturn:
    """Raises UserError: start profilers from the shell."""
    raise UserError("ncu_run is not supported", hints=["start the program by `ncu python ...`"])


def nsys_run(*_: Any, **__: Any) -> NoReturn:
    """Raises UserError: start profilers from the shell."""
    raise UserError("nsys_run is not supported", hints=["start the program by `nsys profile ...`"])


def clear_cache(*_: str) -> None:
    """Does nothing: cache entries are keyed by their contents and never stale."""


def dtype_to_torch(dtype: DataType) -> Any:
    """The PyTorch type of an element type. Raises UserError if there is none."""
    import torch

    name = {"boolean": "bool", "float8_e4m3": "float8_e4m3fn"}.get(dtype.name, dtype.name)
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise UserError(
            f"PyTorch has no type for {dtype}", hints=["tensor.storage is its memory, as bytes"]
        )
    return found


def dtype_from_numpy(dtype: Any) -> DataType:
    """The element type of a NumPy type. Raises UserError if there is none."""
    for known in TYPES:
        if not known.is_packed and known != tfloat32 and known.numpy == dtype:
            return known
    raise UserError(
        f"there is no element type for NumPy's {dtype}",
        hints=["convert the array: x.astype(numpy.float32)"],
    )


def dtype_from_torch(torch_dtype: Any) -> DataType:
    """The element type of a PyTorch type. Raises UserError if there is none."""
    name = str(torch_dtype).removeprefix("torch.")
    name = {"bool": "boolean", "float8_e4m3fn": "float8_e4m3"}.get(name, name)
    for known in TYPES:
        if known.name == name:
            return known
    raise UserError(
        f"there is no element type for {torch_dtype}",
        hints=["convert the tensor: x.to(torch.float32)"],
    )


def benchmark_func(
    run_func: Callable[[], Any], warmup: int = 1, repeat: int = 5, clear_l2_cache: bool = True
) -> float:
    """The median time of a call in milliseconds.

    On a GPU, measures the work that the call submits to the current stream by the GPU's clock,
    with the second-level cache overwritten before each call. Elsewhere it uses the host's clock:
    on a simulator that is the simulator's time, which is unrelated to a GPU's.
    """
    for _ in range(warmup):
        run_func()
    device = config.device_in_use()
    if device is not None and device.streams is not None:
        with StreamClock(device, config.stream_in_use(device), flush=clear_l2_cache) as clock:
            (seconds,) = clock.samples([run_func], max(1, repeat))
    else:
        seconds = [_wall_seconds(run_func) for _ in range(max(1, repeat))]
    return 1e3 * statistics.median(seconds)


def _wall_seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
