# SPDX-License-Identifier: Apache-2.0
"""Types under Tilus's module names, so that imports of kernels keep working."""

from typing import Any

from xtc.tile import types


def __getattr__(name: str) -> Any:
    return types.type_named(name, __name__)
