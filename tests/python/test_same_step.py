"""A network written in PyTorch is the same step as the engine's own model of a configuration, and
as one written in C: the same fingerprint of its graph, the same bits of its weights after training.
"""

import os
import re
import subprocess
import unittest

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import cstorch
from csengine import program
from csengine.checkpoints import Checkpoint
from csengine.library import check, lib
from programs import Case

STEPS = 5
SGD = "{SGD: {lr: 0.1, momentum: 0.9}}"


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc_layers = nn.ModuleList([nn.Linear(16, 32), nn.Linear(32, 24)])
        self.last_layer = nn.Linear(24, 4)

    def forward(self, images):
        x = torch.flatten(images, 1)
        for layer in self.fc_layers:
            x = F.relu(layer(x))
        return self.last_layer(x)


WIDTH, HEADS, WORDS, LENGTH, BLOCKS = 32, 4, 256, 16, 2


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        for name in "qkv":
            setattr(self, f"proj_{name}_dense_layer", nn.Linear(WIDTH, WIDTH))
        self.proj_output_dense_layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        heads = [
            getattr(self, f"proj_{name}_dense_layer")(x)
            .view(*x.shape[:2], HEADS, -1)
            .transpose(1, 2)
            for name in "qkv"
        ]
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
        return self.proj_output_dense_layer(mixed.transpose(1, 2).reshape(x.shape))


class Named(nn.Module):
    """A module of modules, whose names are those of the engine's model."""

    def __init__(self, **modules):
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.self_attn = Attention()
        self.norm3 = nn.LayerNorm(WIDTH)
        wide, narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.ffn = Named(ffn=nn.ModuleList([Named(linear_layer=wide), Named(linear_layer=narrow)]))

    def forward(self, x):
        x = x + self.self_attn(self.norm1(x))
        wide, narrow = (part.linear_layer for part in self.ffn.ffn)
        return x + narrow(F.gelu(wide(self.norm3(x))))


class Decoder(nn.Module):
    """The engine's gpt2. Positions are all rows of their table, or those of torch.arange."""

    def __init__(self, counts=False):
        super().__init__()
        self.counts = counts
        self.embedding_layer = Named(
            word_embeddings=nn.Embedding(WORDS, WIDTH),
            position_embeddings=Named(embed=nn.Embedding(LENGTH, WIDTH)),
        )
        self.transformer_decoder = Named(
            layers=nn.ModuleList([Block() for _ in range(BLOCKS)]), norm=nn.LayerNorm(WIDTH)
        )

    def forward(self, ids):
        words = self.embedding_layer.word_embeddings
        embed = self.embedding_layer.position_embeddings.embed
        x = words(ids) + (embed(torch.arange(ids.shape[1])) if self.counts else embed.weight)
        for block in self.transformer_decoder.layers:
            x = block(x)
        return F.linear(self.transformer_decoder.norm(x), words.weight)


