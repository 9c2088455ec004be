# SPDX-License-Identifier: Apache-2.0
"""What a compilation leaves behind: files or objects, and a manifest that says how to call them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from xtc.core.errors import ArtifactError

MANIFEST_FILE = "manifest.json"
FORMAT = 1


@dataclass(frozen=True)
class Argument:
    """One argument of the entry point: a dense, row-major array passed by its address.

    Attributes:
        name: the tensor's name.
        dtype: element type by name.
        shape: sizes.
        role: whether the function reads or writes it.
        device: name of the device on which the caller's buffer lives, None for the host.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: Literal["input", "output"]
    device: str | None = None


@dataclass(frozen=True)
class Manifest:
    """How to call an artefact, and what it was made with.

    Attributes:
        entry: the function `void entry(void *argument0, ...)`, arguments in order.
        target: name of the target that built it.
        arguments: inputs, then outputs.
        toolchain: versions and options that shaped the code.
        device_functions: kernels in the device part, empty for host code.
        flops: arithmetic operations of one call.
        files: SHA-256 of each file beside the manifest, by file name.
    """

    entry: str
    target: str
    arguments: tuple[Argument, ...]
    toolchain: Mapping[str, str]
    device_functions: tuple[str, ...] = ()
    flops: int = 0
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Arguments the function reads."""
        return tuple(argument for argument in self.arguments if argument.role == "input")

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Arguments the function writes."""
        return tuple(argument for argument in self.arguments if argument.role == "output")

    def to_json(self) -> str:
        """The manifest's text, the same for equal manifests."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, sort_keys=True) + "\n"

    @staticmethod
    def from_json(text: str, where: Path) -> Manifest:
        """Read what `to_json` wrote. Raises ArtifactError on anything else."""
        try:
            data: dict[str, Any] = json.loads(text)
            if data.pop("format") != FORMAT:
                raise ValueError("another format version")
            arguments = tuple(
                Argument(**{**argument, "shape": tuple(argument["shape"])})
                for argument in data.pop("arguments")
            )
            functions = tuple(data.pop("device_functions"))
            return Manifest(**data, arguments=arguments, device_functions=functions)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ArtifactError(f"the manifest cannot be read: {error}", where=where) from None


@dataclass(frozen=True)
class Artifact:
    """Compiled code: a folder of files with their manifest, or relocatable objects in memory."""

    manifest: Manifest
    folder: Path | None = None
    objects: tuple[bytes, ...] = ()

    def file(self, name: str) -> Path:
        """The path of a file of this artefact. Raises ArtifactError where it is not listed."""
        if self.folder is None or name not in self.manifest.files:
            raise ArtifactError(f"the artefact has no file '{name}'", where=self.folder)
        return self.folder / name

    @staticmethod
    def read(folder: Path) -> Artifact:
        """The artefact in `folder`, every file checked against its hash. Raises ArtifactError."""
        path = folder / MANIFEST_FILE
        try:
            manifest = Manifest.from_json(path.read_text(), path)
        except (OSError, UnicodeDecodeError) as error:
            raise ArtifactError(f"no artefact here: {error}", where=folder) from None
        for name, expected in manifest.files.items():
            if Path(name).name != name or file_hash(folder / name) != expected:
                raise ArtifactError(f"file '{name}' is not what the manifest says", where=folder)
        return Artifact(manifest, folder)


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes, "" where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
