# SPDX-License-Identifier: Apache-2.0
"""From the lowered module to an artefact: here, its text, its constants and the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.interfaces.artifact import MANIFEST_FILE, Artifact, Manifest, file_hash
from xtc.interfaces.target import BuildRequest

if TYPE_CHECKING:
    from xtc.core.mlir import Operation

CODE = "module.mlir"


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
        device_functions=(request.entry,),
        flops=0,  # nothing is computed, so no rate is reported
        files={name: file_hash(folder / name) for name in contents},
    )
    (folder / MANIFEST_FILE).write_text(manifest.to_json())
    return Artifact(manifest, folder)
