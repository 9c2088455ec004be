# SPDX-License-Identifier: Apache-2.0
"""Each command here runs in a separate process, as in a shell; see tools/forks."""
# ruff: noqa: F821  lit defines `config`

import lit.formats

config.test_format = lit.formats.ShTest()
