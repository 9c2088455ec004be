# SPDX-License-Identifier: Apache-2.0
"""Loops of copies and dots as pipelines of warps: parts of pipeline-bulk-copies."""
