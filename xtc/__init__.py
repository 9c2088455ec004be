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

from types import ModuleType
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


def __getattr__(name: str) -> Any:
    """A name of this package, imported when it is first used: commands need few of them."""
    home = _home_of(name)
    if home is None:
        raise AttributeError(f"module 'xtc' has no attribute {name!r}")
    globals()[name] = value = getattr(home, name)
    return value


def _home_of(name: str) -> ModuleType | None:
    from xtc.core import errors, extensions

    if name in ("UserError", "XtcError"):
        return errors
    if name == "extend":
        return extensions
    if name in ("from_onnx", "from_torch", "from_yaml", "import_tflite"):
        from xtc import importers

        return importers
    if name in ("Module", "compile", "devices", "load"):
        from xtc import driver

        return driver
    return _other_home_of(name)


def _other_home_of(name: str) -> ModuleType | None:
    if name == "quantize":
        from xtc import quantization

        return quantization
    if name == "Graph":
        from xtc.graph import graph

        return graph
    if name == "Schedule":
        from xtc import schedule

        return schedule
    return None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
