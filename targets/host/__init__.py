# SPDX-License-Identifier: Apache-2.0
"""The host target: code by LLVM in this process or by a C compiler, loaded and called."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from xtc.core.errors import DeviceNotFound, UserError
from xtc.interfaces.artifact import Artifact
from xtc.interfaces.runtime import HostRuntime
from xtc.interfaces.target import BuildRequest, ProgramTarget
from xtc.ir.pipeline import Pipeline
from xtc_targets.host.options import HostOptions
from xtc_targets.host.threads import threads_to_use

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation
    from xtc_targets.host.build import Generator


class HostTarget(ProgramTarget):
    """Compiles for any CPU that LLVM knows; runs code for the CPU of this process."""

    name: ClassVar[str] = "host"
    Options: ClassVar[type[HostOptions]] = HostOptions

    def pipeline(self, options: HostOptions) -> Pipeline:
        from xtc_targets.host.pipeline import host_pipeline

        return host_pipeline(
            options.machine,
            options.caches,
            options.codegen,
            parallel=options.is_parallel,
            winograd=options.winograd,
            profile=options.profile,
        )

    def check_offload(self, options: HostOptions) -> None:
        if options.codegen == "c":
            raise UserError(
                "codegen='c' cannot generate code that commands devices",
                hints=["omit codegen: an option of the device's target chooses C for device code"],
            )

    def build(
        self, lowered: Operation, request: BuildRequest, options: HostOptions, folder: Path
    ) -> Artifact:
        from xtc_targets.host import build

        code = self._generator(options).generate(lowered, request)
        return build.write_artifact(code, request, options.machine, self.toolchain(options), folder)

    def build_in_memory(
        self, lowered: Operation, request: BuildRequest, options: HostOptions
    ) -> Artifact:
        from xtc_targets.host import build

        code = self._generator(options).generate(lowered, request)
        manifest = build.manifest_of(code, request, self.toolchain(options))
        return Artifact(manifest, objects=code.in_memory(options.machine))

    def machine_parameters(self, options: HostOptions) -> Mapping[str, int]:
        from xtc_targets.host.description import HostDescription

        host = HostDescription.of(options.machine)
        return {
            "VECTOR_BYTES": host.vector_bits // 8,
            "REGISTERS": host.vector_registers,
            "L1": options.caches.l1_bytes,
            "L2": options.caches.l2_bytes,
            "THREADS": threads_to_use(self.toolchain(options)),
        }

    def code(self, lowered: Operation, request: BuildRequest, options: HostOptions) -> str:
        return self._generator(options).text(lowered, request)

    def toolchain(self, options: HostOptions) -> Mapping[str, str]:
        caches = options.caches
        known = {"l1_bytes": str(caches.l1_bytes), "l2_bytes": str(caches.l2_bytes)}
        return {**self._generator(options).toolchain(), **known}

    def _generator(self, options: HostOptions) -> Generator:
        if options.codegen == "c":
            from xtc_targets.host.generate_c import CGenerator

            return CGenerator(
                options.machine,
                options.opt_level,
                options.cpu,
                options.features,
                options.threads,
            )
        from xtc_targets.host.generate_llvm import LlvmGenerator

        return LlvmGenerator(
            options.machine,
            options.opt_level,
            options.threads,
            options.cpu,
            options.features,
        )

    def runtime(self, options: HostOptions) -> HostRuntime:
        from xtc_targets.host.device import LocalHost

        machine = options.machine
        if not machine.is_host:
            raise DeviceNotFound(f"code for {machine.triple} cannot run in this process")
        return LocalHost(machine, options.threads or threads_to_use({}))

    def unavailable(self) -> str | None:
        return None


TARGET = HostTarget()
