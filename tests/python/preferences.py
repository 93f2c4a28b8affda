"""Preference training beside TRL's trainers: the same losses and rewards for 20 steps, of all weights
and of an adapter.

Run: python3 preferences.py CSENGINE FOLDER
"""

import csv
import json
import random
import subprocess

import datasets
import peft
import tokenizers
import torch
import trl
from folders import csengine, run, transformers
from lora_factors import put_factors
from trl.experimental.cpo import CPOConfig, CPOTrainer
from trl.experimental.orpo import ORPOConfig, ORPOTrainer

datasets.disable_progress_bars()
transformers.utils.logging.disable_progress_bar()
torch.manual_seed(5)
random.seed(5)
TIME, STEPS, BATCH = 24, 20, 4
# Rates at which the loss does not jump about, by which a difference of a rounding would grow.
RATE, RATES = 0.05, {"ipo": 0.01, "ipo_lora": 0.01}
WORDS = [f"w{n}" for n in range(60)]

tokenizer = tokenizers.Tokenizer(
    tokenizers.models.WordLevel({word: n for n, word in enumerate(["<unk>", "<s>", "</s>", *WORDS])}, unk_token="<unk>")
)
tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
tokenizer.add_special_tokens(["<s>", "</s>"])
tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
fast = transformers.PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>", unk_token="<unk>"
)
config = transformers.LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=40,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=TIME,
    tie_word_embeddings=True,
    bos_token_id=1,
    eos_token_id=2,
)
base = transformers.LlamaForCausalLM(config)
with torch.no_grad():
    for parameter in base.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
base.save_pretrained("theirs")
fast.chat_template = (
    "{{ bos_token }}{% for message in messages %} {{ message['role'] }} {{ message['content'] }} {{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %} assistant{% endif %}"
)
fast.save_pretrained("theirs")
section = subprocess.run(
    [csengine, "checkpoint", "convert", "theirs", "base.mdl", "--print_model"], capture_output=True, text=True, check=True
).stdout


def text(least, most):
    return "".join(f" {word}" for word in random.choices(WORDS, k=random.randint(least, most)))


pairs = [
    {"prompt": text(2, 6).strip(), "chosen": text(1, 12), "rejected": text(1, 24)} for _ in range(STEPS * BATCH)
]
labelled = [
    {"prompt": text(2, 6).strip(), "completion": text(1, 12), "label": random.random() < 0.6}
    for _ in range(STEPS * BATCH)
]
chats = [
    {key: [{"role": role, "content": line[key].strip()}] for key, role in (("prompt", "user"), ("chosen", "assistant"), ("rejected", "assistant"))}
    for line in pairs
]
whole_chats = [{key: line["prompt"] + line[key] for key in ("chosen", "rejected")} for line in chats]
for name, lines in ("chats.jsonl", chats), ("whole_chats.jsonl", whole_chats), ("pairs.jsonl", pairs), ("labelled.jsonl", labelled):
    with open(name, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def ours(name, objective, adapters, data):
    """The series of a run, by name."""
    with open(f"{name}.yaml", "w") as file:
        file.write(section + f"""    objective: {{{objective}}}
    {f"adapters: {{default: {adapters}}}" if adapters else ""}
    model_dir: {name}
    backend: {{compile_dir: compiled}}
    optimizer: {{SGD: {{learning_rate: {RATES.get(name, RATE)}}}}}
    loop: {{num_steps: {STEPS}}}
    checkpoint: {{steps: {STEPS}, save_initial_checkpoint: true}}
    logging: {{log_steps: 1}}
    loggers: [CSVLogger]
  fit:
    train_dataloader: {{data_processor: preferences, tokenizer: theirs, {data}, max_sequence_length: {TIME}, batch_size: {BATCH}, micro_batch_size: {BATCH}, shuffle: false}}
""")
    run("start", f"{name}.yaml", "--weights", "theirs", "--no_dashboard")
    series = {}
    with open(f"{name}/metrics.csv") as file:
        for row in list(csv.reader(file))[1:]:
            series.setdefault(row[2], []).append(float(row[3]))
    return series


def theirs(name, trainer_class, config_class, lines, options):
    """Losses, and what their trainer logs."""
    model = transformers.LlamaForCausalLM.from_pretrained("theirs")
    if name.endswith("_lora"):
        model = peft.get_peft_model(model, peft.LoraConfig(r=4, lora_alpha=8, target_modules="all-linear"))
        put_factors(f"{name}/checkpoint_0.mdl", model)
    arguments = config_class(
        output_dir="out",
        per_device_train_batch_size=BATCH,
        max_steps=STEPS,
        max_length=TIME,
        logging_steps=1,
        train_sampling_strategy="sequential",
        gradient_checkpointing=False,
        max_grad_norm=0,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        **options,
    )
    losses = []

    class Trainer(trainer_class):
        def compute_loss(self, *arguments, **named):
            result = super().compute_loss(*arguments, **named)
            losses.append((result[0] if isinstance(result, tuple) else result).item())
            return result

    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=RATES.get(name, RATE))
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=datasets.Dataset.from_list(lines),
        processing_class=fast,
        optimizers=(optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1)),
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return losses, trainer.state.log_history


