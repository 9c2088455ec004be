# SPDX-License-Identifier: Apache-2.0
"""Marks for tests of kernels."""

from __future__ import annotations

import re
import unittest
from collections.abc import Callable
from functools import wraps
from typing import Any

from xtc.tile.config import device_for

Test = Callable[..., Any]
_CHIP = re.compile(r"nvgpu_sm(\d+)([af]?)")


class _Requires(type):
    def __getattr__(cls, name: str) -> Callable[[Test], Test]:
        """`nvgpu_sm80`, `nvgpu_sm90a`, ...: a decorator of tests that need such a machine or one
        after it; with a letter, that one alone."""
        found = _CHIP.fullmatch(name)
        if found is None:
            raise AttributeError(f"there is no mark {name!r}: nvgpu_sm80, nvgpu_sm90a, ...")
        chip, letter = int(found[1]), found[2]

        def skip() -> str | None:
            device = device_for(())
            has = re.fullmatch(r"sm_(\d+)([af]?)", device.device_arch)
            fits = has is not None and (
                (int(has[1]), has[2]) == (chip, letter) if letter else int(has[1]) >= chip
            )
            return None if fits else f"{device.device_name} is {device.device_arch}, not {name}"

        return _skipped_where(skip)


class requires(metaclass=_Requires):  # noqa: N801
    """Decorators for tests that need a particular machine."""

    @staticmethod
    def hardware(test: Test) -> Test:
        """Skip a test if the current device is a simulator."""

        def skip() -> str | None:
            device = device_for(())
            return (
                f"{device.device_name} is a simulator; this needs a GPU"
                if device.is_modelled
                else None
            )

        return _skipped_where(skip)(test)


def _skipped_where(reason: Callable[[], str | None]) -> Callable[[Test], Test]:
    def decorate(test: Test) -> Test:
        @wraps(test)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            why = reason()
            if why is not None:
                raise unittest.SkipTest(why)
            return test(*args, **kwargs)

        return wrapped

    return decorate
