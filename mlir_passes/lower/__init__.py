# SPDX-License-Identifier: Apache-2.0
"""Passes from bufferized IR to what code generators take."""