CASES = {
    "dpo": ("dpo: {beta: 0.3}", trl.DPOTrainer, trl.DPOConfig, dict(beta=0.3)),
    "rpo": (
        "dpo: {beta: 0.3, rpo_alpha: 0.5}",
        trl.DPOTrainer,
        trl.DPOConfig,
        dict(beta=0.3, loss_type=["sigmoid", "sft"], loss_weights=[1.0, 0.5]),
    ),
    "ipo": ("ipo: {beta: 0.2}", trl.DPOTrainer, trl.DPOConfig, dict(beta=0.2, loss_type=["ipo"])),
    "orpo": ("orpo: {beta: 0.3}", ORPOTrainer, ORPOConfig, dict(beta=0.3)),
    "simpo": (
        "simpo: {beta: 2, simpo_gamma: 0.6, label_smoothing: 0.1}",
        CPOTrainer,
        CPOConfig,
        dict(beta=2.0, loss_type="simpo", simpo_gamma=0.6, cpo_alpha=0.0, label_smoothing=0.1),
    ),
    "cpo_simpo": (
        "simpo: {beta: 2, simpo_gamma: 0.6, cpo_alpha: 0.7}",
        CPOTrainer,
        CPOConfig,
        dict(beta=2.0, loss_type="simpo", simpo_gamma=0.6, cpo_alpha=0.7),
    ),
    "kto": (
        "kto: {beta: 0.2, desirable_weight: 1.2, undesirable_weight: 0.8}",
        trl.KTOTrainer,
        trl.KTOConfig,
        dict(beta=0.2, desirable_weight=1.2, undesirable_weight=0.8),
    ),
}
SERIES = ("rewards/chosen", "rewards/rejected", "rewards/margins", "rewards/accuracies", "logps/chosen", "kl")


def compare(name, got, losses, logged):
    assert len(losses) == STEPS, len(losses)
    worst = max(abs(a - b) for a, b in zip(got["loss"], losses, strict=True))
    print(f"{name}: losses {losses[0]:.5f} to {losses[-1]:.5f} differ by {worst:.2g}")
    assert worst <= 1e-4, name
    for series in SERIES:
        values = [line[series] for line in logged if series in line]
        if not values:
            continue
        mine = got[series]
        assert len(mine) == STEPS, (series, len(mine))
        if len(values) == STEPS:
            worst = max(abs(a - b) for a, b in zip(mine, values, strict=True))
            print(f"  {series}: {values[0]:.4f} to {values[-1]:.4f} differ by {worst:.2g}")
            assert worst <= 1e-3, (name, series)


for method, (objective, trainer, arguments, options) in CASES.items():
    unpaired = method == "kto"
    data = f"path: labelled.jsonl, kind: unpaired, kl_rotation: {BATCH}" if unpaired else "path: pairs.jsonl"
    for name, adapters in (method, None), (f"{method}_lora", "{r: 4, lora_alpha: 8}"):
        got = ours(name, objective, adapters, data)
        compare(name, got, *theirs(name, trainer, arguments, labelled if unpaired else pairs, options))

# Conversations, with the prompt apart and as what both texts begin with.
objective, trainer, arguments, options = CASES["dpo"]
for name, lines in ("chats", chats), ("whole_chats", whole_chats):
    got = ours(name, objective, None, f"path: {name}.jsonl")
    compare(name, got, *theirs(name, trainer, arguments, lines, options))
