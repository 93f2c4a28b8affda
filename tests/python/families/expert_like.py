"""Decoders with a mixture of experts: the losses of a training have the balancing loss in them."""

import json
import os
import sys

sys.modules.setdefault("torchvision", None)  # not needed, and often of another version of PyTorch

import safetensors.torch  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import trial  # noqa: E402
from trial import RATE, Family, run_families  # noqa: E402

SIZES = dict(
    vocab_size=96,
    hidden_size=32,
    intermediate_size=40,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    attention_dropout=0.0,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=None,  # transformers would not train its embedding, and it may stand in the text
    output_router_logits=True,
    router_aux_loss_coef=0.5,
)


def mixtral(**changes):
    config = transformers.MixtralConfig(**{**SIZES, "num_local_experts": 6, "num_experts_per_tok": 2, **changes})
    return lambda: transformers.MixtralForCausalLM(config)


def qwen2_moe(**changes):
    sizes = dict(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=24, shared_expert_intermediate_size=28)
    config = transformers.Qwen2MoeConfig(**{**SIZES, **sizes, **changes})
    return lambda: transformers.Qwen2MoeForCausalLM(config)


def qwen3_moe(**changes):
    sizes = dict(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=24, head_dim=16)
    config = transformers.Qwen3MoeConfig(**{**SIZES, **sizes, **changes})
    return lambda: transformers.Qwen3MoeForCausalLM(config)


def fuse(folder):
    """The experts of a layer as one weight, as newer programs write them."""
    path = f"{folder}/model.safetensors"
    weights = safetensors.torch.load_file(path)
    fused = {}
    names = {"w1": "gate", "w3": "up", "w2": "down", "gate_proj": "gate", "up_proj": "up", "down_proj": "down"}
    for name in [name for name in weights if ".experts." in name]:
        layer, _, rest = name.partition(".experts.")
        expert, kind, _ = rest.split(".")
        fused.setdefault(layer.replace("block_sparse_moe", "mlp"), {})[int(expert), names[kind]] = weights.pop(name)
    for layer, experts in fused.items():
        count = len(experts) // 3
        both = [torch.cat([experts[e, "gate"], experts[e, "up"]]) for e in range(count)]
        weights[f"{layer}.experts.gate_up_proj"] = torch.stack(both)
        weights[f"{layer}.experts.down_proj"] = torch.stack([experts[e, "down"] for e in range(count)])
    for name in [name for name in weights if "block_sparse_moe.gate" in name]:
        weights[name.replace("block_sparse_moe", "mlp")] = weights.pop(name)
    safetensors.torch.save_file(weights, path, metadata={"format": "pt"})


def losses_with_balance(model, batches):
    """As trial.their_losses; what the configuration says of the balancing loss is added by transformers."""
    model = model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    for inputs, labels in batches:
        output = model(inputs, use_cache=False)
        loss = torch.nn.functional.cross_entropy(output.logits.flatten(0, 1), labels.flatten())
        if model.config.output_router_logits:
            assert output.aux_loss > 0
            loss = loss + model.config.router_aux_loss_coef * output.aux_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def refused(changes, wanted):
    """A config.json that the map does not hold for is refused by the name of the key."""
    with open("theirs/config.json") as file:
        config = json.load(file)
    os.makedirs("changed", exist_ok=True)
    if not os.path.exists("changed/model.safetensors"):
        os.symlink("../theirs/model.safetensors", "changed/model.safetensors")
    with open("changed/config.json", "w") as file:
        json.dump({**config, **changes}, file)
    arguments = [trial.csengine, "checkpoint", "convert", "changed", "never.mdl"]
    result = trial.subprocess.run(arguments, capture_output=True, text=True)
    assert result.returncode != 0 and wanted in result.stderr, (changes, result.returncode, result.stderr)


def attempt(family):
    trial.their_losses = losses_with_balance
    said = trial.try_decoder(family)
    refused({"router_of_mine": 3}, "router_of_mine")
    if family.name.startswith("mixtral"):
        refused({"router_jitter_noise": 0.1}, "router_jitter_noise")
        if not family.alter:
            refused({"num_local_experts": 7}, "experts.6")
    elif family.name.startswith("qwen2"):
        refused({"use_sliding_window": True}, "use_sliding_window")
    return said


FAMILIES = [
    Family("mixtral", mixtral()),
    Family("mixtral_window", mixtral(sliding_window=9, output_router_logits=False), family="mixtral"),
    Family("mixtral_fused", mixtral(), family="mixtral", alter=fuse),
    Family("qwen2_moe", qwen2_moe()),
    Family("qwen2_moe_mixed", qwen2_moe(mlp_only_layers=[2], norm_topk_prob=True), family="qwen2_moe"),
    Family("qwen2_moe_step", qwen2_moe(decoder_sparse_step=2, qkv_bias=False), family="qwen2_moe"),
    Family("qwen2_moe_fused", qwen2_moe(), family="qwen2_moe", alter=fuse),
    Family("qwen3_moe", qwen3_moe()),
    Family("qwen3_moe_mixed", qwen3_moe(mlp_only_layers=[1], norm_topk_prob=True), family="qwen3_moe"),
    Family("qwen3_moe_window", qwen3_moe(use_sliding_window=True, sliding_window=9), family="qwen3_moe"),
    Family("qwen3_moe_fused", qwen3_moe(), family="qwen3_moe", alter=fuse),
]

if __name__ == "__main__":
    run_families(FAMILIES, attempt)
