# SPDX-License-Identifier: Apache-2.0
"""Every command here is a process of its own, as in a shell; see tools/forks."""
# ruff: noqa: F821  lit defines `config`

import lit.formats

config.test_format = lit.formats.ShTest()
