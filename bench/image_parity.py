"""Loss parity with PyTorch on folders of pictures: lenet, resnet18 and a small vit, 50 steps.

    image_parity.py [--csengine PATH] [--models lenet,resnet,vit] [--formats png,jpg] [--steps 50]
                    [--pictures 4000] [--optimizer SGD|AdamW] [--work DIR]

Fashion-MNIST of Debian's dataset-fashion-mnist is written out as one folder a class, as PNG and as
JPEG. csengine trains from its own initial weights in float32; PyTorch begins with the same ones
(safetensors), takes the same samples in the same order (`csengine data samples`) and decodes them
with Pillow. Two comparisons are made, each with PyTorch in float64 as the measure and PyTorch in
float32 as the yardstick of what float32 allows:

    run    each goes on from its own weights for all steps: the largest difference of losses, of
           csengine (`ours`), of PyTorch in float32 (`torch`), and of that with the samples of each
           batch in another order (`torch_reordered`), which changes nothing but the rounding
    step   each step alone, from csengine's weights before it: the largest difference of the loss,
           and the error of the gradient of all parameters by its norm, the median and the largest;
           `sides` is the largest one beside a float64 gradient for which inputs of relus within
           4e-6 of zero may lie on either side

In float32 rounding decides on which side of zero such an input lies. In resnet a single one on the
other side changes the gradient of the layers before it by a thousandth, and from then on runs
differ, whoever computes them. So `run` asks for 1e-4 where PyTorch itself keeps it, else for no
more than twice PyTorch's own largest difference; `step` asks for 1e-4, and for errors by `sides` of
at most four times PyTorch's. Ends with 1 where one is missed. `crossed` are the steps whose
gradient has an error above 1e-4 before the sides are looked at.

Also told: pictures that Pillow decodes in a second; input_rates.py sets the data loader's code
beside it. Needs torch, numpy, pillow and safetensors; ends with 77 where one is missing.
"""

import argparse
import gzip
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

try:
    import numpy
    import torch
    from PIL import Image
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
from torch.nn import functional

from image_networks import Edges, network

DATA = "/usr/share/datasets/fashion-mnist"
GOAL = 1e-4
EDGE = 4e-6  # nearer to zero rounding decides on which side a relu's input lies
# Adam's first updates have the size of lr whatever the gradient's is, so that a gradient which is
# zero but for rounding moves a weight one way or the other; SGD shows what rounding alone does.
OPTIMIZERS = {
    "SGD": "SGD: {lr: 0.01, momentum: 0.9}",
    "AdamW": "AdamW: {lr: 0.001, weight_decay: 0.01, eps: 1.0e-8, eps_added_to: corrected}",
}
# An optimizer's average of gradients: its name, what a step keeps of it, what the new one weighs.
AVERAGES = {"SGD": ("momentum_buffer", 0.9, 1), "AdamW": ("exp_avg", 0.9, 0.1)}
MODELS = {
    "lenet": "{name: lenet}",
    "resnet": "{name: resnet, depth: 18, width: 8, small_images: true, image_size: [28, 28], "
    "num_channels: 1, num_classes: 10}",
    "vit": "{name: vit, image_size: [28, 28], num_channels: 1, patch_size: [7, 7], "
    "num_classes: 10, hidden_size: 64, num_hidden_layers: 4, num_heads: 4, filter_size: 128, "
    "dropout_rate: 0.0, attention_dropout_rate: 0.0, initializer_range: 0.1, "
    "use_conv_patchified_embedding: true}",
}


def read_idx(name):
    path = f"{DATA}/{name}"
    with open(path, "rb") if os.path.exists(path) else gzip.open(f"{path}.gz") as file:
        _, _, _, rank = struct.unpack("4B", file.read(4))
        dims = struct.unpack(f">{rank}I", file.read(4 * rank))
        return numpy.frombuffer(file.read(), dtype=numpy.uint8).reshape(dims)


def write_folder(folder, kind, count, part="train"):
    images = read_idx(f"{part}-images-idx3-ubyte")[:count]
    labels = read_idx(f"{part}-labels-idx1-ubyte")[:count]
    for label in range(10):
        os.makedirs(f"{folder}/{label}", exist_ok=True)
    options = {"quality": 92} if kind == "jpg" else {"compress_level": 1}
    for number, (pixels, label) in enumerate(zip(images, labels)):
        Image.fromarray(pixels).save(f"{folder}/{label}/{number:05}.{kind}", **options)


