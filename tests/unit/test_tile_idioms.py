# SPDX-License-Identifier: Apache-2.0
"""Idioms of other languages are errors with line, caret and hint."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xtc.tile.values.errors import KernelError

KERNEL = """
from xtc import tile
from xtc.tile import float32, int32


class Kernel(tile.Script):
    def __call__(self, n: int32, x_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[16, 16])
        r = self.load_global(x, offsets=[0, 0], shape=[16, 16])
        {}
        self.store_global(x, r, offsets=[0, 0])
"""
LINE = 12

MISTAKES = [
    ("i = tl.program_id(0)", "'tl' is not defined here", "methods of the script"),
    ("i = self.program_id(0)", "has no attribute 'program_id'", "self.blockIdx.x"),
    ("i = self.threadIdx.x", "has no attribute 'threadIdx'", "self.single_thread()"),
    ("self.mma_dot(r, r, r)", "has no attribute 'mma_dot'", "self.dot(a, b, c)"),
    ("self.tma.fence_proxy_copy_async()", "is not supported", "self.fence.proxy_async()"),
    ("self.shared_tensor(dtype=int32, shape=[4])[0].item_ptr()", "item_ptr of", "s[i].item()"),
    ("self.syncthreads()", "has no attribute 'syncthreads'", "self.sync()"),
    ("r = self.load_globl(x)", "has no attribute 'load_globl'", "did you mean 'load_global'?"),
    ("r = self.zeros([16, 16])", "has no attribute 'zeros'", "self.register_tensor"),
    ("r = r.exp()", "has no attribute 'exp'", "self.exp(tile)"),
    ("r = __import__('numpy').exp(r)", "no callable exp method", "self.exp(tile)"),
    ("r = self.sum(r, axis=0)", "argument 'axis'", "it is called 'dim'"),
    ("r = self.load_global(x, mask=1)", "argument 'mask'", "read as 0, and not written"),
    ("r = r @ r", "a kernel has no operator MatMult", "self.dot(a, b)"),
    ("r = self.cast(r, dtype='float99')", "'float99' is not an element type", "tile.float16"),
    ("r = self.load_global(x, offsets=[0.5, 0], shape=[16, 16])", "0.5 is not an integer", ""),
    ("with open('/nowhere/x'): pass", "No such file", ""),
    ("return r", "a kernel returns nothing", "self.store_global"),
    ("raise ValueError", "a kernel has no 'raise'", "self.static_assert"),
    ("del r", "a kernel has no 'del'", "self.free_shared(s)"),
    ("import math", "a kernel has no 'import'", "at the top of the file"),
    ("def inner(): pass", "a kernel has no 'def'", "a method of the class"),
    ("class Inner: pass", "a kernel has no 'class'", "a subclass of tile.Class"),
    ("global count", "a kernel has no 'global'", "an attribute: self.count"),
    ("yield r", "a kernel has no 'yield'", "as a tuple"),
    ("print('r', r)", "print runs when the kernel is compiled", "self.print_tensor"),
    ("r = self.cast(r)", "cast: missing a required argument: 'dtype'", ""),
    ("r = self.register_tensor(float32, [16])", "too many positional arguments", ""),
    ("r = self.load_global(x, offset=[0, 0])", "no argument 'offset'", "'offsets', one for each"),
    ("r = self.max(r, keepdm=True)", "max takes no argument 'keepdm'", "'keepdim'"),
    ("r = self.cast(r, dtype='float32')", "'float32' is not an element type", "tile.float32"),
    ("r = r + 'x'", "'+' of a register tensor float32[16, 16] and 'x' is not possible", ""),
    ("r = (lambda i: i)(1, 2)", "a lambda of (i) gets 2 arguments", "an index for each"),
    ("r[0:4] = 1.0", "is indexed by a part of a dimension", "self.where changes a part"),
    ("x[0:4]", "is indexed by a part of a dimension", "global_view(~g[i])"),
    ("r += self.reshape(r, [1, 16, 16])", "cannot hold a register tensor", "x = x + y"),
    ("self.mbarrier.arive(1)", "'mbarrier.arive' is not supported", "did you mean 'arrive'?"),
    ("self.wgmma.fenc()", "'wgmma.fenc' is not supported", "did you mean 'fence'?"),
    ("self.cluster.snc()", "'cluster.snc' is not supported", "did you mean 'sync'?"),
    ("self.attrs.warp = 3", "attrs has no 'warp'", "blocks, warps"),
    ("n.items", "a run-time number has no attribute 'items'", "did you mean 'item'?"),
    ("r.shape = [256]", "an attribute of a register tensor float32[16, 16] cannot", "self.assign"),
    ("x.sizes.first = 1", "a global tensor has no attribute 'sizes'", ""),
    ("r = n[0]", "a run-time number is not subscriptable", ""),
    ("for i in range(0, n, 0): pass", "the step of range must not be 0", "-1 downwards"),
    ("r = self.load_shared(x)", "load_shared takes a shared tensor", "self.shared_tensor"),
    ("self.dot(r, r)", "dot needs acc_dtype=", "acc_dtype=float32"),
    ("self.dot(r, r, acc_dtype=int32)", "cannot be accumulated in int32", "acc_dtype=float32"),
    ("self.copy_async_wait_group(n)", "a constant number of groups", "unroll='all'"),
    ("self.sum(r, dim=7)", "does not have dimensions [7]", "from 0, and from -1 backwards"),
    ("self.reshape(r, [3, 3])", "cannot have shape [3, 3]", "the number of elements"),
    ("r = self.sum(x)", "takes a register tensor", "self.load_global(g"),
    ("y = x_ptrr", "'x_ptrr' is not defined here", "did you mean 'x_ptr'?"),
    ("self.load_global(x, [0, 0], [16, 16])", "too many positional", "offsets=, shape="),
    ("self.load_global(x, offsets=[0, 0])", "missing a required argument", "shape=..."),
    ("self.utils.cdiv(n)", "cdiv: missing a required argument: 'b'", "b=..."),
    ("self.sync(1)", "too many positional arguments", "it takes none"),
    ("r = sum(r)", "a register tensor is not iterable", "self.sum(x) reduces it"),
    ("n = len(r)", "a register tensor has no len()", "x.shape"),
    ("r = r.T", "has no attribute 'T'", "self.transpose(x)"),
    ("r = r.reshape(256)", "has no attribute 'reshape'", "self.reshape(tile)"),
    ("self.softmax(r)", "has no attribute 'softmax'", "self.max, self.exp and self.sum"),
    ("self.gelu_tanh(r)", "has no attribute 'gelu_tanh'", "write a method of this name"),
    ("self.atomic.add(x, r)", "'atomic.add' is not supported", "'global_add'"),
    ("n = self.blockIdx[0]", "is not subscriptable", "self.blockIdx.x"),
    ("r = tilus.exp(r)", "'tilus' is not defined here", "import xtc.tile as tilus"),
    ("p = x_ptr + 1.5", "'+' of a pointer to float32 and 1.5", "a number of elements"),
    ("r = r + None", "and None is not possible", "numbers and tiles are operands"),
    ("self.assume(n % 3)", "assume takes a condition, not a run-time int32", "n % 8 == 0"),
    ("self.assume('n > 0')", "assume takes a condition, not 'n > 0'", "compare numbers"),
    ("self.assign(r, 1.0)", "assign takes a register tensor, not 1.0", ""),
    ("self.view(r, layout=3)", "view takes a register layout, not 3", "tile.layout"),
    ("tile.layout.local(4, 4).reduced([5])", "[5] are not dimensions", "from 0"),
    ("z = {1: r}[n]", "there is no key a run-time int32", "constants"),
    ("z = f'{n:03d}'", "unsupported format string", "self.printf"),
    ("with self.thread_group(0, 64): self.sync()", "threads 0 to 63 of 32", "attrs.warps to 2"),
]


def kernel_with(line: str, folder: Path) -> Any:
    """A kernel with this statement."""
    path = folder / "foreign_idioms.py"
    path.write_text(KERNEL.format(line))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Kernel()


@pytest.mark.parametrize(("line", "what", "hint"), MISTAKES)
def test_errors_have_line_caret_and_hint(line: str, what: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(KernelError) as caught:
        kernel_with(line, tmp_path).check(4, np.ones((16, 16), np.float32))
    text = str(caught.value)
    first, *rest = text.splitlines()
    assert f"foreign_idioms.py:{LINE}:" in first
    assert what in first
    assert line in text
    assert any(each.strip() == "^" for each in rest)
    assert hint in " ".join(caught.value.hints)
