# SPDX-License-Identifier: Apache-2.0
"""Commands of the target, `xtc null <command>`: one module per command."""
