# SPDX-License-Identifier: Apache-2.0
"""Work that may crash, hang or use up the memory, in processes that may: the caller lives on."""

from xtc.system.sandbox.child import run_in_child
from xtc.system.sandbox.limits import Limits
from xtc.system.sandbox.server import Job, serve
from xtc.system.sandbox.worker import Workers

__all__ = ["Job", "Limits", "Workers", "run_in_child", "serve"]
