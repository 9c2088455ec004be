# SPDX-License-Identifier: Apache-2.0
"""Built-in functions of `layout` blocks."""

from __future__ import annotations

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.builtins.table import builtin
from xtc_targets.wse.sema.builtins.types import fields_of
from xtc_targets.wse.sema.declarations import ExportName, LayoutDeclarations, Tile
from xtc_targets.wse.sema.evaluate import evaluate, integer_of, known, known_int, type_of
from xtc_targets.wse.sema.frame import Frame
from xtc_targets.wse.sema.module import locate
from xtc_targets.wse.sema.routes import color_config
from xtc_targets.wse.sema.values import VOID, Value, integer, struct_value


def _layout(frame: Frame, call: tree.Builtin) -> LayoutDeclarations:
    declarations = frame.program.layout
    if declarations is None or frame.code is not None:
        raise CslError(f"@{call.name} belongs in a layout block", where=call.at)
    return declarations


@builtin("set_rectangle", 2)
def _set_rectangle(frame: Frame, call: tree.Builtin) -> Value:
    declarations = _layout(frame, call)
    width, height = (known_int(frame, each, "the rectangle's size") for each in call.args)
    if declarations.width:
        raise CslError("@set_rectangle is called twice", where=call.at)
    if width < 1 or height < 1:
        raise CslError(f"a rectangle of {width} x {height} PEs", where=call.at)
    frame.program.check_rectangle(width, height, call.at)
    declarations.width, declarations.height = width, height
    return VOID


@builtin("get_rectangle", 0)
def _get_rectangle(frame: Frame, call: tree.Builtin) -> Value:
    width, height = frame.program.rectangle(call.at)
    environment = frame.program.shared.environment
    return struct_value(
        width=integer(width),
        height=integer(height),
        fabric=_size(environment.fabric or (width, height)),
        offsets=_size(environment.offsets),
    )


def _size(size: tuple[int, int]) -> Value:
    return struct_value(width=integer(size[0]), height=integer(size[1]))


def _pe(frame: Frame, call: tree.Builtin) -> tuple[int, int]:
    x, y = (known_int(frame, each, "a PE's coordinate") for each in call.args[:2])
    width, height = frame.program.rectangle(call.at)
    if not (0 <= x < width and 0 <= y < height):
        raise CslError(
            f"PE ({x}, {y}) is outside the rectangle of {width} x {height}", where=call.at
        )
    return x, y


@builtin("set_tile_code", 2, 4)
def _set_tile_code(frame: Frame, call: tree.Builtin) -> Value:
    declarations, pe = _layout(frame, call), _pe(frame, call)
    if pe in declarations.tiles:
        raise CslError(f"the code of PE {pe} is set twice", where=call.at)
    given: dict[str, Value] = {}
    if len(call.args) == 4:
        given = fields_of(evaluate(frame, call.args[3]), "a tile's parameters", call.at)
    path = frame.module.path
    if len(call.args) > 2:
        name = str(known(frame, call.args[2], "a file's name").value)
        path = locate(name, path, frame.program.shared.environment.import_paths, call.at)
    declarations.tiles[pe] = Tile(path, given, call.at)
    return VOID


@builtin("set_color_config", 4)
def _set_color_config(frame: Frame, call: tree.Builtin) -> Value:
    declarations, pe = _layout(frame, call), _pe(frame, call)
    color = integer_of(evaluate(frame, call.args[2]), "a color", call.at)
    config = color_config(evaluate(frame, call.args[3]), call.at)
    colors = declarations.colors.setdefault(pe, {})
    if color in colors:
        raise CslError(
            f"color {color} of PE {pe} is configured twice",
            where=call.at,
            notes=[f"first at {colors[color][1]}"],
        )
    colors[color] = (config, call.at)
    return VOID


@builtin("export_name", 2, 3)
def _export_name(frame: Frame, call: tree.Builtin) -> Value:
    declarations = _layout(frame, call)
    name = known(frame, call.args[0], "a symbol's name").value
    kind = type_of(frame, call.args[1])
    mutable = False
    if len(call.args) == 3:
        mutable = bool(known(frame, call.args[2], "whether a symbol is mutable").value)
    elif not isinstance(kind, t.Fn):
        raise CslError(
            f"@export_name of the variable '{name}' must say whether the host may write it",
            where=call.at,
            hints=[f'@export_name("{name}", {kind}, true)'],
        )
    if name in declarations.exports:
        raise CslError(f"the name '{name}' is exported twice", where=call.at)
    declarations.exports[name] = ExportName(kind, mutable, call.at)
    return VOID
