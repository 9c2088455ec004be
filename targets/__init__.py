# SPDX-License-Identifier: Apache-2.0
"""One folder per target, the same rooms in each; imported as `xtc_targets`."""
