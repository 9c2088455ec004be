# SPDX-License-Identifier: Apache-2.0
"""Runs work that may crash, hang or exhaust memory in child processes."""

from xtc.system.sandbox.child import run_in_child
from xtc.system.sandbox.limits import Limits
from xtc.system.sandbox.server import Job, serve
from xtc.system.sandbox.worker import Workers

__all__ = ["Job", "Limits", "Workers", "run_in_child", "serve"]
