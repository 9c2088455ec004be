# SPDX-License-Identifier: Apache-2.0
"""The runtime under the vendor's name."""

from xtc.core.errors import UserError
from xtc_targets.wse.sdk.runtime import MemcpyDataType, MemcpyOrder, SdkRuntime
from xtc_targets.wse.sdk.task import Task

__all__ = ["MemcpyDataType", "MemcpyOrder", "SdkRuntime", "Task"]

_REFUSED = ("SdkLayout", "SdkTarget", "SimfabConfig", "Edge", "Route", "RoutingPosition")


def __getattr__(name: str) -> object:
    """Reject other names of the vendor's module with an error."""
    if name in _REFUSED:
        raise UserError(
            f"'{name}' is not supported",
            notes=["layouts are CSL programs here, not Python"],
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
