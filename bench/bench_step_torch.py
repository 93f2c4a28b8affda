"""The same training step in PyTorch, on one thread: for bench_step to compare with.

Reads weights, images and labels that bench_step wrote to the directory given as argument, then obeys
lines on standard input: `losses N` trains N steps from those weights and prints their losses,
`prepare` picks the fastest of the ways to run a step, `steps N` trains N steps and prints the seconds,
`quit` ends. Everything that is known to be faster is on: no gradient buffers kept, the fused or the
foreach update, torch.compile if it works within a minute.
"""
import signal
import sys
import time

import numpy
import torch

BATCH, SIZES, RATE, BATCHES = 128, [784, 500, 300, 10], 0.01, 8


def load(directory):
    weights = torch.from_numpy(numpy.fromfile(f"{directory}/weights", dtype=numpy.float32))
    images = torch.from_numpy(numpy.fromfile(f"{directory}/images", dtype=numpy.float32))
    labels = torch.from_numpy(numpy.fromfile(f"{directory}/labels", dtype=numpy.int32).astype("int64"))
    return weights, images.view(BATCHES, BATCH, SIZES[0]), labels.view(BATCHES, BATCH)


def new_model(weights):
    layers, at = [], 0
    for inputs, outputs in zip(SIZES, SIZES[1:]):
        layer = torch.nn.Linear(inputs, outputs)
        for parameter in (layer.weight, layer.bias):
            count = parameter.numel()
            parameter.data.copy_(weights[at : at + count].view_as(parameter))
            at += count
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


class Trainer:
    def __init__(self, weights, images, labels, compiled=False, **update):
        self.images, self.labels, self.step = images, labels, 0
        self.model = new_model(weights)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=RATE, **update)
        self.loss_of = self.loss if not compiled else torch.compile(self.loss)

    def loss(self, images, labels):
        return torch.nn.functional.cross_entropy(self.model(images), labels)

    def train(self):
        at = self.step % BATCHES
        self.step += 1
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss_of(self.images[at], self.labels[at])
        loss.backward()
        self.optimizer.step()
        return loss

    def seconds(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            self.train()
        return time.perf_counter() - start


def out_of_time(*_):
    raise TimeoutError


def fastest(data):
    ways = {"foreach": dict(foreach=True), "fused": dict(fused=True),
            "compiled": dict(compiled=True, fused=True)}
    best = None
    for name, options in ways.items():
        signal.signal(signal.SIGALRM, out_of_time)
        signal.alarm(60)
        try:
            trainer = Trainer(*data, **options)
            trainer.seconds(20)
            taken = min(trainer.seconds(20) for _ in range(5)) / 20
        except Exception as error:  # this mode does not work here
            print(f"  torch, {name}: not available: {str(error).strip().splitlines()[0]}", file=sys.stderr)
            continue
        finally:
            signal.alarm(0)
        print(f"  torch, {name}: {taken * 1e3:.3f} ms a step", file=sys.stderr)
        if best is None or taken < best[0]:
            best = (taken, name, trainer)
    return best[1], best[2]


def main():
    torch.set_num_threads(1)
    data = load(sys.argv[1])
    trainer = None
    print("ready", torch.__version__, flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "losses":
            reference = Trainer(*data)
            print(*(f"{reference.train().item():.9g}" for _ in range(int(words[1]))), flush=True)
        elif words[0] == "prepare":
            name, trainer = fastest(data)
            print(name, flush=True)
        elif words[0] == "steps":
            print(f"{trainer.seconds(int(words[1])):.9g}", flush=True)
        else:
            break


if __name__ == "__main__":
    main()
