# SPDX-License-Identifier: Apache-2.0
"""From C to programs of DPUs, and the host's library that runs them."""