# ---- one comparison ----


class Parity:
    def __init__(self, arguments, model, kind, folder):
        self.arguments, self.model, self.kind, self.folder = arguments, model, kind, folder
        self.run = f"{arguments.work}/{model}-{kind}"
        shutil.rmtree(self.run, ignore_errors=True)
        self.config = f"{self.run}.yaml"
        with open(self.config, "w") as file:
            file.write(f"""trainer:
  init:
    model_dir: {self.run}
    backend: {{compile_dir: {arguments.work}/compiled, cluster_config: {{num_csx: 1}}}}
    model: {MODELS[model]}
    optimizer:
      {OPTIMIZERS[arguments.optimizer]}
    loop: {{num_steps: {arguments.steps}}}
    checkpoint: {{steps: 1, save_initial_checkpoint: true}}
    logging: {{log_steps: 1}}
    seed: 1
  fit:
    train_dataloader: {{data_processor: image_folder, data_dir: {folder}, image_size: [28, 28],
      channels: 1, mean: [0.5], std: [0.25], batch_size: 64, shuffle: true}}
""")

    def csengine(self, *options):
        return subprocess.run(
            [self.arguments.csengine, *options], check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def ours(self):
        lines = self.csengine("start", self.config, "--json", "--no_dashboard").splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        return [e["loss"] for e in events if e.get("event") == "step"]

    def states(self, step):
        """Weights and averages of gradients after the step, by PyTorch's names."""
        path = f"{self.run}/weights.safetensors"
        self.csengine("checkpoint", "convert", f"{self.run}/checkpoint_{step}.mdl", path, "--all")
        weights, averages = {}, {}
        suffix = "." + AVERAGES[self.arguments.optimizer][0]
        for name, value in load_file(path).items():
            place, _, rest = name.partition(".")
            own = rest.removesuffix(suffix)
            own = own.replace(".", "_") if self.model == "vit" else own
            if place == "model":
                weights[own] = value
            elif rest.endswith(suffix):
                averages[own] = value.double()
        os.remove(path)
        return weights, averages

    def batch(self, step):
        order = json.loads(
            self.csengine("data", "samples", self.config, "--step", str(step), "--json")
        )
        places = [place for m in order["microbatches"] for place in m["places"]]
        pixels = numpy.stack(
            [numpy.asarray(Image.open(p).convert("RGB").convert("L")) for p in places]
        )
        labels = torch.tensor([int(p.split("/")[-2]) for p in places])
        values = (torch.from_numpy(pixels.astype(numpy.float32)) / 255 - 0.5) / 0.25
        return values[:, None], labels

    def theirs(self, batches, dtype, reordered=False):
        """PyTorch's losses from the weights before the first step."""
        model = network(self.model, self.states(0)[0]).to(dtype)
        if self.arguments.optimizer == "SGD":
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        else:
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.001, weight_decay=0.01)
        losses = []
        for images, labels in batches:
            if reordered:
                images, labels = images.flip(0), labels.flip(0)
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(images.to(dtype)), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    def gradients(self, weights, batch, dtype, edge=0, crossed=()):
        """Loss and gradients by name from these weights."""
        model = network(self.model, weights).to(dtype)
        Edges.begin(edge, crossed)
        loss = functional.cross_entropy(model(batch[0].to(dtype)), batch[1])
        Edges.width = 0
        loss.backward()
        return loss.item(), {name: p.grad.double() for name, p in model.named_parameters()}

    def error_beside_sides(self, weights, batch, own):
        """The error of gradients beside those of float64, with those inputs at the edge of a relu
        on the other side that account for it: each one's part of it is near to 0 or to 1."""
        exact = self.gradients(weights, batch, torch.float64, EDGE)[1]
        places, rest = list(Edges.found), error(own, exact)
        if rest < GOAL or not places:
            return rest
        of = lambda crossed: self.gradients(weights, batch, torch.float64, EDGE, crossed)[1]
        alone = torch.stack([flat(of([place])) - flat(exact) for place in places], 1)
        parts = torch.linalg.lstsq(alone, (flat(own) - flat(exact))[:, None]).solution[:, 0]
        return min(rest, error(own, of([p for p, part in zip(places, parts) if part > 0.5])))

    def steps_alone(self, batches, losses):
        """For each step: differences of the loss, errors of the gradient and errors beside either
        side of relus, ours and PyTorch's."""
        _, kept, taken = AVERAGES[self.arguments.optimizer]
        rows = []
        weights, before = self.states(0)
        for step, batch in enumerate(batches):
            after = self.states(step + 1)
            loss, exact = self.gradients(weights, batch, torch.float64)
            their_loss, their = self.gradients(weights, batch, torch.float32)
            if set(exact) != set(after[1]):
                raise SystemExit(
                    f"averages of other parameters: {sorted(set(exact) ^ set(after[1]))}"
                )
            our = {
                name: ((after[1][name] - kept * before.get(name, 0)) / taken).reshape(g.shape)
                for name, g in exact.items()
            }
            rows.append(
                (
                    abs(losses[step] - loss),
                    abs(their_loss - loss),
                    error(our, exact),
                    error(their, exact),
                    self.error_beside_sides(weights, batch, our),
                    self.error_beside_sides(weights, batch, their),
                )
            )
            weights, before = after
        return list(zip(*rows))

    def compare(self):
        torch.set_num_threads(1)
        ours = self.ours()
        batches = [self.batch(step) for step in range(len(ours))]
        exact = self.theirs(batches, torch.float64)
        largest = lambda losses: max(abs(a - b) for a, b in zip(losses, exact))
        run = {
            "ours": largest(ours),
            "torch": largest(self.theirs(batches, torch.float32)),
            "torch_reordered": largest(self.theirs(batches, torch.float32, True)),
        }
        columns = self.steps_alone(batches, ours)
        step = {"loss": max(columns[0]), "torch_loss": max(columns[1])}
        for name, errors, sides in ("gradient", *columns[2::2]), ("torch_gradient", *columns[3::2]):
            step[name] = {
                "median": statistics.median(errors),
                "largest": max(errors),
                "crossed": sum(e > GOAL for e in errors),
                "sides": max(sides),
            }
        allowed = max(GOAL, 2 * max(run["torch"], run["torch_reordered"]))
        good = (
            run["ours"] <= allowed
            and step["loss"] <= GOAL
            and step["gradient"]["sides"] <= 4 * step["torch_gradient"]["sides"]
        )
        return {
            "model": self.model,
            "format": self.kind,
            "steps": len(ours),
            "first_loss": ours[0],
            "last_loss": ours[-1],
            "run": run,
            "step": step,
            "good": good,
        }


