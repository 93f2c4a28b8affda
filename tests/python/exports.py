"""Folders and GGUF files that leave: what they had when they came, and the values of their readers.

Run: python3 exports.py CSENGINE FOLDER
"""

import filecmp
import json
import os
import subprocess

import gguf
import numpy
import torch
from folders import csengine, run, transformers

torch.manual_seed(9)
TIME = 16
SIDE = {
    "tokenizer.json": '{"version": "1.0"}\n',
    "tokenizer_config.json": '{"model_max_length": 16}\n',
    "special_tokens_map.json": '{"eos_token": "x"}\n',
    "chat_template.jinja": "{{ messages }}\n",
    "vocab.json": "{}\n",
    "merges.txt": "#version: 0.2\n",
}
config = transformers.LlamaConfig(
    vocab_size=96,
    hidden_size=32,
    intermediate_size=40,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    max_position_embeddings=TIME,
    attention_bias=True,
    mlp_bias=True,
    rope_parameters={
        "rope_type": "llama3",
        "rope_theta": 500.0,
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    },
    bos_token_id=5,
    eos_token_id=[6, 7],
    pad_token_id=0,
)


def seeded(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


def logits(folder):
    with torch.no_grad():
        return transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()(tokens).logits.numpy()


def ours(section, checkpoint):
    with open("run.yaml", "w") as file:
        file.write(section + f"""    model_dir: run
    backend: {{compile_dir: compiled}}
    optimizer: {{SGD: {{learning_rate: 0.05}}}}
    loop: {{num_steps: 2}}
    checkpoint: {{steps: 2}}
  fit:
    train_dataloader: {{data_processor: text_bytes, path: text.bin, sequence_length: {TIME}, batch_size: 1, shuffle: false}}
""")
    if checkpoint is None:
        return None
    if os.path.exists("x.npy"):
        os.remove("x.npy")
    said = run("predict", "run.yaml", "--checkpoint_path", checkpoint, "--samples", "1", "--format", "npy", "--file", "x.npy")
    assert "step 0" not in said, said
    return numpy.load("x.npy").reshape(1, TIME, -1)


def near(name, got, wanted):
    worst = abs(got - wanted).max()
    print(f"{name}: largest difference {worst:.3g} of {numpy.ptp(wanted):.3g}")
    assert worst <= 1e-5 * numpy.ptp(wanted), name


def check_folder(name):
    with open(f"{name}/config.json") as file:
        told = json.load(file)
    for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
        assert told[key] == getattr(config, key), (name, key, told)
    for file in (*SIDE, "generation_config.json"):
        assert filecmp.cmp(f"{name}/{file}", f"theirs/{file}", shallow=False), (name, file)
    generation = transformers.GenerationConfig.from_pretrained(name)
    assert generation.temperature == 0.5 and generation.eos_token_id == [6, 7], generation


tokens = torch.randint(8, 96, (1, TIME))
with open("text.bin", "wb") as file:
    file.write(bytes(tokens[0].tolist()) + bytes(range(8, 40)))
model = seeded(transformers.LlamaForCausalLM(config))
model.generation_config = transformers.GenerationConfig(
    temperature=0.5, do_sample=True, bos_token_id=5, eos_token_id=[6, 7], pad_token_id=0
)
model.save_pretrained("theirs")
for name, text in SIDE.items():
    with open(f"theirs/{name}", "w") as file:
        file.write(text)
wanted = logits("theirs")

# A folder of a folder; and of a checkpoint, whose ids it has in itself.
run("checkpoint", "convert", "theirs", "folder")
check_folder("folder")
assert (logits("folder") == wanted).all()
said = subprocess.run([csengine, "checkpoint", "convert", "theirs", "x.mdl", "--print_model"], capture_output=True, text=True)
assert said.returncode == 0, said.stderr
section = said.stdout
assert "tokenizer.json" in said.stderr and "--side_files" in said.stderr, said.stderr
near("theirs here", ours(section, "theirs"), wanted)
run("checkpoint", "convert", "x.mdl", "alone")
with open("alone/config.json") as file:
    assert json.load(file)["eos_token_id"] == [6, 7]
assert transformers.GenerationConfig.from_pretrained("alone").temperature == 0.5
assert not os.path.exists("alone/tokenizer.json")
assert (logits("alone") == wanted).all()
run("checkpoint", "convert", "x.mdl", "named", "--side_files", "theirs")
check_folder("named")

# A training that begins with it.
run("start", "run.yaml", "--weights", "theirs", "--no_dashboard")
run("checkpoint", "convert", "run/checkpoint_2.mdl", "tuned")
check_folder("tuned")
near("trained here", ours(section, "run/checkpoint_2.mdl"), logits("tuned"))
assert abs(logits("tuned") - wanted).max() > 1e-3, "training has changed nothing"

# One that was made here: no ids are invented where none are known.
run("start", "run.yaml", "--model_dir", "fresh", "--no_dashboard")
run("checkpoint", "convert", "fresh/checkpoint_2.mdl", "made_here")
made = transformers.AutoConfig.from_pretrained("made_here")
assert made.bos_token_id is None and made.eos_token_id is None, made
generation = transformers.GenerationConfig.from_pretrained("made_here")
assert generation.pad_token_id == 0, generation  # of the section model
assert generation.bos_token_id is None and generation.eos_token_id is None, generation
assert section.count("pad_token_id: 0\n") == 1, section
ours("".join(line for line in section.splitlines(True) if "pad_token_id" not in line), None)
run("checkpoint", "convert", "fresh/checkpoint_2.mdl", "no_ids", "--config", "run.yaml")
assert not os.path.exists("no_ids/generation_config.json")
near("made here", ours(section, "fresh/checkpoint_2.mdl"), logits("made_here"))

# GGUF: an independent reader's facts, factors by transformers' own formula, rows in pairs.
run("checkpoint", "convert", "x.mdl", "x.gguf")
reader = gguf.GGUFReader("x.gguf")
weights = {tensor.name: torch.from_numpy(tensor.data.copy()) for tensor in reader.tensors}
fact = {name: field.contents() for name, field in reader.fields.items()}
assert fact["tokenizer.ggml.bos_token_id"] == 5 and fact["tokenizer.ggml.eos_token_id"] == 6, fact
assert fact["tokenizer.ggml.padding_token_id"] == 0, fact
assert fact["llama.rope.freq_base"] == 500.0 and fact["llama.rope.scaling.original_context_length"] == 64, fact
known = {value for group in vars(gguf.Keys).values() if isinstance(group, type) for value in vars(group).values() if isinstance(value, str)}
unknown = [name for name in fact if not name.startswith("GGUF.") and name.replace("llama.", "{arch}.") not in known]
assert not unknown, unknown
plain = 500.0 ** (-torch.arange(0, 16, 2, dtype=torch.float64) / 16)
scaled = model.model.rotary_emb.inv_freq.double()
assert torch.allclose(weights["rope_freqs.weight"].double(), plain / scaled, rtol=1e-5)
assert weights["rope_freqs.weight"].max() > 1
state = model.state_dict()
for theirs, name, heads in (("q_proj", "attn_q", 2), ("k_proj", "attn_k", 1)):
    for part in ("weight", "bias"):
        value = state[f"model.layers.1.self_attn.{theirs}.{part}"]
        paired = value.reshape(heads, 2, value.shape[0] // heads // 2, *value.shape[1:]).swapaxes(1, 2).reshape(value.shape)
        assert torch.equal(weights[f"blk.1.{name}.{part}"], paired), (name, part)
for theirs, name in (("self_attn.v_proj", "attn_v"), ("self_attn.o_proj", "attn_output"), ("mlp.gate_proj", "ffn_gate"), ("mlp.up_proj", "ffn_up"), ("mlp.down_proj", "ffn_down")):
    assert torch.equal(weights[f"blk.0.{name}.bias"], state[f"model.layers.0.{theirs}.bias"]), name
near("gguf here", ours(section, "x.gguf"), wanted)
run("checkpoint", "convert", "x.gguf", "y.mdl")
run("checkpoint", "convert", "y.mdl", "of_gguf")
assert (logits("of_gguf") == wanted).all()
with open("of_gguf/config.json") as file:
    told = json.load(file)
assert told["bos_token_id"] == 5 and told["eos_token_id"] == 6 and told["pad_token_id"] == 0, told

# Linear scaling; and tied weights, whose printed section loads the file.
linear = transformers.LlamaConfig(**{**config.to_dict(), "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False,
                                     "rope_parameters": {"rope_type": "linear", "factor": 3.0, "rope_theta": 700.0}})
seeded(transformers.LlamaForCausalLM(linear)).save_pretrained("linear")
run("checkpoint", "convert", "linear", "linear.gguf")
fact = {name: field.contents() for name, field in gguf.GGUFReader("linear.gguf").fields.items()}
# llama.cpp takes positions with a factor and no type as linearly scaled.
assert fact.get("llama.rope.scaling.type", "linear") == "linear" and fact["llama.rope.scaling.factor"] == 3.0, fact
section = run("checkpoint", "convert", "linear.gguf", "linear.mdl", "--print_model")
assert "share_embedding_weights: true" in section, section
near("linear gguf", ours(section, "linear.gguf"), logits("linear"))
print(f"transformers {transformers.__version__}, gguf {getattr(gguf, '__version__', '')}")
