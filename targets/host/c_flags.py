# SPDX-License-Identifier: Apache-2.0
"""Flags of GCC and Clang for a machine; processor and feature names are mostly LLVM's."""

from __future__ import annotations

from xtc.codegen.llvm import Machine

_X86 = ("x86_64", "i386", "i486", "i586", "i686", "amd64")


def machine_flags(machine: Machine, cpu: str | None, features: str | None) -> tuple[str, ...]:
    """Flags for `cpu` and `features`, which are None if the user did not set them.

    The default is this machine's processor, or the compiler's default for another machine.
    """
    native = cpu is None and machine.is_host
    chosen = "native" if native else cpu
    changes = [word for word in (features or "").split(",") if word]
    if machine.triple.split("-")[0] in _X86:
        return (*_march(chosen), *map(_x86_feature, changes))
    if not chosen:
        return ()
    return ("-mcpu=" + chosen + "".join(map(_arm_extension, changes)),)


def _march(cpu: str | None) -> tuple[str, ...]:
    if not cpu:
        return ()
    return ("-march=x86-64",) if cpu == "generic" else (f"-march={cpu}",)


def _x86_feature(change: str) -> str:
    """`+avx2` is -mavx2, `-avx2` is -mno-avx2."""
    sign, name = change[0], change[1:]
    return f"-m{'' if sign == '+' else 'no-'}{name}"


def _arm_extension(change: str) -> str:
    """`+sve` is appended to the processor's name as +sve, `-sve` as +nosve."""
    sign, name = change[0], change[1:]
    return f"+{'' if sign == '+' else 'no'}{name}"
