# SPDX-License-Identifier: Apache-2.0
"""Settings of a program, by the names of Tilus 0.2."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from xtc.core import knobs
from xtc.core.errors import UserError, did_you_mean

_values: dict[str, Any] = {
    "debug.dump_ir": False,
    "parallel_workers": 4,
    "bench_warmup": 1,
    "bench_repeat": 5,
}


def get_option(name: str) -> Any:
    """The value of an option. Raises UserError for an unknown one."""
    if name == "cache_dir":
        return knobs.CACHE_DIR.get()
    if name not in _values:
        raise UserError(
            f"there is no option {name!r}", hints=did_you_mean(name, [*_values, "cache_dir"])
        )
    return _values[name]


def cache_dir(dir_path: str | Path) -> None:
    """Keep compiled kernels and tuning results in this folder (docs/cache.md)."""
    knobs.CACHE_DIR.set(str(Path(dir_path).absolute()))


def parallel_workers(n: int) -> None:
    """Limit how many candidates compile at a time."""
    _values["parallel_workers"] = _count("parallel_workers", n, 1)


def _count(name: str, n: Any, least: int) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or n < least:
        raise UserError(f"{name}({n!r})", hints=[f"a whole number, {least} or more"])
    return n


def bench_warmup(n: int) -> None:
    """Set the number of warm-up runs before a candidate is measured."""
    _values["bench_warmup"] = _count("bench_warmup", n, 0)


def bench_repeat(n: int) -> None:
    """Set the number of runs whose median is a candidate's time."""
    _values["bench_repeat"] = _count("bench_repeat", n, 1)


class debug:  # noqa: N801
    """Options for debugging."""

    @staticmethod
    def dump_ir(enable: bool = True) -> None:
        """Write the IR of each compiled kernel to standard error."""
        _values["debug.dump_ir"] = enable

    @staticmethod
    def disable_ptxas_opt(enabled: bool = True) -> None:
        """Raises UserError: kernels are always optimized."""
        if enabled:
            raise UserError("option.debug.disable_ptxas_opt is not supported")


def dumped(name: str, text: str) -> None:
    """Write IR to standard error where the user has asked for it."""
    if _values["debug.dump_ir"]:
        sys.stderr.write(f"// {name}\n{text}\n")
