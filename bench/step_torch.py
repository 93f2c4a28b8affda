"""Training steps in PyTorch, equal to those that our configurations run: the other side of the
rows of bench/performance.py.

    step_torch.py gpt2|fc|cnn [options]

The same architecture, formats, optimizer, schedule, clipping, text or images, batch; initial
weights of the same distribution. What is known to be fastest is on: fused updates, gradients set
to None, scaled dot-product attention, autocast for bfloat16; channels-last images and DDP (gloo)
by option. Obeys lines on standard input, and answers each with one line of JSON: `losses N`
trains N steps and tells their losses, `steps N` trains N steps and tells the milliseconds of
each; anything else ends it. Under DDP each process is one rank.
"""

import argparse
import gzip
import itertools
import json
import math
import os
import sys
import time


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=["gpt2", "fc", "cnn"])
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--time", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=256)
    parser.add_argument("--batch", type=int, default=8, help="of this process")
    parser.add_argument("--text", default="/usr/share/common-licenses/GPL-3")
    parser.add_argument("--images", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--channels_last", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--inner", type=int, default=1, help="steps that are timed together")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--meeting", help="a file of this run alone, by which ranks find each other")
    return parser.parse_args()


ARGUMENTS = read_arguments()
os.environ["OMP_NUM_THREADS"] = str(ARGUMENTS.threads)
import torch
from torch import nn
from torch.nn import functional

# ---- GPT-2: pre-norm, tied head, biases in all linear layers, gelu by tanh, no dropout ----


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_output = nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, times, width = x.shape
        joined = self.query_key_value(self.attention_norm(x))
        joined = joined.view(batch, times, 3, self.heads, width // self.heads)
        query, key, value = joined.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.attention_output(mixed.transpose(1, 2).reshape(batch, times, width))
        hidden = functional.gelu(self.widen(self.feed_forward_norm(x)), approximate="tanh")
        return x + self.narrow(hidden)


class Gpt2(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.words, self.positions = nn.Embedding(a.vocabulary, a.width), nn.Embedding(
            a.time, a.width
        )
        self.blocks = nn.ModuleList(Block(a.width, a.heads) for _ in range(a.layers))
        self.norm = nn.LayerNorm(a.width)
        residual = 0.02 / math.sqrt(2 * a.layers)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                spread = residual if "output" in name or "narrow" in name else 0.02
                nn.init.trunc_normal_(parameter, std=spread, a=-2 * spread, b=2 * spread)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens):
        x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.words.weight).flatten(0, 1)


def text_batches(a):
    """Windows of the text's bytes, each once an epoch, in random order."""
    raw = open(a.text, "rb").read()
    text = torch.frombuffer(bytearray(raw), dtype=torch.uint8).long()
    samples = (len(text) - 1) // a.time
    while True:
        order = torch.randperm(samples)
        for at in range(0, samples - a.batch * a.ranks + 1, a.batch * a.ranks):
            chosen = order[at + a.rank * a.batch : at + (a.rank + 1) * a.batch] * a.time
            rows = chosen[:, None] + torch.arange(a.time)
            yield text[rows], text[rows + 1].flatten()


# ---- perceptron and convolutional network ----


def small_model(a):
    if a.model == "fc":
        return nn.Sequential(
            nn.Flatten(),
            nn.Linear(784, 500),
            nn.ReLU(),
            nn.Linear(500, 300),
            nn.ReLU(),
            nn.Linear(300, 10),
        )
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 49, 128),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(128, 10),
    )


READY_BATCHES = 128  # made before the steps, so that their loading costs nothing


def image_batches(a):
    def content(name):
        with gzip.open(f"{a.images}/{name}.gz") as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)

    images = content("train-images-idx3-ubyte")[16:].view(-1, 1, 28, 28)
    labels = content("train-labels-idx1-ubyte")[8:].long()
    images = (images.float() / 255 - 0.1307) / 0.3081
    chosen = torch.randperm(len(labels))[: READY_BATCHES * a.batch * a.ranks].view(
        READY_BATCHES, a.ranks, -1
    )
    ready = [(images[row[a.rank]], labels[row[a.rank]]) for row in chosen]
    if a.channels_last:
        ready = [(x.contiguous(memory_format=torch.channels_last), y) for x, y in ready]
    return itertools.cycle(ready)


# ---- training ----


def warm_up_then_cosine(step):
    """The schedule of configs/gpt2_bytes.yaml."""
    if step < 100:
        return 0.001 * step / 100
    return 0.0001 + 0.0009 * (1 + math.cos(math.pi * min(step - 100, 900) / 900)) / 2


def cosine(step):
    """The schedule of configs/cnn_fashion_mnist.yaml."""
    return 0.0001 + 0.0019 * (1 + math.cos(math.pi * min(step, 702) / 702)) / 2


class Trainer:
    def __init__(self, a):
        self.batches = text_batches(a) if a.model == "gpt2" else image_batches(a)
        self.model = Gpt2(a) if a.model == "gpt2" else small_model(a)
        if a.channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
        parameters, self.step_count, self.bf16 = self.model.parameters(), 0, a.bf16
        self.rate = {"gpt2": warm_up_then_cosine, "cnn": cosine, "fc": lambda step: 0.01}[a.model]
        self.clips = a.model != "fc"
        if a.model == "fc":
            self.optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9, fused=True)
        else:
            betas, decay = ((0.9, 0.95), 0.1) if a.model == "gpt2" else ((0.9, 0.999), 0.01)
            self.optimizer = torch.optim.AdamW(
                parameters, lr=0.001, betas=betas, weight_decay=decay, fused=True
            )
        self.run = self.model
        if a.ranks > 1:
            self.run = nn.parallel.DistributedDataParallel(self.model, gradient_as_bucket_view=True)
        if a.compile:
            self.run = torch.compile(self.run)

    def train(self):
        inputs, labels = next(self.batches)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(self.step_count)
        self.step_count += 1
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            outputs = self.run(inputs)
        loss = functional.cross_entropy(outputs.float(), labels)
        loss.backward()
        if self.clips:
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss

    def milliseconds(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            loss = self.train()
        loss.item()
        return (time.perf_counter() - start) * 1e3 / steps


def main():
    a = ARGUMENTS
    torch.set_num_threads(a.threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    if a.ranks > 1:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{a.meeting}", rank=a.rank, world_size=a.ranks
        )
    trainer = Trainer(a)
    if a.ranks > 1:
        torch.manual_seed(1)  # the same order of samples in all ranks, of which each takes its part
    print(json.dumps({"ready": torch.__version__}), flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "losses":
            answer = [trainer.train().item() for _ in range(int(words[1]))]
        elif words[0] == "steps":
            answer = [trainer.milliseconds(a.inner) for _ in range(int(words[1]))]
        else:
            break
        print(json.dumps(answer), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
