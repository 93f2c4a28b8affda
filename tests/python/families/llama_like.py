"""Decoders with RMS norms, rotary positions and gates: Llama and what changed in it since.

Windows are shorter than the samples, and original lengths of scaled positions as well, so that a
layer or a kind of scaling that is taken for another one shows in the logits.
"""

import json
import os

import safetensors.torch
import torch
import transformers
from trial import Family, run, run_families, try_decoder

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
    pad_token_id=None,  # transformers does not train its row of the embeddings
)
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LISTS = {"short_factor": [1.0, 1.1, 1.3, 1.5], "long_factor": [1.0, 2.0, 3.5, 4.0]}
PHI = {**SIZES, "resid_pdrop": 0.0, "embd_pdrop": 0.0}


def family(name, kind, of="", alter=None, time=24, sizes=None, train=True, **more):
    """A family by the stem of its classes in transformers."""

    def make():
        config = getattr(transformers, f"{kind}Config")
        model = getattr(transformers, f"{kind.removesuffix('Text')}ForCausalLM")
        return model(config(**{**(sizes or SIZES), **more}))

    return Family(name, make, family=of or name, alter=alter, time=time, train=train)


def changed(**keys):
    """Gives config.json other keys; None takes one out."""

    def alter(folder):
        path = os.path.join(folder, "config.json")
        with open(path) as file:
            config = json.load(file)
        for name, value in keys.items():
            config.pop(name, None)
            if value is not None:
                config[name] = value
        with open(path, "w") as file:
            json.dump(config, file)

    return alter


