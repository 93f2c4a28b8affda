"""Adapters of PEFT trained on here: from a folder of PEFT the same losses for 20 steps as PEFT has,
for layers that are several of ours in one module of transformers, for DoRA, and for what is trained
besides; and out again, a folder with which PEFT has the same logits.

Run: python3 adapters_on.py CSENGINE FOLDER
"""

import subprocess

import peft
import torch
from folders import csengine, run, transformers

torch.manual_seed(7)
TIME, STEPS, BATCH, RATE = 12, 20, 2, 0.1
SIZES = dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=TIME)
MODELS = {
    "llama": transformers.LlamaConfig(intermediate_size=40, num_key_value_heads=2, tie_word_embeddings=True, **SIZES),
    "gpt2": transformers.GPT2Config(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=TIME, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0),
    "gpt_neox": transformers.GPTNeoXConfig(intermediate_size=48, tie_word_embeddings=False, **SIZES),
    "phi3": transformers.Phi3Config(intermediate_size=40, num_key_value_heads=2, pad_token_id=None, bos_token_id=1, eos_token_id=2, **SIZES),
}
CASES = {
    "llama": {
        "plain": dict(r=4, lora_alpha=8, target_modules="all-linear"),
        "dora": dict(r=4, lora_alpha=8, use_dora=True, target_modules="all-linear"),
        "patterns": dict(
            r=3, use_rslora=True, target_modules=["q_proj", "v_proj", "up_proj"], exclude_modules=["layers.1.self_attn.v_proj"],
            rank_pattern={r"layers\.0\.self_attn\.q_proj": 5, "v_proj": 2}, alpha_pattern={"up_proj": 12},
        ),
        "saved": dict(r=2, target_modules=["k_proj"], modules_to_save=["norm", "post_attention_layernorm"]),
    },
    "gpt2": {
        "plain": dict(r=4, lora_alpha=8, target_modules="all-linear", fan_in_fan_out=True),
        "biases": dict(r=2, target_modules=["c_attn"], fan_in_fan_out=True, bias="all"),
        "own_biases": dict(r=2, target_modules=["c_fc", "c_attn"], fan_in_fan_out=True, bias="lora_only"),
        "dora": dict(r=4, use_dora=True, target_modules=["c_attn", "mlp.c_proj"], fan_in_fan_out=True),
    },
    "gpt_neox": {"plain": dict(r=4, target_modules="all-linear"), "dora": dict(r=2, use_dora=True, target_modules=["query_key_value"])},
    "phi3": {"plain": dict(r=4, target_modules="all-linear"), "dora": dict(r=2, use_dora=True, target_modules=["qkv_proj", "gate_up_proj"])},
}  # fmt: skip
data = torch.randint(0, 96, (STEPS * BATCH * TIME + 1,)).tolist()
with open("text.bin", "wb") as file:
    file.write(bytes(data))
rows = torch.tensor([data[i * TIME : (i + 1) * TIME + 1] for i in range(STEPS * BATCH)])


def base_of(name):
    return transformers.AutoModelForCausalLM.from_pretrained(name)


def logits_of(model):
    with torch.no_grad():
        return model.eval()(rows[:2, :-1], use_cache=False).logits


def near(what, got, wanted, tolerance=2e-5):
    worst = ((got - wanted).abs().max() / (wanted.max() - wanted.min())).item()
    print(f"{what}: differ by {worst:.2g} of their range")
    assert worst <= tolerance, what


def disturbed(model):
    with torch.no_grad():
        for value in model.parameters():
            if value.requires_grad:
                value.add_(0.05 * torch.randn_like(value))
    return model


def configuration(section, name, adapters):
    with open(f"{name}.yaml", "w") as file:
        file.write(section + f"""    adapters: {adapters}
    model_dir: {name}_run
    backend: {{compile_dir: compiled}}
    optimizer: {{SGD: {{learning_rate: {RATE}}}}}
    loop: {{num_steps: {STEPS}}}
    checkpoint: {{steps: {STEPS}}}
    logging: {{log_steps: 1}}
    loggers: [CSVLogger]
  fit:
    train_dataloader: {{data_processor: text_bytes, path: text.bin, sequence_length: {TIME}, batch_size: {BATCH}, shuffle: false}}
""")


def losses_of(folder):
    with open(f"{folder}/metrics.csv") as file:
        lines = [line.strip().split(",") for line in file][1:]
    return [float(line[3]) for line in lines if line[2] == "loss"]


def trained(model):
    model.train()
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


for name, config in MODELS.items():
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(name)
    section = subprocess.run(
        [csengine, "checkpoint", "convert", name, f"{name}.mdl", "--print_model"], capture_output=True, text=True, check=True
    ).stdout
    for case, settings in CASES[name].items():
        run_name = f"{name}_{case}"
        adapted = disturbed(peft.get_peft_model(base_of(name), peft.LoraConfig(**settings)))
        adapted.save_pretrained(f"{run_name}_begun")
        configuration(section, run_name, f"{{mine: {{path: {run_name}_begun}}}}")
        run("start", f"{run_name}.yaml", "--weights", name, "--no_dashboard")
        expected, losses = trained(adapted), losses_of(f"{run_name}_run")
        worst = max(abs(a - b) / b for a, b in zip(losses, expected))
        print(f"{run_name}: loss {losses[0]:.4f} to {losses[-1]:.4f}, largest difference {worst:.2g}")
        assert len(losses) == STEPS and worst <= 1e-4, (losses, expected)
        last = f"{run_name}_run/checkpoint_{STEPS}.mdl"
        run("checkpoint", "convert", last, f"{run_name}_merged")
        near(f"{run_name}, merged", logits_of(base_of(f"{run_name}_merged")), logits_of(adapted))
        run("checkpoint", "convert", last, f"{run_name}_out", "--to", "peft")
        opened = peft.PeftModel.from_pretrained(base_of(name), f"{run_name}_out")
        near(f"{run_name}, opened by PEFT", logits_of(opened), logits_of(adapted))

# A part of a module alone, which no adapter of PEFT has, leaves as one of the whole module.
configuration(
    subprocess.run([csengine, "checkpoint", "convert", "gpt2", "x.mdl", "--print_model"], capture_output=True, text=True).stdout,
    "parts", "{mine: {r: 3, lora_alpha: 12, target_modules: [q_proj, v_proj, up_proj], rank_pattern: {v_proj: 2, proj_v_dense_layer: 2}}}",
)  # fmt: skip
run("start", "parts.yaml", "--weights", "gpt2", "--no_dashboard")
run("checkpoint", "convert", f"parts_run/checkpoint_{STEPS}.mdl", "parts_merged")
run("checkpoint", "convert", f"parts_run/checkpoint_{STEPS}.mdl", "parts_out", "--to", "peft")
opened = peft.PeftModel.from_pretrained(base_of("gpt2"), "parts_out")
near("parts of a module, opened by PEFT", logits_of(opened), logits_of(base_of("parts_merged")))
print(f"transformers {transformers.__version__}, peft {peft.__version__}")
