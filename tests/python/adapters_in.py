"""Folders of PEFT added to weights: what a merged folder computes in transformers is what PEFT
computes with the adapter, for layers of each kind, in all ways of LoRA and in DoRA.

Run: python3 adapters_in.py CSENGINE FOLDER
"""

import subprocess

import peft
import torch
from folders import csengine, run, transformers

torch.manual_seed(5)
TIME = 12
MODELS = {
    "llama": transformers.LlamaConfig(
        vocab_size=96, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=TIME, tie_word_embeddings=False,
    ),
    "gpt2": transformers.GPT2Config(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=TIME),
    "gpt_neox": transformers.GPTNeoXConfig(
        vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=TIME, tie_word_embeddings=False,
    ),
    "phi3": transformers.Phi3Config(
        vocab_size=96, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=TIME, pad_token_id=None, bos_token_id=1, eos_token_id=2,
    ),
}  # fmt: skip
CASES = {
    "llama": {
        "plain": dict(r=4, lora_alpha=8, target_modules="all-linear"),
        "rslora": dict(r=4, lora_alpha=6, use_rslora=True, target_modules=["q_proj", "down_proj"]),
        "patterns": dict(
            r=3, lora_alpha=6, target_modules=r".*\.layers\.\d+\.(self_attn\.[qv]|mlp\.up)_proj",
            rank_pattern={r"layers\.0\.self_attn\.q_proj": 5, "v_proj": 2}, alpha_pattern={"up_proj": 12}, exclude_modules=["layers.1.mlp.up_proj"],
        ),
        "dora": dict(r=4, lora_alpha=8, use_dora=True, target_modules="all-linear"),
        "saved": dict(r=2, target_modules=["k_proj"], modules_to_save=["norm", "lm_head"]),
        "table": dict(r=2, target_modules=["embed_tokens", "o_proj", "lm_head"]),
    },
    "gpt2": {
        "plain": dict(r=4, lora_alpha=8, target_modules="all-linear"),
        "fused": dict(r=4, lora_alpha=8, target_modules=["c_attn"], fan_in_fan_out=True, bias="all"),
        "dora": dict(r=4, lora_alpha=8, use_dora=True, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True),
    },
    "gpt_neox": {"plain": dict(r=4, lora_alpha=8, target_modules="all-linear"), "dora": dict(r=2, use_dora=True, target_modules=["query_key_value"])},
    "phi3": {"plain": dict(r=4, lora_alpha=8, target_modules="all-linear"), "dora": dict(r=2, use_dora=True, target_modules=["qkv_proj", "gate_up_proj"])},
}  # fmt: skip
tokens = torch.randint(0, 96, (2, TIME))


def logits_of(model):
    with torch.no_grad():
        return model.eval()(tokens, use_cache=False).logits


def near(what, got, wanted, tolerance=1e-5):
    worst = ((got - wanted).abs().max() / (wanted.max() - wanted.min())).item()
    print(f"{what}: differ by {worst:.2g} of their range")
    assert worst <= tolerance, what


def disturbed(model):
    """Values that no factor keeps: those of B begin at 0."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.requires_grad:
                value.add_(0.1 * torch.randn_like(value))
    return model


def base_of(name):
    return transformers.AutoModelForCausalLM.from_pretrained(name)


for name, config in MODELS.items():
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(name)
    run("checkpoint", "convert", name, f"{name}.mdl")
    for case, settings in CASES[name].items():
        adapted = disturbed(peft.get_peft_model(base_of(name), peft.LoraConfig(**settings)))
        before = logits_of(base_of(name))
        folder = f"{name}_{case}"
        adapted.save_pretrained(folder)
        wanted = logits_of(adapted)
        assert (wanted - before).abs().max() > 1e-2
        # Beside weights with the names of transformers, and beside ours.
        for start in (name, f"{name}.mdl"):
            merged = f"{folder}_of_{start.replace('.', '_')}"
            run("checkpoint", "convert", start, merged, "--adapter", folder)
            near(merged, logits_of(base_of(merged)), wanted)
        if name == "llama":
            # A file of pickles, as PEFT wrote before.
            adapted.save_pretrained(f"{folder}_bin", safe_serialization=False)
            run("checkpoint", "convert", name, f"{folder}_from_bin", "--adapter", f"{folder}_bin")
            near(f"{folder}, pickled", logits_of(base_of(f"{folder}_from_bin")), wanted)

# Beside a GGUF file.
run("checkpoint", "convert", "llama", "llama.gguf")
run("checkpoint", "convert", "llama.gguf", "of_gguf", "--adapter", "llama_plain")
near("of a GGUF file", logits_of(base_of("of_gguf")), logits_of(base_of("llama_plain_of_llama")))

# Several, as PEFT adds them.
for kind in ("cat", "linear"):
    model = peft.PeftModel.from_pretrained(base_of("llama"), "llama_plain", adapter_name="one")
    other = disturbed(peft.get_peft_model(base_of("llama"), peft.LoraConfig(r=4, lora_alpha=16, target_modules=["q_proj", "up_proj"])))
    other.save_pretrained("llama_other")
    model.load_adapter("llama_other", adapter_name="two")
    model.add_weighted_adapter(["one", "two"], [0.75, -0.5], "both", combination_type=kind)
    model.set_adapter("both")
    run("checkpoint", "convert", "llama", f"both_{kind}", "--adapter", "llama_plain", "--adapter", "llama_other",
        "--adapter_weights", "0.75,-0.5", "--combination_type", kind)  # fmt: skip
    near(f"several, {kind}", logits_of(base_of(f"both_{kind}")), logits_of(model))

# Not of this model.
wrong = subprocess.run([csengine, "checkpoint", "convert", "gpt2", "wrong", "--adapter", "llama_plain"], capture_output=True, text=True)
assert wrong.returncode == 65 and "the adapter changes 'model.layers." in wrong.stderr, wrong.stderr
print(f"transformers {transformers.__version__}, peft {peft.__version__}")
