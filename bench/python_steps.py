"""Steps of one network from a configuration and from Python, and what a step closure adds.

    python_steps.py CSENGINE [--bench_inputs bench/bench_inputs] [--steps 600] [--rounds 5]
                    [--batch 256] [--width 1024] [--workers 1]

CSENGINE and bench_inputs are those of a build. The packages of python/ and PyTorch must be importable. A network
784-width-width-10 is trained on 8192 samples of chance by one replica: by a configuration with the
input functions `synthetic` and `npy`, and by cstorch with a TensorDataset of the same arrays,
without closures, and with a step closure that reads the loss at each step. All in turn, in rounds.

Told are, for each: milliseconds from step to step after the first quarter of a run, by the times in
its own record; the ratio to `npy` of the same round; and the share of its time in which it waited
for input. Medians of the rounds. Before, the weights of both are compared: they are equal, bit for
bit, where the order of samples is. `loader` compares the samples in a second that an input worker's
program answers with those of torch's DataLoader with one worker.
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SAMPLES = 8192


def arrays():
    chance = numpy.random.default_rng(1)
    features = chance.standard_normal((SAMPLES, 784), dtype=numpy.float32)
    return features, (features[:, :10].argmax(1)).astype(numpy.int32)


def write_configuration(options, folder, loader):
    train = {"batch_size": options.batch, "shuffle": True, **loader}
    content = {
        "trainer": {
            "init": {
                "backend": {
                    "cluster_config": {"num_csx": 1, "num_workers_per_csx": options.workers}
                },
                "model_dir": f"{folder}/run",
                "model": {
                    "name": "fc_mnist",
                    "hidden_sizes": [options.width, options.width],
                    "input_size": 784,
                    "num_classes": 10,
                },
                "optimizer": {"SGD": {"lr": 0.01}},
                "loop": {"num_steps": options.steps},
                "logging": {"log_steps": 1},
                "seed": 1,
            },
            "fit": {"train_dataloader": train},
        }
    }
    path = f"{folder}/config.yaml"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)
    return path


def measured(model_dir, steps):
    """Milliseconds a step after the first quarter, and the share of waiting for input."""
    database = sqlite3.connect(f"{model_dir}/run.db")
    points = database.execute(
        "SELECT step, time_ms FROM points JOIN series ON id = series WHERE name = 'loss' "
        "AND step >= ? ORDER BY step",
        (steps // 4,),
    ).fetchall()
    (first, begin), (last, end) = points[0], points[-1]
    account = database.execute(
        "SELECT input_ms, compute_ms + update_ms + input_ms FROM goodput"
    ).fetchone()
    return (end - begin) / (last - first), account[0] / account[1]


def by_configuration(options, folder, loader):
    path = write_configuration(options, folder, loader)
    subprocess.run(
        [options.csengine, "start", path, "--no_dashboard"], check=True, stdout=subprocess.DEVNULL
    )
    return measured(f"{folder}/run", options.steps)


def by_python(options, folder, closure):
    subprocess.run(
        [sys.executable, __file__, options.csengine, "--train", folder, "--closure", closure]
        + ["--steps", str(options.steps), "--batch", str(options.batch)]
        + ["--width", str(options.width), "--workers", str(options.workers)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return measured(f"{folder}/run", options.steps)


def dataset():
    features, answers = arrays()
    return torch.utils.data.TensorDataset(torch.from_numpy(features), torch.from_numpy(answers))


def dataloader(batch):
    return torch.utils.data.DataLoader(dataset(), batch_size=batch, shuffle=True, drop_last=True)


def train(options):
    import cstorch

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            sizes = [784, options.width, options.width]
            self.fc_layers = torch.nn.ModuleList(
                torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])
            )
            self.last_layer = torch.nn.Linear(options.width, 10)

        def forward(self, x):
            for layer in self.fc_layers:
                x = torch.relu(layer(x))
            return self.last_layer(x)

    cstorch.configure(
        model_dir=f"{options.train}/run", num_csx=1, num_workers_per_csx=options.workers, seed=1
    )
    torch.manual_seed(1)
    model = Network()
    cstorch.compile(model, backend="wse_ws")
    optimizer = cstorch.optim.SGD(model.parameters(), lr=0.01)

    @cstorch.trace
    def step(batch):
        images, labels = batch
        loss = torch.nn.functional.cross_entropy(model(images), labels.long())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    seen = []

    @cstorch.step_closure
    def read(loss):
        seen.append(loss.item())

    loader = cstorch.utils.data.DataLoader(dataloader, options.batch)
    for batch in cstorch.utils.data.DataExecutor(loader, num_steps=options.steps):
        loss = step(batch)
        if options.closure == "read":
            read(loss)


def loader_rates(options, work):
    """Samples a second of input workers, and of torch's DataLoader with as many."""
    import cstorch

    cstorch.configure(model_dir=f"{work}/loader", num_csx=1, seed=1)
    settings = cstorch.utils.data.DataLoader(dataloader, options.batch).settings()
    loader = torch.utils.data.DataLoader(
        dataset(),
        batch_size=options.batch,
        shuffle=True,
        drop_last=True,
        num_workers=options.workers,
        persistent_workers=True,
    )
    rounds = []
    for number in range(options.rounds + 1):
        line = [options.bench_inputs, "1", str(options.workers), json.dumps(settings)]
        ours = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout)
        samples, begin, seconds = 0, time.perf_counter(), 0
        while seconds < 1:
            samples += sum(options.batch for _ in loader)
            seconds = time.perf_counter() - begin
        rounds.append((ours["samples_per_second"], samples / seconds))
    del rounds[0]  # which starts their workers
    return [statistics.median(rates) for rates in zip(*rounds)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("csengine")
    parser.add_argument("--bench_inputs", default="bench/bench_inputs")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--train")
    parser.add_argument("--closure", default="none")
    options = parser.parse_args()
    os.environ["CSENGINE_EXECUTABLE"] = options.csengine = os.path.abspath(options.csengine)
    os.environ.setdefault("CSE_DASHBOARD", "0")
    if options.train:
        train(options)
        return
    torch.set_num_threads(1)
    results = {}
    with tempfile.TemporaryDirectory() as work:
        ours, theirs = loader_rates(options, work)
        print(f"loader: {ours:.0f} samples/s, torch {theirs:.0f}: {ours / theirs:.2f}")
        features, answers = arrays()
        numpy.save(f"{work}/x.npy", features)
        numpy.save(f"{work}/y.npy", answers)
        npy = {"data_processor": "npy", "features": f"{work}/x.npy", "answers": f"{work}/y.npy"}
        synthetic = {"data_processor": "synthetic", "features": [784], "classes": 10}
        for number in range(options.rounds):
            this = {}
            for name, run in (
                ("npy", lambda at: by_configuration(options, at, npy)),
                ("python", lambda at: by_python(options, at, "none")),
                ("closure", lambda at: by_python(options, at, "read")),
                ("synthetic", lambda at: by_configuration(options, at, synthetic)),
            ):
                at = f"{work}/{name}{number}"
                os.mkdir(at)
                this[name] = run(at)
            for name, (milliseconds, wait) in this.items():
                results.setdefault(name, []).append(
                    (milliseconds, milliseconds / this["npy"][0], wait)
                )
    for name, rows in results.items():
        middle = [statistics.median(column) for column in zip(*rows)]
        print(f"{name:10} {middle[0]:7.2f} ms, {middle[1]:.3f} of npy, input {middle[2]:.1%}")


if __name__ == "__main__":
    main()
