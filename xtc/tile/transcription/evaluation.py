# SPDX-License-Identifier: Apache-2.0
"""Expressions of a kernel: constants are folded, others become operations."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import getattr_static
from types import FunctionType, MethodType
from typing import Any

from xtc.core.errors import UserError, close_match, did_you_mean
from xtc.ir.mlir import Location
from xtc.tile.classes import Class
from xtc.tile.instructions.block import Instructions
from xtc.tile.transcription.functions import (
    LocalFunction,
    is_definition,
    is_own,
    is_transcribed,
)
from xtc.tile.transcription.slots import Lost, Names, Unset
from xtc.tile.values import arithmetic
from xtc.tile.values.errors import Source, shown_at
from xtc.tile.values.host_constants import plain_number
from xtc.tile.values.idioms import argument_hints, call_hints, name_hints, of_python
from xtc.tile.values.ranges import Range
from xtc.tile.values.runtime import BINARY, Data, Memory, Pointer, RegisterTensor, Scalar
from xtc.tile.values.scalar_math import math_function

_SIGNS = dict(
    zip(
        "Add Sub Mult Div FloorDiv Mod Pow BitAnd BitOr BitXor LShift RShift".split(),
        "+ - * / // % ** & | ^ << >>".split(),
        strict=True,
    )
)


class Frame:
    """A function that is being transcribed: its names, its globals and its source."""

    def __init__(self, function: FunctionType, source: Source, names: Names) -> None:
        self.function, self.source, self.names = function, source, names
        self.is_own = is_own(function)
        self.read: set[tuple[str, int]] = set()  # names that were read, and their values
        self.returned: list[tuple[Any, Any]] | None = None  # values and their blocks, in a trial
        self.result: Any = None  # zeros like what a loop may return
        outer = inspect.getclosurevars(function)
        self.outer = {**vars(builtins), **function.__globals__, **outer.nonlocals}


class Expressions:
    """Evaluates expressions in the innermost frame."""

    frames: list[Frame]

    @property
    def frame(self) -> Frame:
        """The function that is being transcribed."""
        return self.frames[-1]

    def call_function(self, function: FunctionType, arguments: tuple[Any, ...], named: Any) -> Any:
        """Transcribe an external function at its call."""
        raise NotImplementedError

    def called(self, function: Any, given: Sequence[Any], made: Any) -> None:
        """Hook after the call of a function that is not transcribed."""
        raise NotImplementedError

    def require_going(self) -> None:
        """Raise UserError if a part of an expression may have ended the kernel."""
        raise NotImplementedError

    def evaluate(self, node: ast.expr) -> Any:
        """The value of an expression. Raises KernelError that quotes it."""
        with self.at(node):
            method: Callable[[Any], Any] | None = getattr(self, f"_{type(node).__name__}", None)
            if method is None:
                word, hints = of_python(node)
                raise UserError(f"'{word}' is not supported in a kernel", hints=hints)
            return plain_number(method(node))

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Locate the operations and errors of the block at this syntax node; those of methods that
        the language has are located at their call."""
        if self.frame.is_own:
            yield
            return
        source = self.frame.source
        where = source.location(node)
        with (
            shown_at(source, node),
            Location.file(where.file, where.line, where.column or 1, Location.current.context),
        ):
            yield

    def _Constant(self, node: ast.Constant) -> Any:  # noqa: N802
        return node.value

    def _Name(self, node: ast.Name) -> Any:  # noqa: N802
        names, outer = self.frame.names, self.frame.outer
        if node.id in names:
            found = names[node.id]
            if isinstance(found, Lost):
                raise UserError(
                    f"'{node.id}' is {found!r}",
                    hints=["use it there, or pass it on through shared memory"],
                )
            if isinstance(found, Unset):
                raise UserError(
                    f"'{node.id}' is set in only one run-time branch above",
                    hints=[f"give '{node.id}' a value before the branch or loop"],
                )
            self.frame.read.add((node.id, id(found)))
            return found
        if node.id in outer:
            return outer[node.id]
        known = [name for name in names if name.isidentifier()]
        hints = name_hints(node.id) or did_you_mean(node.id, known)[:1]
        raise UserError(f"'{node.id}' is not defined here", hints=hints)

    def _Tuple(self, node: ast.Tuple) -> Any:  # noqa: N802
        return tuple(self._elements(node.elts))

    def _List(self, node: ast.List) -> Any:  # noqa: N802
        return self._elements(node.elts)

    def _Set(self, node: ast.Set) -> Any:  # noqa: N802
        return set(self._elements(node.elts))

    def _Dict(self, node: ast.Dict) -> Any:  # noqa: N802
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            found = self.evaluate(value)
            result.update(found if key is None else {self.evaluate(key): found})
        return result

    def _elements(self, nodes: list[ast.expr]) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found.extend(self.evaluate(node.value))
            else:
                found.append(self.evaluate(node))
        return found

    def _BinOp(self, node: ast.BinOp) -> Any:  # noqa: N802
        name = type(node.op).__name__
        if name not in BINARY:
            raise UserError(
                "'@' is not supported in a kernel", hints=["self.dot(a, b) multiplies tiles"]
            )
        return computed(name, self.evaluate(node.left), self.evaluate(node.right))

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:  # noqa: N802
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            return arithmetic.unary("not", value) if isinstance(value, Data) else not value
        if isinstance(node.op, ast.USub):
            return -value
        return ~value if isinstance(node.op, ast.Invert) else value

    def _Compare(self, node: ast.Compare) -> Any:  # noqa: N802
        left, found = self.evaluate(node.left), None
        for operation, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node)
            result = _compared(operation, left, right)
            if found is None or not isinstance(found, Data):
                found = result if found is None or found else found
            elif isinstance(result, Data):
                found = arithmetic.binary("and", found, result)
            elif not result:
                found = result
            left = right
        return found

    def _Attribute(self, node: ast.Attribute) -> Any:  # noqa: N802
        owner = self.evaluate(node.value)
        getter = _getter(owner, node.attr)
        if getter is not None and self._is_transcribed(getter, (owner,), {}):
            return self.call_function(getter, (owner,), {})
        found = getattr(owner, node.attr)
        if isinstance(found, Unset):
            raise UserError(
                f"'{node.attr}' is {found!r}",
                hints=["set it in both branches, or before them; use it where it was set"],
            )
        return found

    def _Subscript(self, node: ast.Subscript) -> Any:  # noqa: N802
        return self.evaluate(node.value)[self.evaluate(node.slice)]

    def _Slice(self, node: ast.Slice) -> Any:  # noqa: N802
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.evaluate(part) for part in parts))

    def _JoinedStr(self, node: ast.JoinedStr) -> Any:  # noqa: N802
        return "".join(str(self.evaluate(part)) for part in node.values)

    def _FormattedValue(self, node: ast.FormattedValue) -> Any:  # noqa: N802
        value = self.evaluate(node.value)
        if isinstance(value, Data | Memory | Pointer):
            raise UserError(
                f"a string cannot contain {value!r}",
                notes=["strings are formatted when the kernel is compiled"],
                hints=['self.printf("%d", n) and self.print_tensor("t = ", t) print on the device'],
            )
        by_code: dict[int, Callable[[Any], str]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}
        how = by_code.get(node.conversion)
        spec = "" if node.format_spec is None else self.evaluate(node.format_spec)
        return format(value if how is None else how(value), spec)

    def _NamedExpr(self, node: ast.NamedExpr) -> Any:  # noqa: N802
        value = self.evaluate(node.value)
        self.bind(node.target, value)
        return value

    def _Lambda(self, node: ast.Lambda) -> Any:  # noqa: N802
        frame = self.frame
        names = [argument.arg for argument in node.args.args]
        given = node.args
        if given.vararg or given.kwarg or given.kwonlyargs:
            raise UserError(
                "a lambda of a kernel takes only positional arguments",
                hints=["lambda i, j: i + j"],
            )
        defaults = dict(
            zip(reversed(names), reversed(self._elements(given.defaults)), strict=False)
        )

        def function(*arguments: Any) -> Any:
            passed = {**defaults, **dict(zip(names, arguments, strict=False))}
            if len(arguments) > len(names) or len(passed) < len(names):
                raise UserError(
                    f"a lambda of ({', '.join(names)}) gets {len(arguments)} arguments",
                    hints=["init= has an index for each dimension of the tile"],
                )
            return self._in_scope(frame, {**frame.names, **passed}, node.body)

        return function

    def _in_scope(self, frame: Frame, names: Names, body: ast.expr) -> Any:
        self.frames.append(Frame(frame.function, frame.source, names))
        try:
            return self.evaluate(body)
        finally:
            self.frames.pop()

    def _ListComp(self, node: ast.ListComp) -> Any:  # noqa: N802
        return list(self._comprehended(node.generators, lambda: self.evaluate(node.elt)))

    def _SetComp(self, node: ast.SetComp) -> Any:  # noqa: N802
        return set(self._comprehended(node.generators, lambda: self.evaluate(node.elt)))

    def _GeneratorExp(self, node: ast.GeneratorExp) -> Any:  # noqa: N802
        return list(self._comprehended(node.generators, lambda: self.evaluate(node.elt)))

    def _DictComp(self, node: ast.DictComp) -> Any:  # noqa: N802
        pair = lambda: (self.evaluate(node.key), self.evaluate(node.value))  # noqa: E731
        return dict(self._comprehended(node.generators, pair))

    def _comprehended(
        self, generators: list[ast.comprehension], element: Callable[[], Any]
    ) -> Iterator[Any]:
        if not generators:
            yield element()
            return
        first, *rest = generators
        outer = dict(self.frame.names)
        for value in constant_items(self.evaluate(first.iter)):
            self.bind(first.target, value)
            if all(self.evaluate(condition) for condition in first.ifs):
                yield from self._comprehended(rest, element)
        for name in [n.id for n in ast.walk(first.target) if isinstance(n, ast.Name)]:
            if name in outer:
                self.frame.names[name] = outer[name]
            else:
                self.frame.names.pop(name, None)

    def bind(self, target: ast.expr, value: Any) -> None:
        """Bind a name, or several in a tuple, to a value."""
        raise NotImplementedError

    def _Call(self, node: ast.Call) -> Any:  # noqa: N802
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return super(self._class(), self.frame.names[self._self_name()])
        function = self.evaluate(node.func)
        arguments = tuple(self._elements(node.args))
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            named.update(value if keyword.arg is None else {keyword.arg: value})
        self.require_going()
        return self._called(function, arguments, named)

    def _called(self, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if isinstance(function, partial):
            named = {**function.keywords, **named}
            return self._called(function.func, (*function.args, *arguments), named)
        if isinstance(function, MethodType):
            inner: Any = function.__func__
            given = (function.__self__, *arguments)
            if is_user_method(function) or self._is_transcribed(inner, given, named):
                return self.call_function(inner, given, named)
        if self._is_transcribed(function, arguments, named):
            return self.call_function(function, arguments, named)
        if isinstance(function, type) and issubclass(function, Class):
            made = function.__new__(function)
            if isinstance(function.__init__, FunctionType):
                self.call_function(function.__init__, (made, *arguments), named)
            return made
        if function is divmod and any(isinstance(value, Data) for value in arguments):
            return tuple(computed(name, *arguments) for name in ("FloorDiv", "Mod"))
        if function in (min, max):
            values = arguments if len(arguments) > 1 else _listed(arguments)
            if any(isinstance(value, Data) for value in values):
                return _folded("min" if function is min else "max", values)
        if getattr(function, "__module__", "") == "math" and any(
            isinstance(value, Data) for value in arguments
        ):
            return math_function(function.__name__, arguments)
        if function is range:
            if named:
                raise UserError(
                    f"range takes no '{next(iter(named))}'", hints=["self.range takes unroll="]
                )
            return Range.of(*arguments)
        if function is print and any(isinstance(value, Data) for value in arguments):
            raise UserError(
                "print runs when the kernel is compiled, not on the device",
                hints=["self.printf for numbers, self.print_tensor for tensors"],
            )
        made = _result(function, arguments, named)
        self.called(function, [*arguments, *named.values()], made)
        given = (getattr(function, "__self__", None), *arguments)
        if isinstance(made, RegisterTensor) and any(made is each for each in given):
            return RegisterTensor(made.value, made.dtype, made.shape)  # not the operand itself
        return made

    def _is_transcribed(
        self, function: Any, arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> bool:
        """Whether a user's function besides the methods of kernels is transcribed."""
        return isinstance(function, FunctionType) and is_transcribed(
            function, [*arguments, *named.values()], type(self).knows
        )

    @classmethod
    def knows(cls, node: ast.AST) -> bool:
        """Whether a kernel may have this syntax."""
        if isinstance(node, ast.Starred):
            return True
        name = type(node).__name__
        kind = f"_{name}" if isinstance(node, ast.expr) else f"_{name.lower()}_statement"
        return hasattr(cls, kind)

    def _class(self) -> type:
        """The class that defines the function of the innermost frame."""
        cell = dict(
            zip(
                self.frame.function.__code__.co_freevars,
                self.frame.function.__closure__ or (),
                strict=True,
            )
        )
        found: type = cell["__class__"].cell_contents
        return found

    def _self_name(self) -> str:
        return self.frame.function.__code__.co_varnames[0]


def is_user_method(method: MethodType) -> bool:
    """Whether a method is the user's, of a kernel or a class of device objects."""
    is_users = isinstance(method.__self__, Instructions) and not is_own(method.__func__)
    return is_users and is_definition(method.__func__)


def _getter(owner: Any, name: str) -> FunctionType | None:
    """The function of a property of a kernel or a class of device objects."""
    found = getattr_static(type(owner), name, None) if isinstance(owner, Instructions) else None
    getter = found.fget if isinstance(found, property) else None
    return getter if isinstance(getter, FunctionType) else None


def bound_to(
    function: Callable[..., Any], arguments: Sequence[Any], named: dict[str, Any]
) -> inspect.BoundArguments:
    """The arguments of a call by name. Raises UserError that lists the function's parameters."""
    signature, name = inspect.signature(function), function.__name__
    known = [key for key in signature.parameters if key != "self"]
    try:
        return signature.bind(*arguments, **named)
    except TypeError as error:
        unknown = [key for key in named if key not in known]
        raise UserError(
            f"{name} takes no argument '{unknown[0]}'" if unknown else f"{name}: {error}",
            notes=[f"it is {name}{_shown(signature)}"],
            hints=[h for key in unknown for h in argument_hints(key) or close_match(key, known)]
            or call_hints(str(error), signature),
        ) from None


def _shown(signature: inspect.Signature) -> str:
    """The parameters of a method as in a call: without types and without self."""
    bare = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in signature.parameters.values()
        if p.name != "self"
    ]
    return str(inspect.Signature(bare))


def _result(function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Call a function that is not transcribed. Raises UserError for wrong arguments."""
    try:
        return function(*arguments, **named)
    except TypeError:
        if isinstance(function, MethodType | FunctionType | LocalFunction):
            bound_to(function, arguments, named)
        raise


def computed(operator: str, left: Any, right: Any) -> Any:
    """A Python operator on two values. Raises UserError if they do not support it."""
    try:
        return BINARY[operator](left, right)
    except TypeError:
        raise UserError(
            f"'{_SIGNS.get(operator, operator)}' of {left!r} and {right!r} is not possible",
            hints=[_operand_hint(left, right)],
        ) from None


def _operand_hint(*operands: Any) -> str:
    if any(isinstance(each, Pointer) for each in operands):
        return "a pointer takes '+' of a number of elements"
    if any(isinstance(each, Memory) for each in operands):
        return "load a tensor before computing with it: load_shared, load_global"
    return "numbers and tiles are operands: self.cast(x, dtype=...) converts them"


def constant_items(items: Any) -> list[Any]:
    """The items of a loop over constants. Raises UserError for run-time numbers."""
    if isinstance(items, Range) and not items.is_known:
        raise UserError(
            "a comprehension runs over constants",
            hints=["use a loop, or a register tensor for run-time values"],
        )
    if isinstance(items, Data):
        raise UserError(f"{items!r} cannot be iterated over", hints=["a range, a list or a tuple"])
    return list(items)


def _listed(arguments: Sequence[Any]) -> Sequence[Any]:
    """The elements of the only argument. Raises UserError for a tile or a run-time number."""
    (only,) = arguments or ((),)
    if isinstance(only, Data):
        raise UserError(
            f"Python's min and max take several values, not {only!r}",
            hints=["self.max(tile) and self.min(tile) reduce a tile"],
        )
    return only if isinstance(only, list | tuple) else ()


def _folded(name: str, arguments: Sequence[Any]) -> Any:
    take = partial(arithmetic.binary, name)
    found = arguments[0]
    for value in arguments[1:]:
        found = take(found, value)
    return found


def _compared(operation: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(operation, ast.In):
        return left in right
    if isinstance(operation, ast.NotIn):
        return left not in right
    if isinstance(operation, ast.Is):
        return left is right
    if isinstance(operation, ast.IsNot):
        return left is not right
    return BINARY[type(operation).__name__](left, right)


__all__ = ["Expressions", "Frame", "Scalar", "constant_items", "is_user_method"]
