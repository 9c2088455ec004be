# SPDX-License-Identifier: Apache-2.0
"""What `import xtc` offers; the package imports it at the first use of a name."""

from xtc.core.errors import UserError, XtcError
from xtc.core.extensions import extend
from xtc.driver import Module, compile, devices, load
from xtc.graph.graph import Graph
from xtc.importers import from_onnx, from_torch, from_yaml, import_tflite
from xtc.quantization import quantize
from xtc.schedule import Schedule

__all__ = [
    "Graph",
    "Module",
    "Schedule",
    "UserError",
    "XtcError",
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
