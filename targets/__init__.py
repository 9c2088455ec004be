# SPDX-License-Identifier: Apache-2.0
"""One folder per target, with the same files in each; imported as `xtc_targets`."""
