# SPDX-License-Identifier: Apache-2.0
"""From the lowered module to an artefact: here, its text, its constants and the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xtc.core.mlir import Operation, StringAttr
from xtc.interfaces.artifact import MANIFEST_FILE, Artifact, Manifest, file_hash
from xtc.interfaces.target import BuildRequest
from xtc_passes.outline_device_regions import DEVICE
from xtc_targets.null.description import CODE


def device_functions(lowered: Operation) -> tuple[str, ...]:
    """Names of the functions that run on a device."""
    functions = (op for op in lowered.regions[0].blocks[0].operations if DEVICE in op.attributes)
    return tuple(StringAttr(function.attributes["sym_name"]).value for function in functions)


def write_artifact(
    lowered: Operation, request: BuildRequest, toolchain: Mapping[str, str], folder: Path
) -> Artifact:
    """Write everything into `folder`, the manifest last: where it is, the rest is."""
    contents = {CODE: str(lowered).encode()}
    contents |= {f"{symbol}.bin": data for symbol, data in request.constants.items()}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    manifest = Manifest(
        entry=request.entry,
        target="null",
        arguments=request.arguments,
        toolchain=toolchain,
        device_functions=device_functions(lowered),
        flops=0,  # nothing is computed, so no rate is reported
        files={name: file_hash(folder / name) for name in contents},
    )
    (folder / MANIFEST_FILE).write_text(manifest.to_json())
    return Artifact(manifest, folder)
