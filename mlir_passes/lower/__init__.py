# SPDX-License-Identifier: Apache-2.0
"""Passes that lower bufferized IR to the dialects of the code generators."""
