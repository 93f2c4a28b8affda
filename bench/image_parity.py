"""Loss parity with PyTorch on folders of pictures: lenet, resnet18 and a small vit, 50 steps.

    image_parity.py [--csengine PATH] [--models lenet,resnet,vit] [--formats png,jpg] [--steps 50]
                    [--pictures 4000] [--optimizer SGD|AdamW] [--work DIR]

Fashion-MNIST of Debian's dataset-fashion-mnist is written out as one folder a class, as PNG and as
JPEG. csengine trains from its own initial weights; PyTorch begins with the same ones
(safetensors), takes the same samples in the same order (`csengine data samples`), decodes them with
Pillow, and its losses are compared step by step, in float32. Also told: pictures that Pillow decodes
in a second; input_rates.py sets the data loader's code beside it.

Needs torch, numpy, pillow and safetensors; ends with 77 where one is missing.
"""

import argparse
import gzip
import json
import os
import shutil
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
from torch import nn
from torch.nn import functional

DATA = "/usr/share/datasets/fashion-mnist"
GOAL = 1e-4
# Adam's first updates have the size of lr whatever the gradient's is, so that a gradient which is
# zero but for rounding moves a weight one way or the other; SGD shows what rounding alone does.
OPTIMIZERS = {
    "SGD": "SGD: {lr: 0.01, momentum: 0.9}",
    "AdamW": "AdamW: {lr: 0.001, weight_decay: 0.01, eps: 1.0e-8, eps_added_to: corrected}",
}
MODELS = {
    "lenet": "{name: lenet}",
    "resnet": "{name: resnet, depth: 18, width: 8, small_images: true, image_size: [28, 28], "
              "num_channels: 1, num_classes: 10}",
    "vit": "{name: vit, image_size: [28, 28], num_channels: 1, patch_size: [7, 7], num_classes: 10, "
           "hidden_size: 64, num_hidden_layers: 4, num_heads: 4, filter_size: 128, "
           "dropout_rate: 0.0, attention_dropout_rate: 0.0, initializer_range: 0.1, "
           "use_conv_patchified_embedding: true}",
}


def read_idx(name):
    path = f"{DATA}/{name}"
    with open(path, "rb") if os.path.exists(path) else gzip.open(f"{path}.gz") as file:
        _, _, _, rank = struct.unpack("4B", file.read(4))
        dims = struct.unpack(f">{rank}I", file.read(4 * rank))
        return numpy.frombuffer(file.read(), dtype=numpy.uint8).reshape(dims)


def write_folder(folder, kind, count):
    images = read_idx("train-images-idx3-ubyte")[:count]
    labels = read_idx("train-labels-idx1-ubyte")[:count]
    for label in range(10):
        os.makedirs(f"{folder}/{label}", exist_ok=True)
    options = {"quality": 92} if kind == "jpg" else {"compress_level": 1}
    for number, (pixels, label) in enumerate(zip(images, labels)):
        Image.fromarray(pixels).save(f"{folder}/{label}/{number:05}.{kind}", **options)


# ---- the same networks ----


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.conv1(x)), 2)
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(functional.relu(self.fc2(functional.relu(self.fc1(x)))))


class Block(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.downsample = None
        if stride != 1 or inner != outer:
            self.downsample = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False),
                                            nn.BatchNorm2d(outer))

    def forward(self, x):
        y = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        return functional.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        inner = width
        for layer in range(4):
            outer = width << layer
            blocks = [Block(inner, outer, 1 if layer == 0 else 2), Block(outer, outer, 1)]
            setattr(self, f"layer{layer + 1}", nn.Sequential(*blocks))
            inner = outer
        self.fc = nn.Linear(inner, 10)

    def forward(self, x):
        x = functional.relu(self.bn1(self.conv1(x)))
        for layer in range(4):
            x = getattr(self, f"layer{layer + 1}")(x)
        return self.fc(x.mean((2, 3)))