def old_rope(folder):
    """As programs before transformers 5 wrote it: rope_theta and rope_scaling."""
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    if "partial_rotary_factor" in rope:
        config["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
    config["rope_scaling"] = rope if rope.get("rope_type", "default") != "default" else None
    with open(path, "w") as file:
        json.dump(config, file)


def old_gemma3(folder):
    """The keys of the folders of the first Gemma 3."""
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope["full_attention"].pop("rope_theta")
    config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
    config["rope_scaling"] = rope["full_attention"] if rope["full_attention"]["rope_type"] != "default" else None
    config.pop("layer_types")
    config["sliding_window_pattern"] = 3
    with open(path, "w") as file:
        json.dump(config, file)


def sharded(folder):
    """Two files and an index."""
    path = os.path.join(folder, "model.safetensors")
    weights = safetensors.torch.load_file(path)
    names = sorted(weights)
    parts = {"model-00001-of-00002.safetensors": names[: len(names) // 2], "model-00002-of-00002.safetensors": names[len(names) // 2 :]}
    for file, some in parts.items():
        safetensors.torch.save_file({name: weights[name] for name in some}, os.path.join(folder, file), {"format": "pt"})
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {}, "weight_map": {name: part for part, some in parts.items() for name in some}}, file)
    os.remove(path)


def pickled(folder):
    path = os.path.join(folder, "model.safetensors")
    torch.save(safetensors.torch.load_file(path), os.path.join(folder, "pytorch_model.bin"))
    os.remove(path)


GEMMA = dict(head_dim=12, hidden_activation="gelu_pytorch_tanh")
FAMILIES = [
    family("llama", "Llama"),
    family("llama_old_keys", "Llama", "llama", alter=old_rope, tie_word_embeddings=True),
    family("llama_sharded", "Llama", "llama", alter=sharded, head_dim=12, attention_bias=True, mlp_bias=True),
    family("llama_bin", "Llama", "llama", alter=pickled, train=False),
    family("llama_linear", "Llama", "llama", rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0}),
    family("llama_llama3", "Llama", "llama", rope_parameters={**LLAMA3, "rope_theta": 100.0}),
    family("llama_dynamic", "Llama", "llama", rope_parameters={"rope_type": "dynamic", "factor": 3.0, "rope_theta": 100.0}, max_position_embeddings=12),
    family("llama_dynamic_short", "Llama", "llama", rope_parameters={"rope_type": "dynamic", "factor": 3.0}, train=False),
    family("llama_yarn", "Llama", "llama", rope_parameters={**YARN, "rope_theta": 100.0}),
    family("llama_yarn_old", "Llama", "llama", alter=old_rope, rope_parameters={**YARN, "rope_theta": 50.0, "beta_fast": 8, "beta_slow": 2}, train=False),
    family("llama_yarn_mscale", "Llama", "llama", rope_parameters={**YARN, "rope_theta": 100.0, "mscale": 1.0, "mscale_all_dim": 0.5, "truncate": False}, train=False),
    family("llama_yarn_factor", "Llama", "llama", rope_parameters={**YARN, "rope_theta": 100.0, "attention_factor": 1.5}, train=False),
    family("llama_longrope", "Llama", "llama", rope_parameters={**LISTS, "rope_type": "longrope", "factor": 4.0, "rope_theta": 100.0, "original_max_position_embeddings": 16}),
    family("smollm2", "Llama", tie_word_embeddings=True, num_attention_heads=8, num_key_value_heads=1),
    family("qwen2", "Qwen2"),
    family("qwen2_tied", "Qwen2", "qwen2", tie_word_embeddings=True, alter=old_rope),
    family("qwen2_window", "Qwen2", "qwen2", use_sliding_window=True, sliding_window=5, max_window_layers=1),
    family("qwen2_window_old", "Qwen2", "qwen2", use_sliding_window=True, sliding_window=5, max_window_layers=2, alter=changed(layer_types=None), train=False),
    family("qwen2_window_all", "Qwen2", "qwen2", use_sliding_window=True, sliding_window=5, max_window_layers=0, train=False),
    family("qwen3", "Qwen3", head_dim=12),
    family("qwen3_tied", "Qwen3", "qwen3", head_dim=8, tie_word_embeddings=True, attention_bias=True, alter=old_rope),
    family("qwen3_window", "Qwen3", "qwen3", head_dim=16, use_sliding_window=True, sliding_window=5, max_window_layers=2, train=False),
    family("mistral", "Mistral", sliding_window=5, head_dim=12),
    family("mistral_full", "Mistral", "mistral", sliding_window=None),
    family("mistral_key_missing", "Mistral", "mistral", sliding_window=4096, alter=changed(sliding_window=None), train=False),
    family("smollm3", "SmolLM3", no_rope_layer_interval=2),
    family("smollm3_list", "SmolLM3", "smollm3", no_rope_layers=[1, 1, 0], tie_word_embeddings=False, train=False),
    family("smollm3_old", "SmolLM3", "smollm3", no_rope_layer_interval=3, alter=changed(no_rope_layers=None, layer_types=None), train=False),
    family("smollm3_window", "SmolLM3", "smollm3", no_rope_layer_interval=2, use_sliding_window=True, sliding_window=5, alter=changed(layer_types=None), train=False),
    family("gemma", "Gemma", head_dim=12, num_key_value_heads=1),
    family("gemma_old_activation", "Gemma", "gemma", head_dim=8, alter=changed(hidden_act="gelu", hidden_activation="gelu_pytorch_tanh"), train=False),
    family("gemma2", "Gemma2", **GEMMA, sliding_window=5, query_pre_attn_scalar=20, attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
    family("gemma2_layers", "Gemma2", "gemma2", **GEMMA, sliding_window=5, alter=changed(layer_types=None), num_hidden_layers=4, train=False),
    family("gemma3_text", "Gemma3Text", **GEMMA, num_hidden_layers=7, sliding_window=5, query_pre_attn_scalar=20),
    family(
        "gemma3_text_old",
        "Gemma3Text",
        "gemma3_text",
        **GEMMA,
        sliding_window=5,
        alter=old_gemma3,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        rope_parameters={
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        },
    ),
    family("phi3", "Phi3", sizes=PHI, sliding_window=5),
    family("phi3_partial", "Phi3", "phi3", sizes=PHI, rope_parameters={"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}, tie_word_embeddings=True),
    family("phi3_longrope", "Phi3", "phi3", sizes=PHI, original_max_position_embeddings=16, rope_parameters={**LISTS, "rope_type": "longrope", "rope_theta": 100.0}),
    family("phi3_longrope_short", "Phi3", "phi3", sizes=PHI, original_max_position_embeddings=32, rope_parameters={**LISTS, "rope_type": "longrope", "rope_theta": 100.0}, train=False),
    family("phi3_old", "Phi3", "phi3", sizes=PHI, original_max_position_embeddings=16, alter=old_rope, rope_parameters={**LISTS, "rope_type": "longrope", "rope_theta": 100.0}, train=False),
    family("olmo2", "Olmo2"),
    family("olmo2_tied", "Olmo2", "olmo2", tie_word_embeddings=True, attention_bias=True, train=False),
]

PROMPT, NEW = 18, 12


def generated(family):
    """The most likely tokens one after the other, with the keys and values of those before."""
    prompt = list(open("text.bin", "rb").read(PROMPT))
    numbers = ",".join(map(str, prompt))
    more = ("--greedy", "--numbers", "--json", "--max_new_tokens", str(NEW))
    said, _ = run("generate", "run.yaml", "--checkpoint_path", "theirs", "--prompt", numbers, *more)
    model, tokens = transformers.AutoModelForCausalLM.from_pretrained("theirs", dtype=torch.float32).eval(), prompt
    for _ in range(NEW):
        with torch.no_grad():
            tokens = [*tokens, int(model(torch.tensor([tokens]), use_cache=False).logits[0, -1].argmax())]
    ours, wanted, end = json.loads(said.splitlines()[-1])["tokens"], tokens[PROMPT:], model.generation_config.eos_token_id
    wanted = wanted[: wanted.index(end)] if end in wanted else wanted  # a text ends before its token
    assert ours == wanted, (ours, wanted)


def attempt(family):
    said = try_decoder(family)
    # Whose base depends on the length of a sequence, decodes with that of the whole text.
    if family.train and "dynamic" not in family.name:
        generated(family)
        said["generated"] = NEW
    return said


if __name__ == "__main__":
    run_families(FAMILIES, attempt)
