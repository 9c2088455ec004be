# SPDX-License-Identifier: Apache-2.0
"""Size buckets for dynamic dimensions: calls are padded to the next bucket, with exact results."""

from xtc.driver.buckets.bucketed import BucketedModule, checked_buckets

__all__ = ["BucketedModule", "checked_buckets"]
