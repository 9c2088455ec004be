# SPDX-License-Identifier: Apache-2.0
"""Listed sizes for free dimensions: calls of other sizes are padded to the next one, exactly."""

from xtc.driver.buckets.bucketed import BucketedModule, checked_buckets

__all__ = ["BucketedModule", "checked_buckets"]
