# SPDX-License-Identifier: Apache-2.0
"""Compiles standard architectures of PyTorch, with random weights, and compares the results.

    python tools/torch_models.py [--only TEXT] [--reference] [--export] [--json FILE]

Architectures are built from the configurations of the package transformers, and of torchvision and
timm where they are installed, at small sizes. A model is "right" where compiled code gives what
PyTorch gives to 1e-4, relative to the largest element. `--reference` runs the imported graph by
its meaning in NumPy and compiles nothing; `--export` reads torch.export's program, where the usual
way is torch.compile.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

TOLERANCE = 1e-4
KINDS = ("right", "refused", "wrong", "crash")
Inputs = Mapping[str, torch.Tensor]
Example = tuple[torch.nn.Module, Inputs]


@dataclass(frozen=True)
class Outcome:
    """How one architecture ended, and what was said."""

    name: str
    kind: str
    seconds: float
    text: str = ""


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
    """A second's fraction of sound."""
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

# Class -> what its configuration differs in, and inputs. The configuration's class is the name
# before the last capital word, as transformers names them.
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
    "MobileViTModel": ({"image_size": 64, "hidden_sizes": [24, 32, 40], "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32], "num_hidden_layers": 2}, lambda: picture(64)),
    "MobileNetV2Model": ({"depth_multiplier": 0.35, "image_size": 32}, picture),
    "MobileNetV1Model": ({"depth_multiplier": 0.25, "image_size": 32}, picture),
    "EfficientNetModel": ({"width_coefficient": 0.25, "depth_coefficient": 0.25, "image_size": 32, "hidden_dim": 320}, picture),
    "PoolFormerModel": ({"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}, picture),
    "PvtModel": ({"image_size": 32, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 4]}, picture),
    "CvtModel": ({"embed_dim": [8, 16, 24], "num_heads": [1, 2, 3], "depth": [1, 2, 3]}, lambda: picture(64)),
    "LevitModel": ({"image_size": 64, "hidden_sizes": [16, 24, 32], "num_attention_heads": [2, 3, 4], "depths": [1, 1, 1], "key_dim": [8, 8, 8]}, lambda: picture(64)),
    "DPTForDepthEstimation": ({**IMAGE, "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [8, 8, 16, 16], "fusion_hidden_size": 16, "is_hybrid": False}, picture),
    "DetrForObjectDetection": ({
        "use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None,
        "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "num_queries": 5,
    }, lambda: picture(64)),
    # Pictures and text, sound.
    "CLIPTextModel": ({**TEXT, "eos_token_id": 2}, tokens),
    "Wav2Vec2Model": (SPEECH, sound),
    "HubertModel": (SPEECH, sound),
    "WhisperModel": ({**BART, "num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 20}, lambda: {"input_features": torch.randn(1, 16, 40), "decoder_input_ids": torch.randint(3, 99, (1, 5))}),
    "ASTModel": ({**{k: v for k, v in IMAGE.items() if k != "image_size"}, "max_length": 40, "num_mel_bins": 24}, lambda: {"input_values": torch.randn(1, 40, 24)}),
}  # fmt: skip

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


def examples() -> dict[str, Callable[[], Example]]:
    """What there is to build, by name, of the packages that are installed."""
    found: dict[str, Callable[[], Example]] = {}
    for name, (config, inputs) in TRANSFORMERS.items():
        found[f"transformers.{name}"] = _transformer(name, config, inputs)
    for package, sizes in (("torchvision", TORCHVISION), ("timm", TIMM)):
        if _importable(package):
            for name, size in sizes.items():
                found[f"{package}.{name}"] = _network(package, name, size)
    return found


def _importable(package: str) -> bool:
    try:
        __import__(package)
    except (ImportError, RuntimeError):  # RuntimeError: its compiled part fits another PyTorch
        return False
    return True


def _transformer(
    name: str, values: dict[str, Any], inputs: Callable[..., Inputs]
) -> Callable[[], Example]:
    def build() -> Example:
        import transformers

        made = getattr(transformers, name)
        config = made.config_class(**values)
        config._attn_implementation = "eager"
        config.use_cache = False
        config._experts_implementation = "batched_mm"
        return made(config), inputs()

    return build


def _network(package: str, name: str, size: int) -> Callable[[], Example]:
    def build() -> Example:
        x = {"x": torch.randn(1, 3, size, size)}
        if package == "timm":
            import timm

            return timm.create_model(name), x
        import torchvision

        return torchvision.models.get_model(name, weights=None), x

    return build


def tensors_of(result: Any) -> list[torch.Tensor]:
    """All tensors in what a model returns."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, Mapping):
        return [x for value in result.values() for x in tensors_of(value)]
    if isinstance(result, Sequence) and not isinstance(result, str):
        return [x for value in result for x in tensors_of(value)]
    return []


class Plain(torch.nn.Module):
    """A model that takes tensors by position and returns a tuple of tensors."""

    def __init__(self, model: torch.nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The tensors of the model's results."""
        found = self.model(**dict(zip(self.names, tensors, strict=True)))
        return tuple(tensors_of(found))


def _run(build: Callable[[], Example], *, export: bool, reference: bool) -> str:
    """The largest relative error. Raises AssertionError where it is too large."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, inputs = build()
    model = model.eval()
    first = next(iter(inputs)) if "x" not in inputs else None
    names = list(inputs)
    values = [inputs[name] for name in names]
    with torch.no_grad():
        if first is None:
            plain: torch.nn.Module = model
            wanted = tensors_of(plain(*values))
        else:
            plain = Plain(model, names)
            wanted = list(plain(*values))
        found = _outputs(plain, values, export=export, reference=reference)
    assert len(found) == len(wanted), f"{len(found)} outputs, not {len(wanted)}"
    return "largest relative error {:.1e}".format(max(map(_error, found, wanted)))


def _error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    assert found.shape == wanted.shape, f"shape {found.shape}, not {wanted.shape}"
    scale = max(float(wanted.double().abs().max()), 1e-30)
    error = float((found.double() - wanted.double()).abs().max()) / scale
    assert error <= TOLERANCE, f"relative error {error:.1e}"
    return error


def _outputs(
    model: torch.nn.Module, values: list[torch.Tensor], *, export: bool, reference: bool
) -> list[torch.Tensor]:
    import xtc
    from xtc.importers.torch.backend import xtc_backend

    if not export and not reference:
        return tensors_of(torch.compile(model, backend=xtc_backend)(*values))
    graph = xtc.from_torch(torch.export.export(model, tuple(values)))
    arrays = dict(zip([t.name for t in graph.inputs], [v.numpy() for v in values], strict=True))
    if reference:
        results = graph.evaluate(**arrays)
    else:
        with xtc.compile(graph) as module:
            results = module(**arrays)
    if isinstance(results, dict):
        results = tuple(results.values())
    return [torch.from_numpy(x) for x in (results if isinstance(results, tuple) else [results])]


def outcome(name: str, build: Callable[[], Example], **how: bool) -> Outcome:
    """One architecture, in this process."""
    from xtc.core.errors import UserError

    start = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind, text = "right", _run(build, **how)
    except AssertionError as error:
        kind, text = "wrong", str(error)
    except Exception as error:
        cause = _user_error(error)
        kind = "refused" if isinstance(cause, UserError) else "crash"
        text = str(cause or "".join(traceback.format_exception(error)[-6:]))
    return Outcome(name, kind, time.monotonic() - start, text[-3000:])


def _user_error(error: BaseException | None) -> BaseException | None:
    from xtc.core.errors import UserError

    while error is not None and not isinstance(error, UserError):
        error = error.__cause__ or getattr(error, "inner_exception", None) or error.__context__
    return error


def outcomes(only: str, **how: bool) -> Iterator[Outcome]:
    """All architectures whose names match."""
    for name, build in examples().items():
        if re.search(only, name):
            yield outcome(name, build, **how)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Compile standard architectures of PyTorch.")
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument("--export", action="store_true", help="by torch.export and from_torch")
    parser.add_argument("--reference", action="store_true", help="by NumPy, compiling nothing")
    parser.add_argument("--json", type=Path, help="file for all outcomes")
    args = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    results = []
    for result in outcomes(args.only, export=args.export, reference=args.reference):
        counts[result.kind] += 1
        results.append(result)
        sys.stdout.write(f"{result.kind} {result.name} {result.seconds:.1f} s: {result.text}\n")
        sys.stdout.flush()
    if args.json:
        args.json.write_text(json.dumps([vars(result) for result in results], indent=1))
    sys.stdout.write(", ".join(f"{kind} {counts[kind]}" for kind in KINDS) + "\n")
    return 1 if counts["wrong"] or counts["crash"] else 0


if __name__ == "__main__":
    sys.exit(main())
