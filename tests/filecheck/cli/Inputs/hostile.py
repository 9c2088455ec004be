# SPDX-License-Identifier: Apache-2.0
"""Writes MLIR that crashes its parser or printer: PREFIX.deep.mlir and others."""

import sys
from pathlib import Path

TEXTS = {
    "deep": "module {" * 100_000 + "}" * 100_000,
    "minus": "#m = affine_map<(d0) -> (" + "-" * 2_000_000 + "d0)>\nmodule {}",
    "digits": "module attributes {a.a = " + "9" * 200_000 + " : i64} {}",
}

for name, text in TEXTS.items():
    Path(f"{sys.argv[1]}.{name}.mlir").write_text(text)
