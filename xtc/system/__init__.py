# SPDX-License-Identifier: Apache-2.0
"""The operating system's side: cache, sandboxed workers, workspaces, external tools."""
