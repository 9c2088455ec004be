# SPDX-License-Identifier: Apache-2.0
"""Compiles CSL programs for the simulator, into a shared library and tables."""

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
from xtc_targets.wse.description import DEFAULT, Architecture
from xtc_targets.wse.output import LIBRARY, OUT_JSON, write_about
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.builtins.library import SIGNATURES
from xtc_targets.wse.sema.declarations import LayoutDeclarations
from xtc_targets.wse.sema.program import Program
from xtc_targets.wse.sema.shared import Environment, SharedCode
from xtc_targets.wse.sema.values import Const, Value
from xtc_targets.wse.tile_classes import Compiled, all_routes, classes_of_layout, exported_type


@dataclass(frozen=True)
class Request:
    """A request to `cslc`.

    Attributes:
        layout: the file with the layout.
        params, colors: values of its parameters, as text.
        dims: width and height of the fabric; offsets: the position of the rectangle in it.
        import_paths: additional folders of modules.
    """

    layout: Path
    output: Path
    arch: Architecture = DEFAULT
    params: Mapping[str, str] = field(default_factory=dict)
    colors: Mapping[str, str] = field(default_factory=dict)
    dims: tuple[int, int] | None = None
    offsets: tuple[int, int] | None = None
    memcpy: bool = False
    import_paths: tuple[Path, ...] = ()


def evaluate(request: Request) -> Compiled:
    """Evaluate a program and generate its LLVM IR. Raises CslError."""
    with deep_calls():
        offsets = request.offsets or (0, 0)
        environment = Environment(request.import_paths, request.dims, offsets)
        program = Program(request.arch, SharedCode(environment))
        program.layout = LayoutDeclarations()
        if request.dims is not None:
            width, height = request.dims
            program.largest = (width - offsets[0], height - offsets[1])
        program.open(request.layout, _given(request), None)
        program.run_blocks(tree.Layout)
        return classes_of_layout(program, program.layout)


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


def module_text(compiled: Compiled, request: Request) -> str:
    """The program as LLVM IR."""
    entries = [f"ptr @{name}" for each in compiled.classes for name in each.entries]
    x, y = request.offsets or (0, 0)
    width, height = request.dims or (compiled.layout.width + x, compiled.layout.height + y)
    words = image.tables(
        compiled.arch, (compiled.layout.width, compiled.layout.height), compiled.classes,
        compiled.class_of, compiled.values, compiled.routes_of, compiled.routes,
        list(compiled.layout.exports), (x, y, width, height),
    )  # fmt: skip
    table = ", ".join(f"i32 {word}" for word in words)
    declared = sorted({line for each in compiled.classes for line in each.declared})
    return "\n".join([
        *_RUNTIME, *SIGNATURES, *declared,
        *compiled.shared.texts,
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
                                                         "queue_flush", "set_active_prng")),
    "declare i16 @wse_random16(ptr)",
    *(f"declare i{bits} @wse_divisor_{bits}(ptr, i{bits})" for bits in (8, 16, 32, 64)),
    "declare i1 @wse_operate(ptr, i32, ptr, i32, ptr, i32)",
    "declare void @wse_set_dsr(ptr, i32, i16, i16)",
    "declare void @wse_set_fifo_length(ptr, i32, i16, i1)",
    "declare void @wse_load_dsr(ptr, i32, ptr, ptr)",
    "declare void @wse_map_begin(ptr, ptr, ptr, i32, i32, i64)",
    "declare i1 @wse_map_next(ptr, ptr, ptr)",
    "declare void @wse_map_store(ptr, ptr, ptr)",
)  # fmt: skip


def compile_program(request: Request) -> list[str]:
    """Write the output folder; return the compile-time output of the program.

    Raises CslError.
    """
    compiled = evaluate(request)
    text = module_text(compiled, request)
    with private_folder("wse-") as name:
        folder = Path(name)
        _link(text, folder, request.layout.name)
        request.output.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / LIBRARY, request.output / LIBRARY)
    texts = {"params": dict(request.params), "colors": dict(request.colors)}
    (request.output / OUT_JSON).write_text(json.dumps(texts, indent=1))
    write_about(request.output, _about(compiled, request))
    return compiled.said


def _link(text: str, folder: Path, name: str) -> None:
    """Write the library of a module into `folder`, from the compiler or the cache."""
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


def _about(compiled: Compiled, request: Request) -> dict[str, object]:
    """The description of the program for the host side."""
    exports = []
    for number, (name, export) in enumerate(compiled.layout.exports.items()):
        kind, entry = export.type, {"name": name, "id": number, "mutable": export.mutable}
        if isinstance(kind, t.Fn):
            entry["params"] = [str(each) for each in kind.params]
        else:
            target = exported_type(kind)
            entry["element"], entry["type"] = target.size, str(target)
        entry["classes"] = [
            index
            for index, each in enumerate(compiled.classes)
            if name in each.declarations.exports
        ]
        exports.append(entry)
    return {
        "arch": compiled.arch.name,
        "width": compiled.layout.width,
        "height": compiled.layout.height,
        "dims": request.dims,
        "offsets": request.offsets or (0, 0),
        "exports": exports,
        "class_of": compiled.class_of,
        "routes": [
            {color: config.positions for color, config in sorted(each.items())}
            for each in all_routes(compiled)
        ],
        "routes_of": compiled.routes_of,
        "keeps_memory": any(each.keeps_memory for each in compiled.classes),
        "traces": [each.traces for each in compiled.classes],
        "texts": [each.texts for each in compiled.classes],
        "symbols": [[list(symbol) for symbol in each.symbols] for each in compiled.classes],
    }
