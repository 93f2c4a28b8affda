"""Weights of Hugging Face in, fine-tuned beside PyTorch, and out again.

    weights_parity.py [--csengine PATH] [--models gpt2,llama] [--steps 50] [--rate 1e-5] [--small]

Each model is made by transformers with a seed: gpt2 is GPT-2 of 124M; llama has 8 heads over 2
groups, 4 layers, 256 wide. It is saved as a folder, trained by csengine from that and by PyTorch,
on the same tokens of chance with AdamW, and converted to a folder of Hugging Face and to GGUF.
AdamW makes a step of the learning rate of any gradient, of one that is rounding alone, too, so that
differences grow with the rate.
Told are the largest differences

    losses    of the same step, in training
    logits    of the folder that was exported, read by transformers, beside PyTorch's own model
    weights   of that folder beside PyTorch's own model
    GGUF      of all values beside that folder's: 0, or they are not those

and whether an export of the unchanged weights is the first folder, to the byte. --small makes gpt2
of 2 layers, 64 wide. Needs torch, transformers, safetensors and gguf; ends with 77 where one is
missing.
"""

import argparse
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

try:
    import gguf
    import numpy
    import safetensors.numpy
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

BATCH, LENGTH, DECAY = 4, 64, 0.1


def gpt2(small):
    size = {"n_layer": 2, "n_head": 2, "n_embd": 64, "vocab_size": 500} if small else {}
    config = transformers.GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **size)
    return transformers.GPT2LMHeadModel(config)


def llama(_):
    config = transformers.LlamaConfig(
        vocab_size=1000,
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=2,
        max_position_embeddings=256,
    )
    return transformers.LlamaForCausalLM(config)


def run(options, *words):
    done = subprocess.run([options.csengine, *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


SETTINGS = """\
    backend: {{cluster_config: {{num_csx: 1, num_workers_per_csx: 1}}}}
    model_dir: {folder}/run
    optimizer: {{AdamW: {{lr: {rate}, weight_decay: {decay}, betas: [0.9, 0.95], eps: 1.0e-8}}}}
    loop: {{num_steps: {steps}}}
    logging: {{log_steps: 1}}
    seed: 1
  fit:
    train_dataloader:
      data_processor: token_shards
      path: {folder}/tokens.npy
      sequence_length: {length}
      batch_size: {batch}
      shuffle: false
"""


def train_here(options, folder):
    """Losses by step, of the model that the folder's config.json describes."""
    convert = ("checkpoint", "convert", f"{folder}/hf", f"{folder}/in.mdl", "--print_model")
    settings = SETTINGS.format(
        folder=folder,
        rate=options.rate,
        decay=DECAY,
        steps=options.steps,
        length=LENGTH,
        batch=BATCH,
    )
    with open(f"{folder}/config.yaml", "w", encoding="utf-8") as file:
        file.write(run(options, *convert) + settings)
    run(options, "start", file.name, "--weights", f"{folder}/hf", "--no_dashboard")
    query = "SELECT value FROM points JOIN series ON id = series WHERE name = 'loss' ORDER BY step"
    with sqlite3.connect(f"{folder}/run/run.db") as database:
        return [value for (value,) in database.execute(query)]


def train_there(options, model, tokens):
    """Decays what csengine decays: all parameters."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=options.rate, weight_decay=DECAY, betas=(0.9, 0.95), eps=1e-8
    )
    losses = []
    model.train()
    for step in range(options.steps):
        first = step * BATCH * LENGTH
        rows = [tokens[first + i * LENGTH :][: LENGTH + 1] for i in range(BATCH)]
        batch = torch.from_numpy(numpy.stack(rows).astype(numpy.int64))
        logits = model(batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def files_of(folder):
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).glob("*.safetensors*")}


def gguf_difference(path, folder):
    """The largest difference of sorted values in tensors of equal length, since names differ."""
    theirs, ours = {}, {}
    for content in map(safetensors.numpy.load_file, pathlib.Path(folder).glob("*.safetensors")):
        for value in content.values():
            theirs.setdefault(value.size, []).append(numpy.sort(value.ravel()))
    for tensor in gguf.GGUFReader(path).tensors:
        ours.setdefault(tensor.data.size, []).append(numpy.sort(tensor.data.ravel()))
    largest = 0.0
    for size, values in ours.items():
        for value in values:
            nearest = min(numpy.abs(value - other).max() for other in theirs[size])
            largest = max(largest, float(nearest))
    return largest, sum(size * len(values) for size, values in ours.items())


def compare(options, name, make, folder):
    torch.manual_seed(1)
    model = make(options.small)
    model.save_pretrained(f"{folder}/hf")
    chance = numpy.random.default_rng(1)
    count = options.steps * BATCH * LENGTH + 1
    tokens = chance.integers(0, model.config.vocab_size, count, dtype=numpy.int32)
    numpy.save(f"{folder}/tokens.npy", tokens)
    ours, theirs = train_here(options, folder), train_there(options, model, tokens)
    losses = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    run(options, "checkpoint", "convert", f"{folder}/in.mdl", f"{folder}/same", "--to", "hf")
    trained = f"{folder}/run/checkpoint_{options.steps}.mdl"
    run(options, "checkpoint", "convert", trained, f"{folder}/out", "--to", "hf")
    run(options, "checkpoint", "convert", trained, f"{folder}/out.gguf")
    read = type(model).from_pretrained(f"{folder}/out").eval()
    with torch.no_grad():
        some = torch.from_numpy(tokens[: 2 * LENGTH].astype(numpy.int64)).reshape(2, LENGTH)
        logits = (read(some).logits - model.eval()(some).logits).abs().max().item()
        others = dict(model.named_parameters())
        weights = max((p - others[n]).abs().max().item() for n, p in read.named_parameters())
    packed, values = gguf_difference(f"{folder}/out.gguf", f"{folder}/out")
    same = files_of(f"{folder}/hf") == files_of(f"{folder}/same")
    print(
        f"{name}: {sum(p.numel() for p in model.parameters())} parameters, {options.steps} steps, "
        f"loss {theirs[0]:.4f} to {theirs[-1]:.4f}; largest differences: losses {losses:.1e}, "
        f"logits {logits:.1e}, weights {weights:.1e}; GGUF {packed:.1e} of {values} values; "
        f"exported unchanged: {'the same bytes' if same else 'other bytes'}",
        flush=True,
    )
    return losses <= 1e-4 and packed == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csengine", default="csengine")
    parser.add_argument("--models", default="gpt2,llama")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rate", type=float, default=1e-5)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    good = True
    for name in options.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            good = compare(options, name, {"gpt2": gpt2, "llama": llama}[name], folder) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
