# SPDX-License-Identifier: Apache-2.0
"""A program of CSL to what the simulator runs: a shared library, and tables about it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xtc.codegen.llvm import Machine, compile_ir, link_shared, linker_version
from xtc.core import knobs
from xtc.core.versions import toolchain_versions
from xtc.system.cache import cache_key, configured_cache
from xtc.system.workspace import private_folder
from xtc_targets.wse import image
from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.depth import deep_calls
from xtc_targets.wse.csl.errors import CslError
from xtc_targets.wse.description import DEFAULT, Architecture
from xtc_targets.wse.route_checks import check_circles
from xtc_targets.wse.sema import per_pe
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.builtins.library import SIGNATURES
from xtc_targets.wse.sema.declarations import ColorConfig, ExportName, LayoutDeclarations, Tile
from xtc_targets.wse.sema.program import Program
from xtc_targets.wse.sema.shared import SharedCode
from xtc_targets.wse.sema.tile import TileClass, compile_tile
from xtc_targets.wse.sema.values import Const, Value

LIBRARY, OUT_JSON, ABOUT = "program.so", "out.json", "xtc.json"
"""The files in an output folder."""


@dataclass(frozen=True)
class Request:
    """What `cslc` was asked for.

    Attributes:
        layout: the file with the layout.
        params, colors: values of its parameters, as texts.
        dims: width and height of the fabric; offsets: where the rectangle begins in it.
    """

    layout: Path
    output: Path
    arch: Architecture = DEFAULT
    params: Mapping[str, str] = field(default_factory=dict)
    colors: Mapping[str, str] = field(default_factory=dict)
    dims: tuple[int, int] | None = None
    offsets: tuple[int, int] | None = None
    memcpy: bool = False


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


def evaluate(request: Request) -> Compiled:
    """Everything up to LLVM IR. Raises CslError."""
    with deep_calls():
        program = Program(request.arch, SharedCode())
        program.layout = LayoutDeclarations()
        if request.dims is not None:
            x, y = request.offsets or (0, 0)
            program.largest = (request.dims[0] - x, request.dims[1] - y)
        program.open(request.layout, _given(request), None)
        program.run_blocks(tree.Layout)
        return _classes(program, program.layout)


def _given(request: Request) -> dict[str, Value]:
    given: dict[str, Value] = {}
    for name, text in request.params.items():
        given[name] = _parameter(name, text)
    for name, text in request.colors.items():
        value = _parameter(name, text)
        given[name] = Const(t.COLOR, value.value)
    return given


def _parameter(name: str, text: str) -> Const:
    if text in ("true", "false"):
        return Const(t.BOOL, text == "true")
    for kind, parse in (
        (t.COMPTIME_INT, lambda: int(text, 0)),
        (t.COMPTIME_FLOAT, lambda: float(text)),
    ):
        try:
            return Const(kind, parse())
        except ValueError:
            continue
    return Const(t.STRING, text)


def _classes(program: Program, declarations: LayoutDeclarations) -> Compiled:
    if not declarations.width:
        raise CslError("the layout sets no rectangle", hints=["@set_rectangle(width, height)"])
    as_data = per_pe.candidates(declarations.tiles.values())
    while True:
        try:
            return _with_data(program, declarations, as_data)
        except _NotAsDataError as error:  # what a class needs to know while compiling
            as_data = {**as_data, error.path: ()}


class _NotAsDataError(Exception):
    """The code of a file does not compile with parameters as data."""

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
    made = Compiled(
        program.arch, declarations, [], [], [], [], [], list(program.said), SharedCode()
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
                numbers[key] = len(made.classes)
                compiled = _class_of(program.arch, tile, names, (x, y), made.shared, size)
                made.classes.append(compiled)
                made.said += compiled.said
            which = made.classes[numbers[key]]
            made.class_of.append(numbers[key])
            made.values.append(_values(which, tile))
            colors = _colors(declarations, which, (x, y))
            routes = (image.routes_key(colors), numbers[key])
            if routes not in route_numbers:
                route_numbers[routes] = len(made.routes)
                made.routes.append(colors)
            made.routes_of.append(route_numbers[routes])
    _check_exports(made)
    check_circles(size, made.routes_of, all_routes(made))
    return made


def _class_of(
    arch: Architecture, tile: Tile, names: tuple[str, ...], pe: tuple[int, int],
    shared: SharedCode, size: tuple[int, int],
) -> TileClass:  # fmt: skip
    """Compile the class of a PE. Raises CslError, or _NotAsDataError where it has data."""
    try:
        return compile_tile(
            arch, tile.path, per_pe.class_params(tile, names), shared, size
        )[0]  # fmt: skip
    except CslError as error:
        if names:
            raise _NotAsDataError(tile.path) from None
        raise CslError(
            error.what,
            where=error.where or tile.at,
            notes=[*error.notes, f"in the code of PE {pe}, set at {tile.at}"],
            hints=error.hints,
        ) from None


def _values(made: TileClass, tile: Tile) -> list[int]:
    """What a PE has in its memory of its own, in the order of its class."""
    found = []
    for name, _, kind in made.per_pe:
        given = tile.params[name]
        assert isinstance(given, Const)  # noqa: S101  candidates are known integers
        if not kind.lowest <= given.value <= kind.highest:
            raise CslError(f"the parameter '{name}': {given.value} does not fit in {kind}",
                           where=tile.at)  # fmt: skip
        found.append(int(given.value))
    return found


def _colors(
    declarations: LayoutDeclarations, made: TileClass, pe: tuple[int, int]
) -> dict[int, ColorConfig]:
    """The colours of a PE: those that the layout and those that its own code configures."""
    found = {color: config for color, (config, _) in declarations.colors.get(pe, {}).items()}
    for color in made.declarations.colors:
        if color in found:
            raise CslError(
                f"colour {color} of PE {pe} is configured twice",
                where=made.declarations.colors[color][1],
                notes=[f"first in the layout, at {declarations.colors[pe][color][1]}"],
            )
    return found


def _check_exports(made: Compiled) -> None:
    """Symbols of tiles must be names of the layout, of the same type."""
    for each in made.classes:
        for name, export in each.declarations.exports.items():
            declared = made.layout.exports.get(name)
            if declared is None:
                raise CslError(
                    f"the symbol '{name}' is not declared in the layout",
                    where=export.at,
                    hints=[f'@export_name("{name}", ...) in the layout block'],
                )
            _check_export(each, name, declared)


def _check_export(made: TileClass, name: str, declared: ExportName) -> None:
    export = made.declarations.exports[name]
    if isinstance(declared.type, t.Fn) != (export.function is not None):
        raise CslError(f"'{name}' is no {declared.type}", where=export.at)
    if isinstance(declared.type, t.Fn):
        params = tuple(made.parameters[name])
        if params != declared.type.params:
            raise CslError(
                f"'{name}' is exported as {declared.type}",
                where=export.at,
                notes=[f"its parameters are ({', '.join(map(str, params))})"],
            )
        return
    if _target(export.type) != _target(declared.type):
        raise CslError(
            f"'{name}' is exported as {declared.type}, and is a {export.type}", where=export.at
        )


def _target(kind: t.Type) -> t.Type:
    if isinstance(kind, t.Pointer):
        kind = kind.element
    return kind.element if isinstance(kind, t.Array) else kind


def module_text(made: Compiled, request: Request) -> str:
    """The program as LLVM IR."""
    entries = [f"ptr @{name}" for each in made.classes for name in each.entries]
    x, y = request.offsets or (0, 0)
    width, height = request.dims or (made.layout.width + x, made.layout.height + y)
    words = image.tables(
        made.arch, (made.layout.width, made.layout.height), made.classes, made.class_of,
        made.values, made.routes_of, made.routes, list(made.layout.exports), (x, y, width, height),
    )  # fmt: skip
    table = ", ".join(f"i32 {word}" for word in words)
    declared = sorted({line for each in made.classes for line in each.declared})
    return "\n".join([
        *_RUNTIME, *SIGNATURES, *declared,
        *made.shared.texts,
        f"@wse_entries = internal constant [{max(1, len(entries))} x ptr] "
        f"[{', '.join(entries) or 'ptr null'}]",
        f"@wse_words = internal constant [{len(words)} x i32] [{table}]",
        "define void @wse_program(ptr %entries, ptr %words, ptr %count) {",
        "  store ptr @wse_entries, ptr %entries",
        "  store ptr @wse_words, ptr %words",
        f"  store i64 {len(words)}, ptr %count",
        "  ret void",
        "}",
        "",
    ])  # fmt: skip


_RUNTIME = (
    "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)",
    "declare void @wse_overrun(ptr)",
    "declare void @wse_assertion(ptr, i32)",
    "declare i16 @wse_register_read(ptr, i16)",
    "declare void @wse_register_write(ptr, i16, i16)",
    "declare i32 @wse_push(ptr, i32)",
    "declare void @wse_pop(ptr, i32)",
    *(f"declare void @wse_{name}(ptr, i16)" for name in ("activate", "block", "unblock",
                                                         "queue_flush")),
    *(f"declare i{bits} @wse_divisor_{bits}(ptr, i{bits})" for bits in (8, 16, 32, 64)),
    "declare void @wse_operate(ptr, i32, ptr, i32, ptr, i32)",
    "declare void @wse_load_dsr(ptr, i32, ptr, ptr)",
    "declare void @wse_map_begin(ptr, ptr, ptr, i32, i32, i64)",
    "declare i1 @wse_map_next(ptr, ptr, ptr)",
    "declare void @wse_map_store(ptr, ptr, ptr)",
)  # fmt: skip


def compile_program(request: Request) -> list[str]:
    """Write the output folder; returns what the program printed while compiling.

    Raises CslError.
    """
    made = evaluate(request)
    text = module_text(made, request)
    with private_folder("wse-") as name:
        folder = Path(name)
        _link(text, folder, request.layout.name)
        request.output.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / LIBRARY, request.output / LIBRARY)
    texts = {"params": dict(request.params), "colors": dict(request.colors)}
    (request.output / OUT_JSON).write_text(json.dumps(texts, indent=1))
    (request.output / ABOUT).write_text(json.dumps(_about(made, request)))
    return made.said


def _link(text: str, folder: Path, name: str) -> None:
    """Write the library of a module into `folder`, from the cache where it was made before."""
    machine = Machine.host()
    key = cache_key(
        {
            **toolchain_versions(),
            "what": "program of a wafer",
            "machine": repr(machine),
            "linker": linker_version(),
            "ir": hashlib.sha256(text.encode()).hexdigest(),
        }
    )
    cache = configured_cache() if knobs.CACHE.get() else None
    if cache is not None and cache.fetch(key, folder):
        return
    code = compile_ir(text, machine, opt=2, name=name)
    link_shared([code], folder / LIBRARY, machine)
    if cache is not None:
        cache.publish(key, folder)


def all_routes(made: Compiled) -> list[dict[int, ColorConfig]]:
    """The routes that the layout sets with those that the code of a class sets, by number."""
    found = []
    for number, routes in enumerate(made.routes):
        which = made.class_of[made.routes_of.index(number)]
        own = {
            color: config for color, (config, _) in made.classes[which].declarations.colors.items()
        }
        found.append({**own, **routes})
    return found


def _about(made: Compiled, request: Request) -> dict[str, object]:
    """What the host side must know."""
    exports = []
    for number, (name, export) in enumerate(made.layout.exports.items()):
        kind, entry = export.type, {"name": name, "id": number, "mutable": export.mutable}
        if isinstance(kind, t.Fn):
            entry["params"] = [str(each) for each in kind.params]
        else:
            target = _target(kind)
            entry["element"], entry["type"] = target.size, str(target)
        entry["classes"] = [
            index for index, each in enumerate(made.classes) if name in each.declarations.exports
        ]
        exports.append(entry)
    return {
        "arch": made.arch.name,
        "width": made.layout.width,
        "height": made.layout.height,
        "dims": request.dims,
        "offsets": request.offsets or (0, 0),
        "exports": exports,
        "class_of": made.class_of,
        "routes": [
            {color: config.positions for color, config in sorted(each.items())}
            for each in all_routes(made)
        ],
        "routes_of": made.routes_of,
        "keeps_memory": any(each.keeps_memory for each in made.classes),
        "traces": [each.traces for each in made.classes],
        "texts": [each.texts for each in made.classes],
        "symbols": [[list(symbol) for symbol in each.symbols] for each in made.classes],
    }
