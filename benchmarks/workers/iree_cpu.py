# SPDX-License-Identifier: Apache-2.0
"""IREE for the processor: linalg on tensors, compiled for this machine with data tiling.

Without data tiling its matmuls are not blocked for the cache, which is several times slower at 1024
and above.
"""

from __future__ import annotations

from typing import Any

import iree.compiler
import iree.runtime
import ml_dtypes
import numpy as np

from .call import Array, Call, Workload, keeping
from .linalg_text import module_text

_FLAGS = ("--iree-llvmcpu-target-cpu=host", "--iree-opt-data-tiling=true")


def prepare(workload: Workload, arrays: list[Array], threads: int) -> Call:
    """The compiled module on arrays of its device."""
    code = iree.compiler.compile_str(
        module_text(workload, arrays), target_backends=["llvm-cpu"], extra_args=list(_FLAGS)
    )
    config = _config(threads)
    context = iree.runtime.SystemContext(config=config)
    context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, code))
    function = context.modules.module["bench"]
    inputs = [
        _device_array(config.device, array, workload["dtype"])
        for position, array in enumerate(arrays)
        if position not in workload["weights"]
    ]
    return keeping(lambda: function(*inputs), _array)


_configs: dict[int, Any] = {}


def _config(threads: int) -> Any:
    """One device for the whole process, which keeps its threads."""
    if threads not in _configs:
        if threads > 1:
            iree.runtime.flags.parse_flags(f"--task_topology_max_group_count={threads}")
        _configs[threads] = iree.runtime.Config("local-sync" if threads == 1 else "local-task")
    return _configs[threads]


def _device_array(device: Any, array: Array, dtype: str) -> Any:
    return iree.runtime.asdevicearray(device, array.astype(np.dtype(dtype)))


def _array(result: Any) -> Array:
    array = np.asarray(result)
    return array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array
