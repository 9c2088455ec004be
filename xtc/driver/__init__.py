# SPDX-License-Identifier: Apache-2.0
"""Compiles a graph to a callable module; finds targets by name only."""

from xtc.driver.availability import DeviceStatus, devices
from xtc.driver.compilation import Compilation
from xtc.driver.compile import IrOptions, compile, prepare
from xtc.driver.module import Module, load

__all__ = [
    "Compilation",
    "DeviceStatus",
    "IrOptions",
    "Module",
    "compile",
    "devices",
    "load",
    "prepare",
]
