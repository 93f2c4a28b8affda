"""Llamas of one layer whose matrices GPTQ, AWQ and bitsandbytes pack, as folders of Hugging Face: of quantized_folders.py
with groups of 32 inputs, or in the orders and sizes that no blocks have.

Usage: packed_models.py FOLDER"""
import json
import os
import random
import struct
import sys

import quantized_folders as q

HIDDEN, FILTER, VOCABULARY, HEADS = 64, 32, 96, 2
PACKED = {"self_attn.k_proj": "a", "self_attn.v_proj": "b", "mlp.gate_proj": "c", "mlp.up_proj": "d"}
NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
       -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
FP4 = [s * v / 12 for s in (1, -1) for v in (0, 0.0625, 8, 12, 4, 6, 2, 3)]
FP4[8] = 0.0


def plain(rng, shape):
    count = 1
    for size in shape:
        count *= size
    return q.tensor("F32", shape, [q.single(rng.gauss(0, 0.1)) for _ in range(count)])


def levels(tensors, values, kind):
    """The packed matrix with other levels, as one of that kind."""
    changed = {name.replace("__nf4", f"__{kind}"): value for name, value in tensors.items()}
    changed["a.weight.quant_map"] = q.tensor("F32", [16], [q.single(v) for v in values])
    return changed


def matrices(rng, kind):
    """The tensors of one packed matrix [32, 64], and quantization_config."""
    q.GROUP = 16 if kind == "gptq_small" else 32
    bits = {"gptq2": 2, "gptq8": 8}.get(kind, 4)
    if kind.startswith("gptq"):
        shuffle = rng.shuffle
        if kind != "gptq_mixed":
            rng.shuffle = lambda group: None
        tensors, config, _ = q.gptq(rng, bits, "gptq_v2" if kind == "gptq_v2" else None)
        rng.shuffle = shuffle
    elif kind == "awq":
        tensors, config, _ = q.awq(rng)
    elif kind == "int8":
        tensors, config, _ = q.int8(rng)
    else:
        tensors, config, _ = q.nf4(rng, kind == "nf4_nested")
        if kind != "nf4_levels":
            tensors = levels(tensors, FP4 if kind == "fp4" else NF4, "fp4" if kind == "fp4" else "nf4")
        config["bnb_4bit_quant_type"] = "fp4" if kind == "fp4" else "nf4"
    return tensors, config


def model(kind):
    rng = random.Random(kind)
    tensors = {"model.embed_tokens.weight": plain(rng, [VOCABULARY, HIDDEN]), "model.norm.weight": plain(rng, [HIDDEN])}
    layer = "model.layers.0."
    for name, shape in (("self_attn.q_proj", [HIDDEN, HIDDEN]), ("self_attn.o_proj", [HIDDEN, HIDDEN]),
                        ("mlp.down_proj", [HIDDEN, FILTER])):
        tensors[f"{layer}{name}.weight"] = plain(rng, shape)
    for name in ("input_layernorm", "post_attention_layernorm"):
        tensors[f"{layer}{name}.weight"] = plain(rng, [HIDDEN])
    for name in PACKED:
        packed, config = matrices(rng, kind)
        tensors.update({f"{layer}{name}{end[1:]}": value for end, value in packed.items()})
    facts = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": VOCABULARY, "hidden_size": HIDDEN,
             "intermediate_size": FILTER, "num_hidden_layers": 1, "num_attention_heads": HEADS, "num_key_value_heads": 1,
             "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": True,
             "rope_theta": 10000.0, "quantization_config": config}
    return tensors, facts


def write(folder):
    for kind in ("gptq2", "gptq4", "gptq8", "gptq_v2", "gptq_mixed", "gptq_small", "awq", "nf4", "nf4_nested", "nf4_levels", "fp4",
                 "int8"):
        tensors, facts = model(kind)
        os.makedirs(os.path.join(folder, kind))
        header, data = {}, b""
        for key, (code, shape, raw) in tensors.items():
            header[key] = {"dtype": code, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(header).encode()
        with open(os.path.join(folder, kind, "model.safetensors"), "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + data)
        with open(os.path.join(folder, kind, "config.json"), "w") as out:
            json.dump(facts, out)


if __name__ == "__main__":
    write(sys.argv[1])
