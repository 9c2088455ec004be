# SPDX-License-Identifier: Apache-2.0
"""Whole networks with random weights, written with `xtc.ops`, one family per file.

Batch normalization is folded into convolutions, as importers do it. A small network has the same
operators as the full one, at sizes for tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xtc
from benchmarks.networks import (
    bert,
    densenet,
    detector,
    efficientnet,
    gpt2,
    llama,
    mobilenet,
    resnet,
    speech,
    unet,
    vit,
)

Builder = Callable[[bool], xtc.Graph]
"""A function that builds the graph, with true as argument the small one."""

NETWORKS: Mapping[str, Builder] = {
    "resnet18": resnet.resnet18,
    "resnet50": resnet.resnet50,
    "mobilenetv2": mobilenet.mobilenet_v2,
    "bert_base": bert.bert_base,
    "gpt2_step": gpt2.step,
    "gpt2_prefill": gpt2.prefill,
    "vit_s": vit.vit_small,
    "llama_block": llama.block,
    "unet": unet.unet,
    "efficientnet": efficientnet.efficientnet,
    "speech": speech.encoder,
    "detector": detector.detector,
    "densenet121": densenet.densenet121,
}
"""Builders by name: seven networks with published figures of other engines, then six more."""