class ViT(nn.Module):
    """By the names of our parameters, with _ for their dots."""

    def __init__(self, weights, layers=4, heads=4):
        super().__init__()
        self.layers, self.heads = layers, heads
        for name, value in load_file(weights).items():
            self.register_parameter(name.removeprefix("model.").replace(".", "_"),
                                    nn.Parameter(value))

    def pair(self, name):
        return getattr(self, f"{name}_weight"), getattr(self, f"{name}_bias")

    def norm(self, name, x):
        return functional.layer_norm(x, x.shape[-1:], *self.pair(name), 1e-5)

    def attention(self, name, x):
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = [split(functional.linear(x, *self.pair(f"{name}_proj_{one}_dense_layer")))
                   for one in "qkv"]
        y = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return functional.linear(y, *self.pair(f"{name}_proj_output_dense_layer"))

    def forward(self, images):
        head = "vit_model_embedding_layer"
        x = functional.conv2d(images, *self.pair(f"{head}_linear_proj"), stride=7)
        x = x.flatten(2).transpose(1, 2)
        positions = getattr(self, f"{head}_position_embeddings_weight")
        token = getattr(self, f"{head}_cls_embedding").expand(len(x), 1, -1)
        x = torch.cat([token + positions[-1], x + positions[:-1]], 1)
        for number in range(self.layers):
            layer = f"vit_model_encoder_transformer_encoder_layers_{number}"
            x = x + self.attention(f"{layer}_self_attn", self.norm(f"{layer}_norm1", x))
            y = functional.linear(self.norm(f"{layer}_norm2", x),
                                  *self.pair(f"{layer}_ffn_ffn_0_linear_layer"))
            x = x + functional.linear(functional.gelu(y),
                                      *self.pair(f"{layer}_ffn_ffn_1_linear_layer"))
        x = self.norm("vit_model_encoder_transformer_encoder_norm", x)[:, 0]
        return functional.linear(x, *self.pair("classifier_classifier_ffn_0_linear_layer"))


def load(model, weights):
    """By name; a name of ours may have `model.` before it."""
    own = {name.removeprefix("model."): value for name, value in load_file(weights).items()}
    wanted = model.state_dict()
    for name in wanted:
        if name.endswith("num_batches_tracked"):
            own[name] = wanted[name]
    missing = sorted(set(wanted) - set(own)), sorted(set(own) - set(wanted))
    if missing[0] or missing[1]:
        raise SystemExit(f"names differ: PyTorch has {missing[0]}, csengine has {missing[1]}")
    model.load_state_dict({name: own[name].reshape(wanted[name].shape) for name in wanted})
    return model


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
    checkpoint: {{save_initial_checkpoint: true}}
    logging: {{log_steps: 1}}
    seed: 1
  fit:
    train_dataloader: {{data_processor: image_folder, data_dir: {folder}, image_size: [28, 28],
      channels: 1, mean: [0.5], std: [0.25], batch_size: 64, shuffle: true}}
""")

    def csengine(self, *options):
        return subprocess.run([self.arguments.csengine, *options], check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    def ours(self):
        lines = self.csengine("start", self.config, "--json", "--no_dashboard").splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        return [e["loss"] for e in events if e.get("event") == "step"]

    def network(self):
        start = f"{self.run}/checkpoint_0.mdl"
        self.csengine("checkpoint", "convert", start, f"{self.run}/start.safetensors")
        if self.model == "vit":
            return ViT(f"{self.run}/start.safetensors")
        network = LeNet() if self.model == "lenet" else ResNet18(8)
        return load(network, f"{self.run}/start.safetensors")

    def batch(self, step):
        order = json.loads(self.csengine("data", "samples", self.config, "--step", str(step),
                                         "--json"))
        places = [place for m in order["microbatches"] for place in m["places"]]
        pixels = numpy.stack([numpy.asarray(Image.open(p).convert("RGB").convert("L"))
                              for p in places])
        labels = torch.tensor([int(p.split("/")[-2]) for p in places])
        values = (torch.from_numpy(pixels.astype(numpy.float32)) / 255 - 0.5) / 0.25
        return values[:, None], labels

    def theirs(self):
        torch.set_num_threads(1)
        network = self.network().train()
        if self.arguments.optimizer == "SGD":
            optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
        else:
            optimizer = torch.optim.AdamW(network.parameters(), lr=0.001, weight_decay=0.01)
        losses = []
        for step in range(self.arguments.steps):
            images, labels = self.batch(step)
            optimizer.zero_grad()
            loss = functional.cross_entropy(network(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    def compare(self):
        ours, theirs = self.ours(), self.theirs()
        if len(ours) != len(theirs):
            raise SystemExit(f"{self.model}: {len(ours)} losses, PyTorch has {len(theirs)}")
        worst = max(range(len(ours)), key=lambda i: abs(ours[i] - theirs[i]))
        return {"model": self.model, "format": self.kind, "steps": len(ours),
                "first_loss": ours[0], "last_loss": ours[-1],
                "largest_difference": abs(ours[worst] - theirs[worst]), "at_step": worst + 1}


def decode_rate(folder, kind):
    """Pictures in a second that Pillow decodes, in one thread, with reading the files."""
    paths = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names][:2000]
    for path in paths:
        numpy.asarray(Image.open(path).convert("RGB")) # the files are in memory now
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
            failed = failed or result["largest_difference"] > GOAL
            print(json.dumps(result), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
