"""Distillation beside PyTorch: a Llama learns from a GPT-2, as a folder, a GGUF and a checkpoint, with the losses
of Hinton's formula for 20 steps.

Run: python3 distillation.py CSENGINE FOLDER
"""

import csv
import os
import subprocess

import torch
import torch.nn.functional as functional
from folders import csengine, run, transformers

torch.manual_seed(3)
TIME, STEPS, BATCH, RATE, VOCABULARY = 16, 20, 4, 0.1, 96
student = transformers.LlamaConfig(
    vocab_size=VOCABULARY,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=1,
    max_position_embeddings=TIME,
)
teacher = transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=TIME)
other = transformers.GPT2Config(vocab_size=VOCABULARY + 1, n_embd=32, n_layer=2, n_head=4, n_positions=TIME)
for name, model_class, config in (
    ("student", transformers.LlamaForCausalLM, student),
    ("teacher", transformers.GPT2LMHeadModel, teacher),
    ("other", transformers.GPT2LMHeadModel, other),
):
    model = model_class(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(name)
data = torch.randint(0, VOCABULARY, (STEPS * BATCH * TIME + 1,)).tolist()
with open("text.bin", "wb") as file:
    file.write(bytes(data))
rows = torch.tensor([data[i * TIME : (i + 1) * TIME + 1] for i in range(STEPS * BATCH)])
section = subprocess.run(
    [csengine, "checkpoint", "convert", "student", "base.mdl", "--print_model"], capture_output=True, text=True, check=True
).stdout


def configuration(name, path, alpha, temperature, micro_batch_size=BATCH):
    with open(f"{name}.yaml", "w") as file:
        file.write(section + f"""    objective: {{distillation: {{teacher: {path}, alpha: {alpha}, temperature: {temperature}}}}}
    model_dir: {name}
    backend: {{compile_dir: compiled}}
    optimizer: {{SGD: {{learning_rate: {RATE}}}}}
    loop: {{num_steps: {STEPS}}}
    logging: {{log_steps: 1}}
    loggers: [CSVLogger]
  fit:
    train_dataloader: {{data_processor: text_bytes, path: text.bin, sequence_length: {TIME}, batch_size: {BATCH}, micro_batch_size: {micro_batch_size}, shuffle: false}}
""")


def ours(name):
    run("start", f"{name}.yaml", "--weights", "student", "--no_dashboard")
    series = {}
    with open(f"{name}/metrics.csv") as file:
        for row in list(csv.reader(file))[1:]:
            series.setdefault(row[2], []).append(float(row[3]))
    return series


def theirs(alpha, temperature):
    model = transformers.LlamaForCausalLM.from_pretrained("student")
    guide = transformers.GPT2LMHeadModel.from_pretrained("teacher").eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    for step in range(STEPS):
        block = rows[step * BATCH : (step + 1) * BATCH]
        logits = model(block[:, :-1]).logits.flatten(0, 1)
        with torch.no_grad():
            wanted = guide(block[:, :-1]).logits.flatten(0, 1)
        divergence = functional.kl_div(
            functional.log_softmax(logits / temperature, -1), functional.softmax(wanted / temperature, -1), reduction="batchmean"
        )
        own = functional.cross_entropy(logits, block[:, 1:].flatten())
        loss = alpha * temperature**2 * divergence + (1 - alpha) * own
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


run("checkpoint", "convert", "teacher", "teacher.gguf")
run("checkpoint", "convert", "teacher", "teacher.mdl")
for name, path, alpha, temperature, micro in (
    ("half", "teacher", 0.5, 2, BATCH),
    ("parts", "teacher", 0.5, 2, 1),
    ("gguf", "teacher.gguf", 0.9, 3, BATCH),
    ("checkpoint", "teacher.mdl", 1, 1, 2),
):
    configuration(name, path, alpha, temperature, micro)
    got, wanted = ours(name)["loss"], theirs(alpha, temperature)
    worst = max(abs(a - b) for a, b in zip(got, wanted, strict=True))
    print(f"{name}: losses {wanted[0]:.5f} to {wanted[-1]:.5f} differ by {worst:.2g}")
    assert worst <= 1e-4, name

configuration("refused", "other", 0.5, 2)
result = subprocess.run([csengine, "start", "refused.yaml", "--no_dashboard"], capture_output=True, text=True)
assert result.returncode != 0 and "the same vocabulary" in result.stderr, result.stderr
assert not os.path.exists("refused/checkpoint_20.mdl")
