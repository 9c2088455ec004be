# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels in the artifact cache, which later processes reuse."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from xtc.core import knobs
from xtc.driver.cached import CompilationKey, are_own, key_of_code
from xtc.system.cache import NoCanonicalFormError, NoFingerprintError, configured_cache
from xtc.system.workspace import private_folder
from xtc.tile.launch.code import Compiler

_log = logging.getLogger(__name__)

Files = Mapping[str, bytes]


def key_of(compiler: Compiler, parts: Mapping[str, str]) -> CompilationKey | None:
    """The key of the code compiled from `parts`; None if it must not be cached."""
    if not knobs.CACHE.get():
        return None
    target, options = compiler.target, compiler.options
    pipeline = None if are_own([target, options]) else compiler.pipeline
    try:
        return key_of_code(target, options, pipeline, parts)
    except (NoCanonicalFormError, NoFingerprintError) as error:
        _log.info("compiling tile kernels without the cache: %s", error)
        return None


def found(key: CompilationKey | None) -> Files | None:
    """The verified files under a key of the cache."""
    if key is None:
        return None
    with private_folder("tile-") as name:
        if not configured_cache().fetch(key.text, Path(name)):
            return None
        return {path.name: path.read_bytes() for path in Path(name).iterdir()}


def keep(key: CompilationKey | None, files: Files) -> None:
    """Store files under a key, unless the compiler has changed since the key was computed."""
    if key is None or not key.code.unchanged():
        return
    with private_folder("tile-") as name:
        for file, content in files.items():
            (Path(name) / file).write_bytes(content)
        configured_cache().publish(key.text, Path(name))


def found_or_made(key: CompilationKey | None, make: Callable[[], Files]) -> tuple[Files, bool]:
    """Files under a key, and whether they come from the cache; `make` creates missing ones."""
    files = found(key)
    if files is not None:
        return files, True
    files = make()
    keep(key, files)
    return files, False
