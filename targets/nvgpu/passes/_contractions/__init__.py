# SPDX-License-Identifier: Apache-2.0
"""Contractions as tile operations and as loops of threads: parts of use-tensor-cores."""
