"""Writes gpt2.h: losses and weights of a tiny GPT-2 that PyTorch trains for a few steps.

The model is put together from PyTorch's own modules: torch.nn.TransformerEncoder with pre-norm layers
and a causal mask, Embedding, LayerNorm, SGD; in float64. Weights begin as numbers that both sides can
compute (see `value`), under the names and in the order of the engine's model gpt2.
Run: python3 gpt2.py > gpt2.h"""
import json

import torch
from torch import nn
from torch.nn import functional

TEXT = ("The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs! "
        "How vexingly quick daft zebras jump; sphinx of black quartz, judge my vow.")
HIDDEN, LAYERS, HEADS, FILTER, VOCAB, POSITIONS = 12, 2, 3, 20, 128, 10
TIME, BATCH, STEPS, RATE, MOMENTUM = 8, 4, 3, 0.5, 0.9
ACTIVATIONS = {"gelu": functional.gelu,
               "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh")}


def value(parameter, element):
    """A number in [-0.5, 0.5) that depends on both, of 24 bits, so that float32 holds it."""
    word = (element * 2654435761 + (parameter + 1) * 974634777) % 2**32
    word ^= word >> 16
    word = word * 73244475 % 2**32
    word ^= word >> 16
    return (word >> 8) / 2**24 - 0.5


def begin(number, name, shape):
    """Norm weights around 1, biases and norm biases small, matrices so large that attention differs
    from place to place."""
    count = torch.Size(shape).numel()
    drawn = torch.tensor([value(number, e) for e in range(count)], dtype=torch.float64)
    is_norm = "norm" in name and name.endswith("weight")
    scale, shift = (0.25, 1.0) if is_norm else (0.25, 0.0) if name.endswith("bias") else (1.0, 0.0)
    return (drawn * scale + shift).float().double().reshape(shape)


class Model(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.words = nn.Embedding(VOCAB, HIDDEN)
        self.positions = nn.Embedding(POSITIONS, HIDDEN)
        layer = nn.TransformerEncoderLayer(HIDDEN, HEADS, FILTER, 0.0, activation, 1e-5,
                                           batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(HIDDEN),
                                            enable_nested_tensor=False)

    def forward(self, tokens):
        time = tokens.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(time, dtype=torch.float64)
        x = self.words(tokens) + self.positions(torch.arange(time))
        return functional.linear(self.layers(x, mask, is_causal=True), self.words.weight)

    def named(self):
        """(name in the engine, part of a parameter here) in the engine's order."""
        yield "embedding_layer.word_embeddings.weight", self.words.weight
        yield "embedding_layer.position_embeddings.embed.weight", self.positions.weight
        for n, layer in enumerate(self.layers.layers):
            attention, prefix = layer.self_attn, f"transformer_decoder.layers.{n}."
            for kind in ("weight", "bias"):
                yield f"{prefix}norm1.{kind}", getattr(layer.norm1, kind)
            for i, which in enumerate("qkv"):
                rows = slice(i * HIDDEN, (i + 1) * HIDDEN)
                for kind in ("weight", "bias"):
                    yield (f"{prefix}self_attn.proj_{which}_dense_layer.{kind}",
                           getattr(attention, f"in_proj_{kind}")[rows])
            for kind in ("weight", "bias"):
                yield (f"{prefix}self_attn.proj_output_dense_layer.{kind}",
                       getattr(attention.out_proj, kind))
            for kind in ("weight", "bias"):
                yield f"{prefix}norm3.{kind}", getattr(layer.norm2, kind)
            for i, linear in enumerate((layer.linear1, layer.linear2)):
                for kind in ("weight", "bias"):
                    yield f"{prefix}ffn.ffn.{i}.linear_layer.{kind}", getattr(linear, kind)
        for kind in ("weight", "bias"):
            yield f"transformer_decoder.norm.{kind}", getattr(self.layers.norm, kind)


def train(activation):
    model = Model(activation).double()
    with torch.no_grad():
        for number, (name, parameter) in enumerate(model.named()):
            parameter.copy_(begin(number, name, parameter.shape))
    optimizer = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)
    tokens, losses = torch.tensor(list(TEXT.encode())), []
    for step in range(STEPS):
        starts = [(step * BATCH + b) * TIME for b in range(BATCH)]
        inputs = torch.stack([tokens[s:s + TIME] for s in starts])
        labels = torch.stack([tokens[s + 1:s + TIME + 1] for s in starts])
        loss = functional.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [(name, p.norm().item()) for name, p in model.named()]


def write():
    print("/* Written by gpt2.py with PyTorch", torch.__version__.split("+")[0] + ": do not edit. */")
    print("/* clang-format off */\n#ifndef CSE_TESTS_REFERENCE_GPT2_H")
    print("#define CSE_TESTS_REFERENCE_GPT2_H\n")
    print("static const char reference_text[] =")
    for at in range(0, len(TEXT), 80):
        print("   ", json.dumps(TEXT[at:at + 80]) + (";" if at + 80 >= len(TEXT) else ""))
    print(f"enum {{ REFERENCE_STEPS = {STEPS}, REFERENCE_TIME = {TIME}, REFERENCE_BATCH = {BATCH} }};")
    print(f'static const char reference_model[] =\n    "hidden_size: {HIDDEN}, num_layers: {LAYERS}, '
          f'num_heads: {HEADS}, filter_size: {FILTER}, "\n    "vocab_size: {VOCAB}, '
          f'max_position_embeddings: {POSITIONS}";')
    print(f'static const char reference_optimizer[] = "{{lr: {RATE}, momentum: {MOMENTUM}}}";')
    trained = {name: train(function) for name, function in ACTIVATIONS.items()}
    count = len(trained["gelu"][1])
    print(f"\nenum {{ REFERENCE_PARAMETERS = {count} }};\n\n/* The loss of each step, then the norm of "
          "each parameter after the last one. */")
    print("static const struct {\n    const char *activation;\n    double losses[REFERENCE_STEPS];")
    print("    double norms[REFERENCE_PARAMETERS];\n} reference_runs[] = {")
    for activation, (losses, norms) in trained.items():
        print(f'    {{ "{activation}",\n      {{ {", ".join("%.9f" % x for x in losses)} }},\n      {{')
        for at in range(0, count, 6):
            print("       ", ", ".join("%.9f" % x for _, x in norms[at:at + 6]) + ",")
        print("      } },")
    print("};\n\nstatic const char *const reference_names[REFERENCE_PARAMETERS] = {")
    for name, _ in trained["gelu"][1]:
        print(f'    "model.{name}",')
    print("};\n\n#endif")


write()
