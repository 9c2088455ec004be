# SPDX-License-Identifier: Apache-2.0
"""Types under the module names of Tilus, so that a kernel's imports stay."""

from typing import Any

from xtc.tile import types


def __getattr__(name: str) -> Any:
    return types.type_named(name, __name__)
