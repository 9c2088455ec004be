# SPDX-License-Identifier: Apache-2.0
"""Marks for tests of kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from xtc.tile.config import device_for


class requires:  # noqa: N801
    """Decorators of tests that need a machine which not everybody has."""

    @staticmethod
    def hardware(test: Callable[..., Any]) -> Callable[..., Any]:
        """Skip a test where the device in use is a simulator."""

        @wraps(test)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            import unittest

            device = device_for(())
            if device.is_modelled:
                raise unittest.SkipTest(f"{device.device_name} is a simulator; this needs a GPU")
            return test(*args, **kwargs)

        return wrapped
