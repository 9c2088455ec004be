# SPDX-License-Identifier: Apache-2.0
"""Write a tensor graph, say where tensors live and operators run, compile it, check it, run it.

import xtc
import xtc.ops as O

a, b = O.tensor((4, 16)), O.tensor((16, 8))
with O.graph(name="product") as gb:
    O.matmul(a, b)
module = xtc.compile(gb.graph)
module.check()
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from xtc.core.versions import VERSION

if TYPE_CHECKING:
    from xtc.core.errors import UserError, XtcError
    from xtc.core.extensions import extend
    from xtc.driver import Module, compile, devices, load
    from xtc.graph.graph import Graph
    from xtc.importers import from_onnx, from_torch, from_yaml, import_tflite
    from xtc.quantization import quantize
    from xtc.schedule import Schedule

__version__ = VERSION

__all__ = [
    "Graph",
    "Module",
    "Schedule",
    "UserError",
    "XtcError",
    "__version__",
    "compile",
    "devices",
    "extend",
    "from_onnx",
    "from_torch",
    "from_yaml",
    "import_tflite",
    "load",
    "quantize",
]

_HOMES = {
    "xtc.core.errors": ("UserError", "XtcError"),
    "xtc.core.extensions": ("extend",),
    "xtc.driver": ("Module", "compile", "devices", "load"),
    "xtc.graph.graph": ("Graph",),
    "xtc.importers": ("from_onnx", "from_torch", "from_yaml", "import_tflite"),
    "xtc.quantization": ("quantize",),
    "xtc.schedule": ("Schedule",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """A name or a package in here, imported when it is first used: commands need few of them."""
    if name in _HOME_OF:
        value = getattr(importlib.import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value
    try:
        return importlib.import_module(f"xtc.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"xtc.{name}":
            raise
    raise AttributeError(f"module 'xtc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
