# SPDX-License-Identifier: Apache-2.0
"""Generates PTX from the llvm dialect, by LLVM's back end in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtc.core.errors import CompileError
from xtc_targets.nvgpu.options import NvgpuOptions

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

_NAME = "device"
_ACQUIRES_MAP, _MAPS = "nvvm.fence.proxy.acquire", "ptx83"
"""An instruction, and the PTX version that introduced it ("PTX ISA", fence.proxy.tensormap)."""

_LONG, _LONG_LEVEL = 4000, 2
"""Lines of a module above which LLVM's third level takes seconds, and its level for those.

The third level takes quadratic time for guarded accesses, and generates the same PTX for them.
"""


def ptx(lowered: Operation, options: NvgpuOptions) -> str:
    """The PTX of a device module. Raises CompileError with the code generator's message."""
    from xtc.ir.mlir import MLIRError, Module, PassManager, gpu_object

    body = "\n".join(str(op) for op in lowered.regions[0].blocks[0].operations)
    with lowered.context:
        module = Module.parse(_gpu_module(body, options))
        manager = PassManager.parse("builtin.module(gpu-module-to-binary{format=isa})")
        try:
            manager.run(module.operation)
        except MLIRError as error:
            raise CompileError("PTX cannot be generated", notes=[str(error)]) from None
        (binary,) = module.body.operations
        return gpu_object(binary.operation).rstrip(b"\0").decode()


def _gpu_module(body: str, options: NvgpuOptions) -> str:
    machine = options.machine
    version = _MAPS if _ACQUIRES_MAP in body else machine.ptx
    level = min(options.opt_level, _LONG_LEVEL) if body.count("\n") > _LONG else options.opt_level
    target = f'#nvvm.target<O = {level}, chip = "{machine.arch}", features = "+{version}">'
    return f"""module attributes {{gpu.container_module}} {{
        gpu.module @{_NAME} [{target}] {{ {body} }} }}"""
