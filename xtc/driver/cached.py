# SPDX-License-Identifier: Apache-2.0
"""The artifact cache for compilations: computes keys and decides when to use it."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core import knobs
from xtc.interfaces.artifact import MANIFEST_FILE, Artifact, Manifest
from xtc.interfaces.options import code_options
from xtc.ir.packed_constants import bytes_of
from xtc.ir.passes import Pass
from xtc.ir.pipeline import PartitionSteps, Pipeline, Step
from xtc.system.cache import (
    CodeFingerprint,
    NoCanonicalFormError,
    NoFingerprintError,
    cache_key,
    canonical_text,
    code_fingerprint,
    configured_cache,
)
from xtc.system.content_hash import content_hash
from xtc.system.cores import usable_cores

if TYPE_CHECKING:
    from xtc.driver.compilation import Compilation
    from xtc.interfaces.target import Target
    from xtc.ir.pipeline import Pipeline

_log = logging.getLogger(__name__)

_OWN_PACKAGES = ("xtc", "xtc_passes", "xtc_targets")
_PIECE = 8 << 20
"""Bytes per hashing task."""


@dataclass(frozen=True)
class Built:
    """An artifact, and whether it comes from the cache."""

    artifact: Artifact
    cached: bool


@dataclass(frozen=True)
class CompilationKey:
    """The cache key of a compilation, and a fingerprint of the compiler's code."""

    text: str
    code: CodeFingerprint


def build_or_fetch(compilation: Compilation, folder: Path, use_cache: bool) -> Built:
    """Fill the empty `folder` from the cache, or build there and let the cache keep a copy.

    A compilation whose IR is printed, dumped or timed bypasses the cache. So does one that calls
    external functions, because the files that their sources include are unknown.
    """
    seconds, start = compilation.runner.seconds, time.perf_counter()
    key = None
    kept = knobs.CACHE.get() and not compilation.runner.one_by_one
    if use_cache and kept and not _calls_functions(compilation):
        key = _key_or_none(compilation)
    if key is None:
        return Built(compilation.build(folder), cached=False)
    cache = configured_cache()
    found = cache.fetch(key.text, folder)
    seconds["cache"] = time.perf_counter() - start
    if found:
        return Built(_checked_artifact(folder), cached=True)
    artifact = compilation.build(folder)
    start = time.perf_counter()
    if key.code.unchanged():
        cache.publish(key.text, folder, artifact.manifest.files)
    seconds["cache"] += time.perf_counter() - start
    return Built(artifact, cached=False)


def _calls_functions(compilation: Compilation) -> bool:
    return any("external:" in text for text in compilation.schedules.values())


def compilation_key(compilation: Compilation) -> CompilationKey:
    """A hash of everything that affects the artifact, without the user's file names and lines.

    Raises NoCanonicalFormError or NoFingerprintError if it cannot be computed.
    """
    source = compilation.source(locations=False)
    target, options = compilation.target, compilation.options
    devices = compilation.devices
    others: list[object] = []
    for device in devices.values():
        others += [device.target, device.options]
    plain = are_own([target, options, *others]) and not compilation.passes
    pipeline = None if plain else compilation.pipeline()
    call = (compilation.graph.name, compilation.arguments(), compilation.graph.flops)
    parts = {
        "devices": canonical_text(
            {
                name: (
                    device.target.name,
                    code_options(device.options),
                    device.target.toolchain(device.options),
                )
                for name, device in devices.items()
            }
        ),
        "source": source,
        "call": canonical_text(call),
        "constants": canonical_text(_array_hashes(compilation.constants())),
    }
    return key_of_code(target, options, pipeline, parts, others)


def key_of_code(
    target: Target,
    options: Any,
    pipeline: Pipeline | None,
    parts: Mapping[str, str | bytes],
    others: Sequence[object] = (),
) -> CompilationKey:
    """The key of code that a target generates from `parts`, its sources.

    The pipeline is None if `are_own` holds for the target, the options and `others`, which also
    contribute to the code. Raises NoCanonicalFormError or NoFingerprintError.
    """
    code = code_fingerprint(_packages([target, options, *others], pipeline))
    makers = {
        "code": code.digest,
        "target": target.name,
        "toolchain": canonical_text(target.toolchain(options)),
        "options": canonical_text(code_options(options)),
        "pipeline": canonical_text(pipeline),
    }
    return CompilationKey(cache_key({**parts, **makers}), code)


def _key_or_none(compilation: Compilation) -> CompilationKey | None:
    try:
        return compilation_key(compilation)
    except (NoCanonicalFormError, NoFingerprintError) as error:
        _log.info("compiling '%s' without the cache: %s", compilation.graph.name, error)
        return None


def are_own(makers: Sequence[object]) -> bool:
    """Whether only xtc's own code defines the pipeline of these targets and options.

    If so, the hash of that code with the options and the toolchain replaces the pipeline's text,
    and a cache hit need not import the passes, which need MLIR.
    """
    kinds = [type(maker) for maker in makers]
    pipelines = [kind.pipeline for kind in kinds if hasattr(kind, "pipeline")]
    return all(_package(kind.__module__) in _OWN_PACKAGES for kind in (*kinds, *pipelines))


def _packages(makers: Sequence[object], pipeline: Pipeline | None) -> set[str]:
    """Packages whose code affects the artifact: xtc and third-party targets and passes."""
    stages = pipeline.stages if pipeline else ()
    passes = (found for stage in stages for step in stage.steps for found in _passes(step))
    modules = {type(maker).__module__ for maker in (*makers, *passes)}
    return {*_OWN_PACKAGES, *map(_package, modules)}


def _package(module: str) -> str:
    return module.partition(".")[0]


def _passes(step: Step) -> list[Pass]:
    if isinstance(step, PartitionSteps):
        return [found for inner in step.steps for found in _passes(inner)]
    return [step] if isinstance(step, Pass) else []


def _array_hashes(arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, list[str]]:
    """The hashes of each array's bytes in row-major order, in chunks, by symbol; uses all cores."""
    with ThreadPoolExecutor(usable_cores(), "hashing") as cores:
        hashes = {
            symbol: [cores.submit(content_hash, piece) for piece in _pieces(bytes_of(array))]
            for symbol, array in arrays.items()
        }
        return {symbol: [piece.result() for piece in found] for symbol, found in hashes.items()}


def _pieces(content: memoryview) -> list[memoryview]:
    return [content[at : at + _PIECE] for at in range(0, len(content), _PIECE)]


def _checked_artifact(folder: Path) -> Artifact:
    """The artifact that the cache just put into `folder`, after checking every byte."""
    path = folder / MANIFEST_FILE
    return Artifact(Manifest.from_json(path.read_text(), path), folder)
