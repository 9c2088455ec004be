# SPDX-License-Identifier: Apache-2.0
"""The domain com.microsoft, whose operators ONNX Runtime's tools write into files.

ONNX Runtime specifies the operators in its docs/ContribOperators.md.
"""

from __future__ import annotations

import functools

from xtc.importers.onnx.table import reads

DOMAIN = "com.microsoft"
contributed = functools.partial(reads, domain=DOMAIN, folds=False)
