# SPDX-License-Identifier: Apache-2.0
"""Work that may crash, hang or use up the memory, in processes that may: the caller lives on."""

from xtc.core.guard.child import run_in_child
from xtc.core.guard.limits import Limits
from xtc.core.guard.server import Job, serve
from xtc.core.guard.worker import Workers

__all__ = ["Job", "Limits", "Workers", "run_in_child", "serve"]
