# SPDX-License-Identifier: Apache-2.0
"""The names of the vendor's SDK, for programs that use it."""
