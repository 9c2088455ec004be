# SPDX-License-Identifier: Apache-2.0
"""The tile classes of a rectangle: PEs that share code, and the values that differ per PE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from xtc_targets.wse import image
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.description import Architecture
from xtc_targets.wse.route_checks import check_cycles
from xtc_targets.wse.sema import per_pe
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.declarations import ColorConfig, ExportName, LayoutDeclarations, Tile
from xtc_targets.wse.sema.program import Program
from xtc_targets.wse.sema.shared import SharedCode
from xtc_targets.wse.sema.tile import TileClass, compile_tile
from xtc_targets.wse.sema.values import Const


@dataclass
class Compiled:
    """A program with all of its classes, before code generation."""

    arch: Architecture
    layout: LayoutDeclarations
    classes: list[TileClass]
    class_of: list[int]
    values: list[list[int]]
    routes: list[dict[int, ColorConfig]]
    routes_of: list[int]
    said: list[str]
    shared: SharedCode


def classes_of_layout(program: Program, declarations: LayoutDeclarations) -> Compiled:
    """Compile the code of all PEs, each class once. Raises CslError."""
    if not declarations.width:
        raise CslError(
            "the layout does not set a rectangle", hints=["@set_rectangle(width, height)"]
        )
    as_data = per_pe.candidates(declarations.tiles.values())
    while True:
        try:
            return _with_data(program, declarations, as_data)
        except _NotAsDataError as error:  # parameters that a class needs at compile time
            as_data = {**as_data, error.path: ()}


class _NotAsDataError(Exception):
    """The code of a file cannot be compiled with parameters as data."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


def _with_data(
    program: Program, declarations: LayoutDeclarations, as_data: Mapping[Path, tuple[str, ...]]
) -> Compiled:
    """All classes, with the named parameters of files in the memory of PEs."""
    numbers: dict[object, int] = {}
    route_numbers: dict[object, int] = {}
    size = (declarations.width, declarations.height)
    compiled = Compiled(
        program.arch,
        declarations,
        [],
        [],
        [],
        [],
        [],
        list(program.said),
        SharedCode(program.shared.environment, tuple(declarations.exports)),
    )
    for y in range(declarations.height):
        for x in range(declarations.width):
            tile = declarations.tiles.get((x, y))
            if tile is None:
                raise CslError(
                    f"PE ({x}, {y}) has no code", hints=[f"@set_tile_code({x}, {y}, ...)"]
                )
            names = as_data.get(tile.path, ())
            key = per_pe.class_key(tile, names)
            if key not in numbers:
                numbers[key] = len(compiled.classes)
                tile_class = _class_of(program.arch, tile, names, (x, y), compiled.shared, size)
                compiled.classes.append(tile_class)
                compiled.said += tile_class.said
            which = compiled.classes[numbers[key]]
            compiled.class_of.append(numbers[key])
            compiled.values.append(_values(which, tile))
            colors = _colors(declarations, which, (x, y))
            routes = (image.routes_key(colors), numbers[key])
            if routes not in route_numbers:
                route_numbers[routes] = len(compiled.routes)
                compiled.routes.append(colors)
            compiled.routes_of.append(route_numbers[routes])
    _check_exports(compiled)
    check_cycles(size, compiled.routes_of, all_routes(compiled))
    return compiled


def _class_of(
    arch: Architecture, tile: Tile, names: tuple[str, ...], pe: tuple[int, int],
    shared: SharedCode, size: tuple[int, int],
) -> TileClass:  # fmt: skip
    """Compile the class of a PE. Raises CslError, or _NotAsDataError if it has data parameters."""
    try:
        return compile_tile(
            arch, tile.path, per_pe.class_params(tile, names), shared, size
        )[0]  # fmt: skip
    except CslError as error:
        if names:
            raise _NotAsDataError(tile.path) from None
        raise type(error)(
            error.what,
            where=error.where or tile.at,
            notes=[*error.notes, f"in the code of PE {pe}, set at {tile.at}"],
            hints=error.hints,
        ) from None


def _values(tile_class: TileClass, tile: Tile) -> list[int]:
    """The values that differ per PE, in the order of its class."""
    found = []
    for name, _, kind in tile_class.per_pe:
        given = tile.params[name]
        assert isinstance(given, Const)  # noqa: S101  candidates are known integers
        if not kind.lowest <= given.value <= kind.highest:
            raise CslError(f"the parameter '{name}': {given.value} does not fit in {kind}",
                           where=tile.at)  # fmt: skip
        found.append(int(given.value))
    return found


def _colors(
    declarations: LayoutDeclarations, tile_class: TileClass, pe: tuple[int, int]
) -> dict[int, ColorConfig]:
    """The colors of a PE that the layout or its code configures."""
    found = {color: config for color, (config, _) in declarations.colors.get(pe, {}).items()}
    for color in tile_class.declarations.colors:
        if color in found:
            raise CslError(
                f"color {color} of PE {pe} is configured twice",
                where=tile_class.declarations.colors[color][1],
                notes=[f"first in the layout, at {declarations.colors[pe][color][1]}"],
            )
    return found


def _check_exports(compiled: Compiled) -> None:
    """Raise CslError unless the tiles' symbols are declared in the layout with the same types."""
    for each in compiled.classes:
        for name, export in each.declarations.exports.items():
            declared = compiled.layout.exports.get(name)
            if declared is None:
                raise CslError(
                    f"the symbol '{name}' is not declared in the layout",
                    where=export.at,
                    hints=[f'@export_name("{name}", ...) in the layout block'],
                )
            _check_export(each, name, declared)


def _check_export(tile_class: TileClass, name: str, declared: ExportName) -> None:
    export = tile_class.declarations.exports[name]
    if isinstance(declared.type, t.Fn) != (export.function is not None):
        raise CslError(f"'{name}' is not of type {declared.type}", where=export.at)
    if isinstance(declared.type, t.Fn):
        params = tuple(tile_class.parameters[name])
        if params != declared.type.params:
            raise CslError(
                f"'{name}' is exported as {declared.type}",
                where=export.at,
                notes=[f"its parameters are ({', '.join(map(str, params))})"],
            )
        return
    if exported_type(export.type) != exported_type(declared.type):
        raise CslError(
            f"'{name}' is exported as {declared.type}, but is a {export.type}", where=export.at
        )


def exported_type(kind: t.Type) -> t.Type:
    """The element type of a symbol's data."""
    if isinstance(kind, t.Pointer):
        kind = kind.element
    return kind.element if isinstance(kind, t.Array) else kind


def all_routes(compiled: Compiled) -> list[dict[int, ColorConfig]]:
    """The routes of each PE, from the layout and from the code of its class."""
    found = []
    for number, routes in enumerate(compiled.routes):
        which = compiled.class_of[compiled.routes_of.index(number)]
        own = {
            color: config
            for color, (config, _) in compiled.classes[which].declarations.colors.items()
        }
        found.append({**own, **routes})
    return found
