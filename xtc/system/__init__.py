# SPDX-License-Identifier: Apache-2.0
"""Operating-system services: cache, sandboxed workers, workspaces, external tools."""
