"""QLoRA beside PEFT: the losses of 20 steps over weights that stay packed (Q8_0 and Q4_0 of GGUF) are those of PEFT over the
same weights unpacked by the Python package `gguf`.

Run: python3 qlora.py CSENGINE FOLDER
"""

import subprocess

import gguf
import numpy
import peft
import torch
from folders import csengine, run, transformers

torch.manual_seed(3)
torch.set_num_threads(1)
TIME, STEPS, BATCH, RATE = 16, 20, 2, 0.1
config = transformers.LlamaConfig(
    vocab_size=96,
    hidden_size=64,
    intermediate_size=96,
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


def ours(name):
    """The losses of csengine, and the factors that its adapter begins with."""
    with open(f"{name}.yaml", "w") as file:
        file.write(section + f"""    adapters: {{default: {{r: 4, lora_alpha: 8, target_modules: [v_proj, down_proj, up_proj]}}}}
    model_dir: {name}
    backend: {{compile_dir: compiled}}
    weights_in_memory: packed
    optimizer: {{SGD: {{learning_rate: {RATE}}}}}
    loop: {{num_steps: {STEPS}}}
    checkpoint: {{steps: {STEPS}, save_initial_checkpoint: true}}
    logging: {{log_steps: 1}}
    loggers: [CSVLogger]
  fit:
    train_dataloader: {{data_processor: text_bytes, path: text.bin, sequence_length: {TIME}, batch_size: {BATCH}, shuffle: false}}
""")
    run("checkpoint", "convert", "theirs", f"{name}.gguf", "--dtype", name)
    run("start", f"{name}.yaml", "--weights", f"{name}.gguf", "--no_dashboard")
    run("checkpoint", "convert", f"{name}/checkpoint_0.mdl", f"{name}_adapter", "--to", "peft")
    with open(f"{name}/metrics.csv") as file:
        lines = [line.rstrip().split(",") for line in file][1:]
    return [float(line[3]) for line in lines if line[2] == "loss"]


def theirs(name):
    """The losses of PEFT over the weights that the Python package `gguf` unpacks, whose names csengine maps back."""
    run("checkpoint", "convert", f"{name}.gguf", f"{name}_folder")
    model = transformers.AutoModelForCausalLM.from_pretrained(f"{name}_folder", torch_dtype=torch.float32)
    read = {t.name: t for t in gguf.GGUFReader(f"{name}.gguf").tensors}
    up = gguf.quants.dequantize(read["blk.1.ffn_up.weight"].data, read["blk.1.ffn_up.weight"].tensor_type)
    assert numpy.array_equal(model.model.layers[1].mlp.up_proj.weight.detach().numpy(), up), "other values"
    model = peft.PeftModel.from_pretrained(model, f"{name}_adapter", is_trainable=True)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=RATE)
    losses = []
    for step in range(STEPS):
        block = rows[step * BATCH : (step + 1) * BATCH]
        loss = torch.nn.functional.cross_entropy(model(block[:, :-1]).logits.flatten(0, 1), block[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


for name in ("q8_0", "q4_0"):
    here, there = ours(name), theirs(name)
    assert len(here) == STEPS, here
    worst = max(abs(a - b) for a, b in zip(here, there))
    assert worst < 1e-4, (name, worst, here, there)
    print(f"{name}: {STEPS} losses as PEFT's, the worst {worst:.1e} off")