def flat(gradients):
    return torch.cat([gradients[name].flatten() for name in sorted(gradients)])


def error(gradients, exact):
    """Of all parameters together, by the norm."""
    return float((flat(gradients) - flat(exact)).norm() / flat(exact).norm())


def decode_rate(folder, kind):
    """Pictures in a second that Pillow decodes, in one thread, with reading the files."""
    paths = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names][:2000]
    for path in paths:
        numpy.asarray(Image.open(path).convert("RGB"))  # the files are in memory now
    begin = time.perf_counter()
    for path in paths:
        numpy.asarray(Image.open(path).convert("RGB"))
    return {"format": kind, "pillow_per_second": len(paths) / (time.perf_counter() - begin)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csengine", default="csengine")
    parser.add_argument("--models", default="lenet,resnet,vit")
    parser.add_argument("--formats", default="png,jpg")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--pictures", type=int, default=4000)
    parser.add_argument("--optimizer", default="SGD", choices=OPTIMIZERS)
    parser.add_argument("--work", default=None)
    arguments = parser.parse_args()
    if not os.path.exists(DATA):
        print(f"skipped: {DATA} is not there (Debian's dataset-fashion-mnist)")
        sys.exit(77)
    arguments.work = arguments.work or tempfile.mkdtemp(prefix="parity")
    failed = False
    for kind in arguments.formats.split(","):
        folder = f"{arguments.work}/{kind}"
        if not os.path.exists(folder):
            write_folder(folder, kind, arguments.pictures)
        print(json.dumps(decode_rate(folder, kind)), flush=True)
        for model in arguments.models.split(","):
            result = Parity(arguments, model, kind, folder).compare()
            failed = failed or not result["good"]
            print(json.dumps(result), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
