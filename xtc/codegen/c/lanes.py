# SPDX-License-Identifier: Apache-2.0
"""Differences between scalars and vectors in C: half floats, masks and splats."""

from __future__ import annotations

from dataclasses import replace

from xtc.codegen.c.expression import Expression, call, cast, unary, with_mask
from xtc.codegen.c.prelude import Prelude
from xtc.codegen.c.types import CType


def splat(prelude: Prelude, scalar: Expression, type: CType) -> Expression:
    """A splat of a scalar."""
    if type.element == "i1":
        return replace(scalar, scalar=scalar)  # a mask once its width is known
    return replace(call(prelude.splat(type), scalar), scalar=scalar)


def without_splats(a: Expression, b: Expression) -> tuple[Expression, Expression]:
    """The operands of an operator, a splat beside a vector as its scalar, which C broadcasts."""
    if a.scalar is not None and b.scalar is None:
        return a.scalar, b
    if b.scalar is not None and a.scalar is None:
        return a, b.scalar
    return a, b


def converted(prelude: Prelude, a: Expression, type: CType) -> Expression:
    """A value converted to another type, lane by lane, by the rules of C."""
    name = prelude.type(type)
    if not type.lanes:
        return cast(name, a)
    if a.scalar is not None:
        return splat(prelude, cast(type.scalar.name, a.scalar), type)
    return call("__builtin_convertvector", a, Expression(name))


def computed(type: CType) -> CType:
    """The type in which C computes: float for half floats."""
    return type.with_element("f32") if type.is_half else type


def widened(prelude: Prelude, a: Expression, type: CType) -> Expression:
    """A value of `type` in the type in which C computes."""
    if not type.is_half:
        return a
    if type.element == "f16":
        return converted(prelude, a, computed(type))
    if type.lanes and a.scalar is not None:
        return splat(prelude, widened(prelude, a.scalar, type.scalar), computed(type))
    return call(prelude.float_of_bf16(type.lanes), a)


def narrowed(prelude: Prelude, a: Expression, type: CType) -> Expression:
    """A computed value rounded to `type`."""
    if not type.is_half:
        return a
    if type.element == "f16":
        return converted(prelude, a, type)
    return call(prelude.bf16_of_float(type.lanes), a)


def mask(prelude: Prelude, a: Expression, type: CType) -> Expression:
    """A mask as a vector of integers of `type`, -1 for true."""
    name = prelude.type(type)
    if a.scalar is not None:
        truth = unary("-", cast(type.scalar.name, a.scalar))
        return with_mask(call(prelude.splat(type), truth), type.bits)
    if a.mask_bits == type.bits:
        return a
    return with_mask(call("__builtin_convertvector", a, Expression(name)), type.bits)
