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

from xtc.core.errors import UserError, XtcError
from xtc.core.extensions import extend
from xtc.core.versions import VERSION
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
