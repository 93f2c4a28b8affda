"""Adapters beside PEFT: the same losses for 20 steps from the same factors, a merged folder with the
logits of the adapted model, and a folder that PEFT opens.

Run: python3 adapters.py CSENGINE FOLDER
"""

import os
import subprocess

import numpy
import peft
import torch
from folders import csengine, run, transformers
from safetensors.torch import load_file

torch.manual_seed(3)
TIME, STEPS, BATCH, RATE = 16, 20, 2, 0.1
OURS = {
    "self_attn.proj_q_dense_layer": "self_attn.q_proj",
    "self_attn.proj_k_dense_layer": "self_attn.k_proj",
    "self_attn.proj_v_dense_layer": "self_attn.v_proj",
    "self_attn.proj_output_dense_layer": "self_attn.o_proj",
    "ffn.ffn.0.linear_layer_for_glu": "mlp.gate_proj",
    "ffn.ffn.0.linear_layer": "mlp.up_proj",
    "ffn.ffn.1.linear_layer": "mlp.down_proj",
}
config = transformers.LlamaConfig(
    vocab_size=96,
    hidden_size=32,
    intermediate_size=40,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=TIME,
    tie_word_embeddings=True,
)
base = transformers.LlamaForCausalLM(config)
with torch.no_grad():
    for parameter in base.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
base.save_pretrained("theirs")
data = torch.randint(0, 96, (STEPS * BATCH * TIME + 1,)).tolist()
with open("text.bin", "wb") as file:
    file.write(bytes(data))
rows = torch.tensor([data[i * TIME : (i + 1) * TIME + 1] for i in range(STEPS * BATCH)])
section = subprocess.run(
    [csengine, "checkpoint", "convert", "theirs", "base.mdl", "--print_model"], capture_output=True, text=True, check=True
).stdout


def configuration(name, adapters):
    with open(f"{name}.yaml", "w") as file:
        file.write(section + f"""    adapters: {{default: {adapters}}}
    model_dir: {name}
    backend: {{compile_dir: compiled}}
    optimizer: {{SGD: {{learning_rate: {RATE}}}}}
    loop: {{num_steps: {STEPS}}}
    checkpoint: {{steps: {STEPS}, save_initial_checkpoint: true}}
    logging: {{log_steps: 1}}
    loggers: [CSVLogger]
  fit:
    train_dataloader: {{data_processor: text_bytes, path: text.bin, sequence_length: {TIME}, batch_size: {BATCH}, shuffle: false}}
""")


def factors(checkpoint):
    """The adapter's factors of a checkpoint, by PEFT's names of their modules."""
    path = f"{checkpoint}.safetensors"
    if not os.path.exists(path):
        run("checkpoint", "convert", checkpoint, path, "--all")
    found = {}
    for name, value in load_file(path).items():
        if not name.startswith("model.transformer_decoder.layers.") or ".lora_" not in name:
            continue
        layer, rest = name.removeprefix("model.transformer_decoder.layers.").split(".", 1)
        module, factor = rest.split(".lora_")
        found[f"model.layers.{layer}.{OURS[module]}", factor[0]] = value
    return found


def paired(value, heads):
    """Rows of each head in halves, where they were in pairs."""
    size = value.shape[0] // heads
    return value.reshape(heads, size // 2, 2, -1).swapaxes(1, 2).reshape(value.shape)


def theirs_of(module, factor, value):
    heads = {"q_proj": 4, "k_proj": 2}.get(module.rsplit(".", 1)[1])
    return paired(value, heads) if factor == "B" and heads else value


def put(model, values):
    modules = dict(model.get_base_model().named_modules())
    for (module, factor), value in values.items():
        layer = getattr(modules[module], f"lora_{factor}")["default"]
        assert layer.weight.shape == value.shape, (module, factor)
        with torch.no_grad():
            layer.weight.copy_(theirs_of(module, factor, value))


def trained(model):
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=RATE)
    losses = []
    for step in range(STEPS):
        block = rows[step * BATCH : (step + 1) * BATCH]
        logits = model(block[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), block[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def logits_of(model):
    with torch.no_grad():
        return model(rows[:2, :-1], use_cache=False).logits.numpy()


def ours(name, checkpoint):
    run("predict", f"{name}.yaml", "--checkpoint_path", checkpoint, "--samples", "2", "--format", "npy", "--file", f"{name}.npy")
    return numpy.load(f"{name}.npy").reshape(2, TIME, -1)


def near(what, got, wanted, tolerance=1e-5):
    worst = abs(got - wanted).max() / numpy.ptp(wanted)
    print(f"{what}: differ by {worst:.2g} of their range")
    assert worst <= tolerance, what


CASES = {
    "all_linear": ("{r: 4, lora_alpha: 8}", dict(r=4, lora_alpha=8, target_modules="all-linear")),
    "targets": (
        "{r: 2, lora_alpha: 6, target_modules: [q_proj, v_proj, down_proj], use_rslora: true}",
        dict(r=2, lora_alpha=6, target_modules=["q_proj", "v_proj", "down_proj"], use_rslora=True),
    ),
    "one_layer": (
        "{r: 3, target_modules: [k_proj, up_proj], layers_to_transform: [1], modules_to_save: [norm3]}",
        dict(r=3, lora_alpha=8, target_modules=["k_proj", "up_proj"], layers_to_transform=[1], modules_to_save=["post_attention_layernorm"]),
    ),
}
for name, (adapters, theirs) in CASES.items():
    configuration(name, adapters)
    run("start", f"{name}.yaml", "--weights", "theirs", "--no_dashboard")
    with open(f"{name}/metrics.csv") as file:
        lines = [line.strip().split(",") for line in file][1:]
    losses = [float(line[3]) for line in lines if line[2] == "loss"]
    model = peft.get_peft_model(transformers.LlamaForCausalLM.from_pretrained("theirs"), peft.LoraConfig(**theirs))
    begun = factors(f"{name}/checkpoint_0.mdl")
    assert begun and all((value == 0).all() == (factor == "B") for (_, factor), value in begun.items())
    put(model, begun)
    expected = trained(model)
    worst = max(abs(a - b) / b for a, b in zip(losses, expected))
    print(f"{name}: {len(begun) // 2} layers, loss {losses[0]:.4f} to {losses[-1]:.4f}, largest difference {worst:.2g}")
    assert len(losses) == STEPS and worst <= 1e-5, (losses, expected)
    assert abs(losses[0] - losses[-1]) > 1e-2
    last = f"{name}/checkpoint_{STEPS}.mdl"
    near(f"{name}, adapted here", ours(name, last), logits_of(model))

    # Merged on the way out; the base alone is what it was.
    run("checkpoint", "convert", last, f"{name}_merged")
    merged = transformers.LlamaForCausalLM.from_pretrained(f"{name}_merged").eval()
    near(f"{name}, merged", logits_of(merged), logits_of(model))

    # PEFT's files.
    run("checkpoint", "convert", last, f"{name}_adapter", "--to", "peft")
    opened = peft.PeftModel.from_pretrained(transformers.LlamaForCausalLM.from_pretrained("theirs"), f"{name}_adapter")
    near(f"{name}, opened by PEFT", logits_of(opened.eval()), logits_of(model))
print(f"transformers {transformers.__version__}, peft {peft.__version__}")
