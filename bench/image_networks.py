"""PyTorch's networks for the comparisons of folders of pictures: lenet, resnet18 and a small vit.

Their parameters have csengine's names without `model.` (vit's with _ for dots), so that a
checkpoint that was converted to safetensors can be loaded.
"""

import torch
from torch import nn
from torch.nn import functional


class Edges:
    """Inputs of relus that lie so near to zero that rounding decides on which side.

    While `width` is not 0 each relu notes those of its inputs within it, as (relu, element) in
    `found`; those of `crossed` count as if they lay on the other side.
    """

    width, found, crossed, relus = 0, [], frozenset(), 0

    @classmethod
    def begin(cls, width, crossed=()):
        cls.width, cls.found, cls.crossed, cls.relus = width, [], frozenset(crossed), 0


def relu(x):
    if Edges.width == 0:
        return functional.relu(x)
    number, flat = Edges.relus, x.detach().flatten()
    Edges.relus += 1
    near = (flat.abs() < Edges.width).nonzero()[:, 0].tolist()
    Edges.found += [(number, element) for element in near]
    passes = flat > 0
    for relu_number, element in Edges.crossed:
        if relu_number == number:
            passes[element] = ~passes[element]
    return torch.where(passes.view_as(x), x, 0)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = functional.max_pool2d(relu(self.conv1(x)), 2)
        x = functional.max_pool2d(relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(relu(self.fc2(relu(self.fc1(x)))))


class Block(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.downsample = None
        if stride != 1 or inner != outer:
            self.downsample = nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
            )

    def forward(self, x):
        y = self.bn2(self.conv2(relu(self.bn1(self.conv1(x)))))
        return relu(y + (x if self.downsample is None else self.downsample(x)))


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
        x = relu(self.bn1(self.conv1(x)))
        for layer in range(4):
            x = getattr(self, f"layer{layer + 1}")(x)
        return self.fc(x.mean((2, 3)))


class ViT(nn.Module):
    """By the names of the parameters that it is given."""

    def __init__(self, weights, layers=4, heads=4):
        super().__init__()
        self.layers, self.heads = layers, heads
        for name, value in weights.items():
            self.register_parameter(name, nn.Parameter(value.clone()))

    def pair(self, name):
        return getattr(self, f"{name}_weight"), getattr(self, f"{name}_bias")

    def norm(self, name, x):
        return functional.layer_norm(x, x.shape[-1:], *self.pair(name), 1e-5)

    def attention(self, name, x):
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = [
            split(functional.linear(x, *self.pair(f"{name}_proj_{one}_dense_layer")))
            for one in "qkv"
        ]
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
            y = functional.linear(
                self.norm(f"{layer}_norm2", x), *self.pair(f"{layer}_ffn_ffn_0_linear_layer")
            )
            x = x + functional.linear(
                functional.gelu(y), *self.pair(f"{layer}_ffn_ffn_1_linear_layer")
            )
        x = self.norm("vit_model_encoder_transformer_encoder_norm", x)[:, 0]
        return functional.linear(x, *self.pair("classifier_classifier_ffn_0_linear_layer"))


def network(name, weights):
    """The network in training, with weights and running statistics by name."""
    if name == "vit":
        return ViT(weights).train()
    model = LeNet() if name == "lenet" else ResNet18(len(weights["bn1.weight"]))
    wanted = model.state_dict()
    counts = {key: value for key, value in wanted.items() if key.endswith("num_batches_tracked")}
    missing = sorted(set(wanted) - set(weights) - set(counts)), sorted(set(weights) - set(wanted))
    if missing[0] or missing[1]:
        raise SystemExit(f"names differ: PyTorch has {missing[0]}, csengine has {missing[1]}")
    own = {key: value.reshape(wanted[key].shape) for key, value in weights.items()}
    model.load_state_dict({**own, **counts})
    return model.train()
