# SPDX-License-Identifier: Apache-2.0
"""The target's commands: `xtc null <file>`."""
