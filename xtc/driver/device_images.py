# SPDX-License-Identifier: Apache-2.0
"""Builds the device part of an artifact: an image for each device, and its constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.core.errors import UserError
from xtc.driver.assignment import DeviceCode
from xtc.interfaces.artifact import Argument
from xtc.interfaces.offload import RESIDENTS, DeviceImage, Kernel, Offload, Resident
from xtc.interfaces.target import BuildRequest, kernel_symbol
from xtc.ir import attributes
from xtc.ir.packed_constants import all_contents, packed_origins
from xtc.ir.partition import device_module, symbol_of, top_level

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation


def build_devices(
    module: Operation,
    request: BuildRequest,
    devices: Mapping[str, DeviceCode],
    folder: Path | None,
) -> BuildRequest:
    """Build the code of every device into `folder`, and remove it from `module`.

    Returns the request for the program that remains. Raises UserError without a folder.
    """
    if folder is None:
        raise UserError(
            f"'{request.entry}' uses devices, whose code is loaded from files",
            hints=["compile without in_memory=True"],
        )
    images = {}
    for name, code, part in _separated(module, devices):
        file = code.target.build_image(part, code.options, folder, name)
        toolchain = code.target.toolchain(code.options)
        images[name] = DeviceImage(code.target.name, file, toolchain)
    residents = _write_residents(module, request, folder)
    named = zip(
        _texts(module, attributes.KERNELS), _texts(module, attributes.KERNEL_NODES), strict=True
    )
    kernels = tuple(
        Kernel(device, kernel_symbol(name), tuple(types), tuple(nodes))
        for (device, name, *types), nodes in named
    )
    read_here = _symbols(module) | packed_origins(module)
    moved = {resident.symbol for resident in residents} - read_here
    constants = {name: data for name, data in request.constants.items() if name not in moved}
    arguments = _with_shards(module, request)
    offload = Offload(images, kernels, residents)
    return replace(request, arguments=arguments, constants=constants, offload=offload)


def _with_shards(module: Operation, request: BuildRequest) -> tuple[Argument, ...]:
    """The entry's arguments with their sharding."""
    entry = next(op for op in top_level(module) if _is_named(op, request.entry))
    if "arg_attrs" not in entry.attributes:
        return request.arguments
    described = entry.attributes["arg_attrs"]
    shards = [
        argument[attributes.SHARDS].value if attributes.SHARDS in argument else 0
        for argument in described
    ]
    pairs = zip(request.arguments, shards, strict=True)
    return tuple(replace(argument, shards=number) for argument, number in pairs)


def _symbols(module: Operation) -> set[str]:
    """The symbols that the program declares."""
    return {symbol_of(op) for op in top_level(module) if "sym_name" in op.attributes}


def _is_named(op: Operation, name: str) -> bool:
    return "sym_name" in op.attributes and symbol_of(op) == name


def device_texts(module: Operation, devices: Mapping[str, DeviceCode]) -> Iterator[str]:
    """The code of every device as text, under its name; removed from `module`."""
    for name, code, part in tuple(_separated(module, devices)):
        yield f"\n# {name}\n{code.target.image_text(part, code.options)}"


def _separated(
    module: Operation, devices: Mapping[str, DeviceCode]
) -> Iterator[tuple[str, DeviceCode, Operation]]:
    for name, code in devices.items():
        part = device_module(module, name)
        if part is None:
            part = _empty_module(module)
        else:
            part.detach_from_parent()
        yield name, code, part


def _empty_module(module: Operation) -> Operation:
    """The code of a device that holds arguments but runs nothing."""
    from xtc.ir.mlir import Location, Module

    with module.context, Location.unknown():
        return Module.create().operation


def _write_residents(
    module: Operation, request: BuildRequest, folder: Path
) -> tuple[Resident, ...]:
    contents = all_contents(module, request.constants)
    found = _texts(module, attributes.RESIDENTS)
    data = [contents[symbol] for _, symbol, _ in found]
    if found:
        with (folder / RESIDENTS).open("wb") as file:
            file.writelines(data)
    return tuple(
        Resident(device, symbol, len(content), int(shard))
        for (device, symbol, shard), content in zip(found, data, strict=True)
    )


def _texts(module: Operation, attribute: str) -> list[list[str]]:
    return [[str(text.value) for text in texts] for texts in module.attributes[attribute]]
