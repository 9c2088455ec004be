# SPDX-License-Identifier: Apache-2.0
"""Standard architectures at small sizes: their configuration changes and inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

Inputs = Mapping[str, torch.Tensor]


def tokens(length: int = 12, words: int = 99, **_: Any) -> Inputs:
    """Two sentences."""
    return {"input_ids": torch.randint(3, words, (2, length))}


def picture(size: int = 32, **_: Any) -> Inputs:
    """One picture."""
    return {"pixel_values": torch.randn(1, 3, size, size)}


def both(**_: Any) -> Inputs:
    """A sentence for the encoder, one for the decoder."""
    return {**tokens(), "decoder_input_ids": torch.randint(3, 99, (2, 7))}


def sound(**_: Any) -> Inputs:
    """A fraction of a second of sound."""
    return {"input_values": torch.randn(1, 2000)}


TEXT = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
GROUPED = {**TEXT, "num_key_value_heads": 2, "head_dim": 8}
IMAGE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 32,
    "patch_size": 8,
}
STAGES = {"image_size": 32, "depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32]}
GPT = {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
T5 = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
BART = {
    "vocab_size": 99,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
SPEECH = {
    **{key: TEXT[key] for key in ("hidden_size", "num_hidden_layers", "num_attention_heads")},
    "intermediate_size": 48,
    "conv_dim": [16, 16, 16],
    "conv_stride": [5, 2, 2],
    "conv_kernel": [10, 3, 3],
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "mask_time_prob": 0.0,
}
EXPERTS = {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2}

# Class -> changes of its configuration, and inputs. The configuration's class is the name before
# the last capital word, as in transformers.
TRANSFORMERS: dict[str, tuple[dict[str, Any], Callable[..., Inputs]]] = {
    # Encoders of text.
    "BertModel": (TEXT, tokens),
    "RobertaModel": (TEXT, tokens),
    "DistilBertModel": ({"vocab_size": 99, "dim": 32, "n_layers": 2, "n_heads": 4}, tokens),
    "AlbertModel": ({**TEXT, "embedding_size": 16}, tokens),
    "ElectraModel": ({**TEXT, "embedding_size": 16}, tokens),
    "MPNetModel": (TEXT, tokens),
    "DebertaV2Model": (TEXT, tokens),
    "MobileBertModel": ({**TEXT, "intra_bottleneck_size": 32, "embedding_size": 32}, tokens),
    "ModernBertModel": ({**TEXT, "cls_token_id": 1, "sep_token_id": 2}, tokens),
    "ConvBertModel": ({**TEXT, "embedding_size": 32}, tokens),
    "SqueezeBertModel": ({**TEXT, "embedding_size": 32}, tokens),
    "FNetModel": (TEXT, tokens),
    "RoFormerModel": ({**TEXT, "embedding_size": 32}, tokens),
    "XLMRobertaModel": (TEXT, tokens),
    # Decoders of text.
    "GPT2LMHeadModel": (GPT, tokens),
    "GPTNeoXForCausalLM": (TEXT, tokens),
    "GPTJForCausalLM": ({**GPT, "rotary_dim": 4}, tokens),
    "OPTForCausalLM": ({**TEXT, "ffn_dim": 48, "word_embed_proj_dim": 32}, tokens),
    "BloomForCausalLM": ({"vocab_size": 99, "hidden_size": 32, "n_layer": 2, "n_head": 4}, tokens),
    "LlamaForCausalLM": (GROUPED, tokens),
    "MistralForCausalLM": (GROUPED, tokens),
    "Qwen2ForCausalLM": (GROUPED, tokens),
    "Qwen3ForCausalLM": (GROUPED, tokens),
    "GemmaForCausalLM": (GROUPED, tokens),
    "Gemma2ForCausalLM": (GROUPED, tokens),
    "Gemma3ForCausalLM": (GROUPED, tokens),
    "PhiForCausalLM": (GROUPED, tokens),
    "Phi3ForCausalLM": (GROUPED, tokens),
    "FalconForCausalLM": (TEXT, tokens),
    "StableLmForCausalLM": (GROUPED, tokens),
    "OlmoForCausalLM": (GROUPED, tokens),
    "CohereForCausalLM": (GROUPED, tokens),
    "GraniteForCausalLM": (GROUPED, tokens),
    "SmolLM3ForCausalLM": (GROUPED, tokens),
    "MambaForCausalLM": ({"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2}, tokens),
    "MixtralForCausalLM": ({**GROUPED, **EXPERTS}, tokens),
    # Encoder and decoder.
    "T5Model": (T5, both),
    "MT5Model": (T5, both),
    "BartModel": (BART, both),
    "MarianModel": ({**BART, "decoder_start_token_id": 0}, both),
    "PegasusModel": (BART, both),
    # Pictures.
    "ViTModel": (IMAGE, picture),
    "DeiTModel": (IMAGE, picture),
    "BeitModel": (IMAGE, picture),
    "Dinov2Model": (IMAGE, picture),
    "SiglipVisionModel": (IMAGE, picture),
    "CLIPVisionModel": (IMAGE, picture),
    "YolosModel": ({**IMAGE, "image_size": [32, 32], "num_detection_tokens": 5}, picture),
    "ConvNextModel": (STAGES, picture),
    "ConvNextV2Model": (STAGES, picture),
    "ResNetModel": ({**STAGES, "embedding_size": 8}, picture),
    "RegNetModel": ({**STAGES, "embedding_size": 8, "groups_width": 8}, picture),
    "SwinModel": (
        {
            "image_size": 32,
            "patch_size": 2,
            "embed_dim": 8,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
        picture,
    ),
    "SegformerModel": (
        {
            "hidden_sizes": [8, 16, 24, 32],
            "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 2, 2, 4],
        },
        picture,
    ),
    "MobileViTModel": (
        {
            "image_size": 64,
            "hidden_sizes": [24, 32, 40],
            "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32],
            "num_hidden_layers": 2,
        },
        lambda: picture(64),
    ),
    "MobileNetV2Model": ({"depth_multiplier": 0.35, "image_size": 32}, picture),
    "MobileNetV1Model": ({"depth_multiplier": 0.25, "image_size": 32}, picture),
    "EfficientNetModel": (
        {"width_coefficient": 0.25, "depth_coefficient": 0.25, "image_size": 32, "hidden_dim": 320},
        picture,
    ),
    "PoolFormerModel": ({"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}, picture),
    "PvtModel": (
        {
            "image_size": 32,
            "hidden_sizes": [8, 16, 24, 32],
            "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 2, 2, 4],
        },
        picture,
    ),
    "CvtModel": (
        {"embed_dim": [8, 16, 24], "num_heads": [1, 2, 3], "depth": [1, 2, 3]},
        lambda: picture(64),
    ),
    "LevitModel": (
        {
            "image_size": 64,
            "hidden_sizes": [16, 24, 32],
            "num_attention_heads": [2, 3, 4],
            "depths": [1, 1, 1],
            "key_dim": [8, 8, 8],
        },
        lambda: picture(64),
    ),
    "DPTForDepthEstimation": (
        {
            **IMAGE,
            "num_hidden_layers": 4,
            "backbone_out_indices": [0, 1, 2, 3],
            "neck_hidden_sizes": [8, 8, 16, 16],
            "fusion_hidden_size": 16,
            "is_hybrid": False,
        },
        picture,
    ),
    "DetrForObjectDetection": (
        {
            "use_timm_backbone": False,
            "use_pretrained_backbone": False,
            "backbone": None,
            "d_model": 32,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
            "num_queries": 5,
        },
        lambda: picture(64),
    ),
    # Pictures and text, sound.
    "CLIPTextModel": ({**TEXT, "eos_token_id": 2}, tokens),
    "Wav2Vec2Model": (SPEECH, sound),
    "HubertModel": (SPEECH, sound),
    "WhisperModel": (
        {**BART, "num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 20},
        lambda: {
            "input_features": torch.randn(1, 16, 40),
            "decoder_input_ids": torch.randint(3, 99, (1, 5)),
        },
    ),
    "ASTModel": (
        {
            **{k: v for k, v in IMAGE.items() if k != "image_size"},
            "max_length": 40,
            "num_mel_bins": 24,
        },
        lambda: {"input_values": torch.randn(1, 40, 24)},
    ),
}

TORCHVISION = {
    "alexnet": 64, "vgg11": 32, "resnet18": 32, "resnext50_32x4d": 32, "densenet121": 32,
    "squeezenet1_1": 48, "googlenet": 48, "inception_v3": 96, "mnasnet0_5": 32,
    "mobilenet_v2": 32, "mobilenet_v3_small": 32, "efficientnet_b0": 32, "efficientnet_v2_s": 32,
    "shufflenet_v2_x0_5": 32, "regnet_y_400mf": 32, "convnext_tiny": 32, "vit_b_32": 224,
    "swin_t": 64, "swin_v2_t": 64, "maxvit_t": 224,
}  # fmt: skip

TIMM = {
    "mixer_s32_224": 224, "gmlp_ti16_224": 224, "resmlp_12_224": 224, "xcit_nano_12_p16_224": 224,
    "ghostnet_050": 64, "hrnet_w18_small": 64, "repvgg_a0": 64, "edgenext_xx_small": 64,
    "mobileone_s0": 64, "convmixer_768_32": 64, "eca_nfnet_l0": 64, "efficientformer_l1": 224,
    "fastvit_t8": 64, "mobilevitv2_050": 64, "tinynet_e": 64, "cait_xxs24_224": 224,
    "coat_tiny": 224, "nest_tiny": 224, "volo_d1_224": 224, "tnt_s_patch16_224": 224,
}  # fmt: skip
