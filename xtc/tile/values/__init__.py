# SPDX-License-Identifier: Apache-2.0
"""Values of a kernel while it is transcribed, and arithmetic on them."""
