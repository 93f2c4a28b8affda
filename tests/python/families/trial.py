"""What a family of transformers' models is tried by: the same logits, the same losses while it
trains, and a folder that transformers opens again.

A file beside this one has FAMILIES, a list of Family, and calls run_families(FAMILIES). It is run as
python3 FILE CSENGINE FOLDER [NAME ...], works in FOLDER and tries the families named, or all. What was
compared stands in FOLDER/families.jsonl, a line for each family.
"""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import traceback
from typing import Any, Callable, Optional

sys.modules.setdefault("torchvision", None)  # not needed, and often of another version of PyTorch

import numpy  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

csengine = os.path.abspath(sys.argv[1])
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
STEPS = 20
RATE = 1e-3
BATCH = 2
TOLERANCE = 1e-5  # of logits, relative to their range; of losses, relative


@dataclasses.dataclass
class Family:
    """A kind of folder, with random weights."""

    name: str
    model: Callable[[], Any]  # a model of transformers with a small configuration
    vocabulary: int = 96  # at most 256: tokens are written as bytes
    time: int = 24
    family: str = ""  # in the table of the documentation; "": name
    alter: Optional[Callable[[str], None]] = None  # changes the saved folder, as older programs wrote it
    train: bool = True
    tolerance: float = TOLERANCE


def run(*arguments):
    """What the command prints; it must succeed."""
    result = subprocess.run([csengine, *arguments], capture_output=True, text=True)
    assert result.returncode == 0, (" ".join(arguments), result.stderr[-3000:])
    return result.stdout, result.stderr


def randomized(model):
    """Every parameter, norms and biases as well, has a part in the result."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def write_run(family, section):
    text = section + f"""    model_dir: run
    backend: {{compile_dir: ../compiled}}
    optimizer: {{SGD: {{learning_rate: {RATE}}}}}
    loop: {{num_steps: {STEPS}}}
    checkpoint: {{steps: {STEPS}}}
    logging: {{log_steps: 1}}
    loggers: [CSVLogger]
    seed: 1
  fit:
    train_dataloader: {{data_processor: text_bytes, path: text.bin, sequence_length: {family.time}, batch_size: {BATCH}, shuffle: false}}
"""
    with open("run.yaml", "w") as file:
        file.write(text)


def our_logits(family, checkpoint):
    if os.path.exists("x.npy"):
        os.remove("x.npy")
    run("predict", "run.yaml", "--checkpoint_path", checkpoint, "--samples", "2", "--format", "npy", "--file", "x.npy")
    return numpy.load("x.npy").reshape(2, family.time, -1)


def their_logits(model, tokens):
    with torch.no_grad():
        return model(tokens, use_cache=False).logits.float().numpy()


def near(name, got, wanted, tolerance):
    worst = float(abs(got - wanted).max() / numpy.ptp(wanted))
    assert got.shape == wanted.shape, (name, got.shape, wanted.shape)
    assert worst <= tolerance, f"{name}: differ by {worst:.3g} of their range; accepted {tolerance:.3g}"
    return worst


def their_losses(model, batches):
    """SGD in float32 without dropout; labels are the following bytes."""
    model = model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    for inputs, labels in batches:
        logits = model(inputs, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def our_losses():
    with open("run/metrics.csv") as file:
        rows = [line.strip().split(",") for line in file][1:]
    return [float(value) for step, time, name, value in rows if name == "loss"]


def reopened(model, folder):
    """The folder in transformers, in float32, with every weight known."""
    again, told = type(model).from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not told[kind], (folder, kind, told[kind])
    return again.eval()


def try_decoder(family):
    said = {"name": family.name, "family": family.family or family.name}
    torch.manual_seed(9)
    model = randomized(family.model())
    model.save_pretrained("theirs")
    if family.alter:
        family.alter("theirs")
    data = torch.randint(0, family.vocabulary, (STEPS * BATCH * family.time + 1,)).tolist()
    with open("text.bin", "wb") as file:
        file.write(bytes(data))
    rows = [data[i * family.time : (i + 1) * family.time + 1] for i in range(STEPS * BATCH)]
    batches = []
    for step in range(STEPS):
        block = torch.tensor(rows[step * BATCH : (step + 1) * BATCH])
        batches.append((block[:, :-1], block[:, 1:]))
    tokens = torch.tensor([row[:-1] for row in rows[:2]])
    wanted = their_logits(model, tokens)
    section, _ = run("checkpoint", "convert", "theirs", "x.mdl", "--print_model")
    write_run(family, section)
    said["logits"] = near("logits", our_logits(family, "theirs"), wanted, family.tolerance)
    run("checkpoint", "convert", "x.mdl", "ours")
    near("logits of the folder that leaves", their_logits(reopened(model, "ours"), tokens), wanted, family.tolerance)
    said["export"] = True
    if family.train:
        run("start", "run.yaml", "--weights", "theirs", "--no_dashboard")
        losses, expected = our_losses(), their_losses(reopened(model, "theirs"), batches)
        assert len(losses) == STEPS, losses
        said["losses"] = max(abs(a - b) / abs(b) for a, b in zip(losses, expected))
        assert said["losses"] <= TOLERANCE, f"losses differ by {said['losses']:.3g}: {losses} {expected}"
        run("checkpoint", "convert", f"run/checkpoint_{STEPS}.mdl", "tuned")
        tuned = their_logits(reopened(model, "tuned"), tokens)
        assert abs(tuned - wanted).max() > 1e-4, "training has changed nothing"
        near("logits after training", our_logits(family, f"run/checkpoint_{STEPS}.mdl"), tuned, family.tolerance)
    return said


def run_families(families, attempt=try_decoder):
    os.chdir(sys.argv[2])
    failed, wanted = [], sys.argv[3:]
    for family in families:
        if wanted and family.name not in wanted:
            continue
        shutil.rmtree(family.name, ignore_errors=True)
        os.makedirs(family.name)
        os.chdir(family.name)
        try:
            said = attempt(family)
            print(family.name, "OK", {k: v for k, v in said.items() if k not in ("name", "family")}, flush=True)
            with open("../families.jsonl", "a") as file:
                file.write(json.dumps(said) + "\n")
        except Exception as error:
            failed.append(family.name)
            traceback.print_exc()
            print(family.name, "FAILED", error, flush=True)
        os.chdir("..")
    print(f"transformers {transformers.__version__}")
    assert not failed, failed
