# SPDX-License-Identifier: Apache-2.0
"""What is measured against each other: this project, and libraries in environments of their own.

The versions are exact, so that two runs compare the same code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

NUMPY = "numpy==2.4.6"


@dataclass(frozen=True)
class Library:
    """One row of the comparison.

    Attributes:
        name: what `--peers` selects by.
        title: what tables call it.
        module: its file in benchmarks/workers.
        requirements: what is installed for it; empty for what runs in this environment.
        is_ours: whether it is this project, which the others are compared with.
        environment: variables for its process, in which `{threads}` is replaced.
    """

    name: str
    title: str
    module: str
    requirements: tuple[str, ...] = ()
    is_ours: bool = False
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def distributions(self) -> tuple[str, ...]:
        """The names of what is installed for it."""
        return tuple(
            requirement.partition("==")[0].partition("[")[0] for requirement in self.requirements
        )


OURS = Library("ours", "xtc", "ours", is_ours=True)
LIBRARIES = (
    OURS,
    Library("tuned", "xtc, tuned", "ours_tuned", is_ours=True),
    Library("numpy", "NumPy (OpenBLAS)", "openblas", (NUMPY,)),
    Library("torch", "PyTorch", "pytorch", ("torch==2.13.0", NUMPY)),
    Library(
        "onnxruntime",
        "ONNX Runtime",
        "onnx_runtime",
        ("onnxruntime==1.31.1", "onnx==1.23.2", NUMPY),
    ),
    Library(
        "jax",
        "JAX (XLA)",
        "jax_xla",
        ("jax==0.10.2", "jaxlib==0.10.2", NUMPY),
        environment={"PJRT_NPROC": "{threads}"},
    ),
    Library(
        "iree",
        "IREE",
        "iree_cpu",
        ("iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0", NUMPY),
    ),
    Library(
        "tvm",
        "TVM",
        "tvm_te",
        # Beside the newest apache-tvm-ffi parts of TVM crash.
        ("apache-tvm==0.27.0.post1", "apache-tvm-ffi==0.1.14.post0", NUMPY),
    ),
    Library(
        "xtc-tools",
        "xtc-tools (TVM)",
        "xtc_tools",
        ("xtc-tools[tvm]==0.3.2", "intel-openmp==2026.2.0", "numpy==2.2.6"),
    ),
)
YARDSTICKS = Library("machine", "machine", "yardsticks")
PLOT_REQUIREMENTS = ("matplotlib==3.11.2",)
