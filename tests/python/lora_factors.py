"""The factors of an adapter of a checkpoint, in a model of PEFT."""

import os

import torch
from folders import run
from safetensors.torch import load_file

THEIRS = {
    "self_attn.proj_q_dense_layer": "self_attn.q_proj",
    "self_attn.proj_k_dense_layer": "self_attn.k_proj",
    "self_attn.proj_v_dense_layer": "self_attn.v_proj",
    "self_attn.proj_output_dense_layer": "self_attn.o_proj",
    "ffn.ffn.0.linear_layer_for_glu": "mlp.gate_proj",
    "ffn.ffn.0.linear_layer": "mlp.up_proj",
    "ffn.ffn.1.linear_layer": "mlp.down_proj",
}


def put_factors(checkpoint, model):
    """Those of a checkpoint before its first step: B is zero, so that A alone is set."""
    path = f"{checkpoint}.safetensors"
    if not os.path.exists(path):
        run("checkpoint", "convert", checkpoint, path, "--all")
    modules = dict(model.get_base_model().named_modules())
    count = 0
    for name, value in load_file(path).items():
        if not name.startswith("model.transformer_decoder.layers.") or ".lora_" not in name:
            continue
        layer, rest = name.removeprefix("model.transformer_decoder.layers.").split(".", 1)
        module, factor = rest.split(".lora_")
        weight = getattr(modules[f"model.layers.{layer}.{THEIRS[module]}"], f"lora_{factor[0]}")["default"].weight
        assert weight.shape == value.shape and (factor[0] == "A" or not value.any()), name
        with torch.no_grad():
            weight.copy_(value)
        count += 1
    assert count > 0
