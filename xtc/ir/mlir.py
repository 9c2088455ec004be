# SPDX-License-Identifier: Apache-2.0
"""The only module that imports MLIR's core bindings, so that they can be replaced in one place.

Import this module inside functions: the bindings take a tenth of a second to load, which building
or printing a graph does not need.
"""

from xtc.ir.interrupts import delayed_interrupts

with delayed_interrupts():  # an interrupt during the load of native code would end the process
    import mlir._mlir_libs._mlirDialectsLinalg
    import mlir._mlir_libs._mlirTransformInterpreter
    import mlir.ir
    import mlir.passmanager  # noqa: F401

from mlir._mlir_libs._mlirDialectsLinalg import (
    get_indexing_maps,
    infer_contraction_dimensions_from_maps,
    infer_convolution_dimensions,
)
from mlir.dialects import affine, arith, bufferization, cf, func, memref, scf, tensor, ub, vector
from mlir.ir import (
    AffineAddExpr,
    AffineCeilDivExpr,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineFloorDivExpr,
    AffineMap,
    AffineMapAttr,
    AffineMulExpr,
    AffineSymbolExpr,
    ArrayAttr,
    Attribute,
    BF16Type,
    Block,
    BlockArgument,
    BoolAttr,
    Context,
    DenseElementsAttr,
    DenseFPElementsAttr,
    DenseI32ArrayAttr,
    DenseI64ArrayAttr,
    DenseIntElementsAttr,
    DictAttr,
    F16Type,
    F32Type,
    F64Type,
    FlatSymbolRefAttr,
    FloatAttr,
    FloatType,
    FunctionType,
    IndexType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Location,
    MemRefType,
    MLIRError,
    Module,
    NamedAttribute,
    Operation,
    OpResult,
    OpView,
    RankedTensorType,
    ShapedType,
    StridedLayoutAttr,
    StringAttr,
    Type,
    TypeAttr,
    UnitAttr,
    Value,
    VectorType,
    WalkOrder,
    WalkResult,
)
from mlir.passmanager import PassManager

__all__ = [
    "AffineAddExpr",
    "AffineCeilDivExpr",
    "AffineConstantExpr",
    "AffineDimExpr",
    "AffineExpr",
    "AffineFloorDivExpr",
    "AffineMap",
    "AffineMapAttr",
    "AffineMulExpr",
    "AffineSymbolExpr",
    "ArrayAttr",
    "Attribute",
    "BF16Type",
    "Block",
    "BlockArgument",
    "BoolAttr",
    "Context",
    "DenseElementsAttr",
    "DenseFPElementsAttr",
    "DenseI32ArrayAttr",
    "DenseI64ArrayAttr",
    "DenseIntElementsAttr",
    "DictAttr",
    "F16Type",
    "F32Type",
    "F64Type",
    "FlatSymbolRefAttr",
    "FloatAttr",
    "FloatType",
    "FunctionType",
    "IndexType",
    "InsertionPoint",
    "IntegerAttr",
    "IntegerType",
    "Location",
    "MLIRError",
    "MemRefType",
    "Module",
    "NamedAttribute",
    "OpResult",
    "OpView",
    "Operation",
    "PassManager",
    "RankedTensorType",
    "ShapedType",
    "StridedLayoutAttr",
    "StringAttr",
    "Type",
    "TypeAttr",
    "UnitAttr",
    "Value",
    "VectorType",
    "WalkOrder",
    "WalkResult",
    "affine",
    "all_operations",
    "apply_named_sequence",
    "arith",
    "bufferization",
    "capturing_operations",
    "cf",
    "copied",
    "func",
    "get_indexing_maps",
    "gpu_object",
    "infer_contraction_dimensions_from_maps",
    "infer_convolution_dimensions",
    "memref",
    "outer_operations",
    "scf",
    "single_threaded_context",
    "tensor",
    "ub",
    "vector",
]


_CLOSED = (
    "linalg.batch_matmul",
    "linalg.broadcast",
    "linalg.conv_",
    "linalg.copy",
    "linalg.depthwise_conv_",
    "linalg.matmul",
    "linalg.pooling_",
    "linalg.transpose",
)
"""How linalg operations begin whose bodies use their arguments alone. Others have bodies of users,
or a constant in them, which canonicalization moves out."""

_CHECKED = 256
"""The largest script, in operations, for which the interpreter checks the use of handles."""


def single_threaded_context() -> Context:
    """A context without threads, for processes that fork and for their children."""
    context = Context()
    context.enable_multithreading(False)
    return context


def all_operations(op: Operation, order: WalkOrder = WalkOrder.PRE_ORDER) -> list[Operation]:
    """`op` and all its nested operations, by default in textual order.

    Interrupts are delayed during the walk: the bindings turn an exception in a callback into a
    RuntimeError.
    """
    if not len(op.regions):
        return [op.operation]
    found: list[Operation] = []
    add, advance = found.append, WalkResult.ADVANCE

    def visit(inner: Operation) -> WalkResult:
        add(inner)
        return advance

    with delayed_interrupts():
        op.walk(visit, order)
    return found


def outer_operations(op: Operation) -> list[Operation]:
    """`op` and its nested operations outside linalg bodies, in textual order.

    Linalg bodies have most operations of a network before bufferization, and few passes need them.
    """
    found: list[Operation] = []
    add, advance, skip = found.append, WalkResult.ADVANCE, WalkResult.SKIP

    def visit(inner: Operation) -> WalkResult:
        add(inner)
        return skip if inner.name.startswith("linalg.") else advance

    with delayed_interrupts():
        op.walk(visit, WalkOrder.PRE_ORDER)
    return found


def capturing_operations(op: Operation) -> list[Operation]:
    """The same as `all_operations`, without those in bodies that use no values from outside.

    These are the bodies of named linalg operations, such as a matmul.
    """
    found: list[Operation] = []
    add, advance, skip = found.append, WalkResult.ADVANCE, WalkResult.SKIP

    def visit(inner: Operation) -> WalkResult:
        add(inner)
        return skip if inner.name.startswith(_CLOSED) else advance

    with delayed_interrupts():
        op.walk(visit, WalkOrder.PRE_ORDER)
    return found


def copied(module: Operation) -> Operation:
    """A copy of the module, with its locations, that transforms can be applied to.

    The bindings lose the interpreter's changes to a `clone()`. The copy uses the generic form, as
    the parser of `nvvm.barrier` takes the location after it for an attribute.
    """
    text = module.get_asm(enable_debug_info=True, print_generic_op_form=True)
    return Module.parse(text, module.context).operation


def gpu_object(binary: Operation) -> bytes:
    """The code of a `gpu.binary` with a single object."""
    from mlir.dialects.gpu import ObjectAttr

    (found,) = ArrayAttr(binary.attributes["objects"])
    code: bytes = ObjectAttr(found).object
    return code


def apply_named_sequence(root: Operation, script: Operation) -> None:
    """Apply the first named sequence of a script to `root`. Raises ValueError if it fails."""
    from mlir.dialects.transform import interpreter

    sequence = script.regions[0].blocks[0].operations[0]
    options = interpreter.TransformOptions()
    # The checks compare each consumed handle with all others.
    options.expensive_checks = len(sequence.regions[0].blocks[0].operations) <= _CHECKED
    interpreter.apply_named_sequence(root, sequence, script, options)
