# SPDX-License-Identifier: Apache-2.0
"""Passes IR that no operator emits to the C generator, and prints its answer."""

from collections.abc import Mapping

from xtc.core import discover
from xtc.core.errors import CompileError
from xtc.interfaces.target import BuildRequest
from xtc.ir import mlir


def refused(arguments: Mapping[str, str], body: str, before: str = "") -> None:
    """Print the error that a function with these arguments and this body leads to.

    Args:
        arguments: MLIR types by name.
        body: the operations, in MLIR; %c0, %c1 and %c4 are indices.
        before: what stands before the function.
    """
    listed = ", ".join(f"%{name}: {type}" for name, type in arguments.items())
    indices = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 4))
    text = f"{before}\nfunc.func @f({listed}) {{\n{indices}\n{body}\nreturn\n}}"
    host = discover.target("host")
    options = host.options(codegen="c")
    with mlir.Context():
        module = mlir.Module.parse(text)
        try:
            print(host.code(module.operation, BuildRequest("f", (), {}, 0), options))
        except CompileError as error:
            print(error)
