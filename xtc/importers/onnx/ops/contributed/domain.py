# SPDX-License-Identifier: Apache-2.0
"""The domain com.microsoft, whose operators ONNX Runtime's tools write into files.

Each means what ONNX Runtime's list of contributed operators says: docs/ContribOperators.md there.
"""

from __future__ import annotations

import functools

from xtc.importers.onnx.table import reads

DOMAIN = "com.microsoft"
contributed = functools.partial(reads, domain=DOMAIN, folds=False)