class Images(nn.Module):
    """The network of examples/outside/image_network.c."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(4 * 6 * 6, 32),
            nn.ReLU(),
            nn.Linear(32, 4),
        )

    def forward(self, images):
        return self.layers(images)


LAYERS = """{name: layers, input_shape: [1, 12, 12], layers: [
      {conv2d: {out: 4, padding: 1}}, relu, max_pool2d, flatten, {linear: {out: 32}}, relu,
      {linear: {out: 4}}]}"""


class SameStep(Case):
    def csengine(self, *arguments):
        done = subprocess.run(
            [program.executable(), *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "CSE_DASHBOARD": "0"},
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def facts(self, path):
        """(fingerprint of the graph, digest of the weights) of a checkpoint."""
        said = self.csengine("checkpoint", "info", path)
        graph = re.search(r"graph ([0-9a-f]{32})", said)
        digest = self.csengine("checkpoint", "digest", path, "--prefix", "model.")
        return graph.group(1), re.search(r"[0-9a-f]{64}", digest).group(0)

    def configured(self, model, optimizer, loader, folder="configured"):
        """What a configuration gives: the first checkpoint, the facts of the last."""
        folder = os.path.join(self.folder, folder)
        path = os.path.join(self.folder, "one.yaml")
        with open(path, "w") as file:
            file.write(
                f"trainer:\n  init:\n    model_dir: {folder}\n    model: {model}\n"
                f"    optimizer: {optimizer}\n    loop: {{num_steps: {STEPS}}}\n    seed: 3\n"
                "    checkpoint: {save_initial_checkpoint: true}\n"
                f"  fit:\n    train_dataloader: {loader}\n"
            )
        self.csengine("start", path)
        first = os.path.join(folder, "checkpoint_0.mdl")
        return first, self.facts(os.path.join(folder, f"checkpoint_{STEPS}.mdl"))

    def traced(self, model, make_optimizer, samples, batch_size, first, loss_of):
        """The same facts of the program's run, from the same weights."""
        with Checkpoint(first) as checkpoint, torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(torch.from_numpy(numpy.array(checkpoint[f"model.{name}"])))
        self.configure(seed=3)
        cstorch.compile(model)
        optimizer = make_optimizer(model.parameters())

        @cstorch.trace
        def step(batch):
            loss = loss_of(model, batch)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        def input_fn():
            return torch.utils.data.DataLoader(samples, batch_size=batch_size)

        self.run_step(step, cstorch.utils.data.DataLoader(input_fn), steps=STEPS)
        path = os.path.join(self.folder, "last.mdl")
        check(lib.cse_save(path.encode()))
        return self.facts(path)

    def samples(self, *shape):
        """(samples of pictures of four classes, the data loader of a configuration)."""
        made = numpy.random.default_rng(1)
        images = made.normal(size=(64, *shape)).astype("float32")
        labels = made.integers(0, 4, 64).astype("int32")
        files = [os.path.join(self.folder, f"{name}.npy") for name in ("images", "labels")]
        for file, values in zip(files, (images, labels)):
            numpy.save(file, values)
        loader = (
            f"{{data_processor: npy, features: {files[0]}, answers: {files[1]}, batch_size: 8, "
            "features_name: images, shuffle: false}"
        )
        return [{"images": x, "labels": y} for x, y in zip(images, labels)], loader

    def traced_classifier(self, model, samples, first):
        def loss_of(model, batch):
            return F.cross_entropy(model(batch["images"]), batch["labels"])

        def optimizer(parameters):
            return cstorch.optim.SGD(parameters, lr=0.1, momentum=0.9)

        return self.traced(model, optimizer, samples, 8, first, loss_of)

    def test_a_classifier(self):
        samples, loader = self.samples(16)
        first, expected = self.configured(
            "{name: fc_mnist, input_size: 16, hidden_sizes: [32, 24], num_classes: 4}", SGD, loader
        )
        self.assertEqual(self.traced_classifier(Classifier(), samples, first), expected)

    def test_a_network_in_three_languages(self):
        samples, loader = self.samples(1, 12, 12)
        first, expected = self.configured(LAYERS, SGD, loader)
        library = os.path.join(
            os.environ.get("top_builddir", "."), "examples", "outside", ".libs", "image_network.so"
        )
        self.assertTrue(os.path.exists(library), f"{library} was not built")
        _, in_c = self.configured(
            f"{{library: {os.path.abspath(library)}, name: image_network}}", SGD, loader, "in_c"
        )
        self.assertEqual(in_c, expected)
        self.assertEqual(self.traced_classifier(Images(), samples, first), expected)

    def test_a_decoder(self):
        self.compare_decoder(Decoder())

    def test_a_decoder_that_counts_positions(self):
        self.compare_decoder(Decoder(counts=True))

    def compare_decoder(self, model):
        text = numpy.random.default_rng(2).integers(0, WORDS, 64 * LENGTH + 1, dtype="uint8")
        path = os.path.join(self.folder, "text")
        with open(path, "wb") as file:
            file.write(text.tobytes())
        first, expected = self.configured(
            f"{{name: gpt2, hidden_size: {WIDTH}, num_layers: {BLOCKS}, num_heads: {HEADS}, "
            f"vocab_size: {WORDS}, max_position_embeddings: {LENGTH}, dropout: 0.0}}",
            "{AdamW: {lr: 0.001, betas: [0.9, 0.95], eps: 1.0e-8, eps_added_to: corrected, "
            "params: [{params: '*', weight_decay: 0.1}]}}",
            f"{{data_processor: text_bytes, path: {path}, sequence_length: {LENGTH}, "
            "batch_size: 4, shuffle: false}",
        )
        samples = [
            {"input_ids": text[i : i + LENGTH], "labels": text[i + 1 : i + 1 + LENGTH]}
            for i in range(0, len(text) - LENGTH, LENGTH)
        ]
        samples = [{k: v.astype("int32") for k, v in sample.items()} for sample in samples]

        def loss_of(model, batch):
            logits = model(batch["input_ids"])
            return F.cross_entropy(logits.view(-1, WORDS), batch["labels"].view(-1))

        found = self.traced(
            model,
            lambda parameters: cstorch.optim.AdamW(
                parameters, lr=0.001, betas=(0.9, 0.95), weight_decay=0.1
            ),
            samples,
            4,
            first,
            loss_of,
        )
        self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
