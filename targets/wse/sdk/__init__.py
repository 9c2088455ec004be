# SPDX-License-Identifier: Apache-2.0
"""The commands and the host library of the vendor's SDK, for programs that use them."""
