"""Writes cnn_losses.h: the losses of 50 steps of the model cnn (two convolutions, relu, max pooling,
two linear layers) by PyTorch in float64, with AdamW and clipping; and how far PyTorch's own float32
is from them. Weights and data are waves, as tests/engine/nn/models/check_cnn_losses.c makes them.
Run: python3 cnn_losses.py >cnn_losses.h, then clang-format."""
import math

import torch
from torch.nn import functional

STEPS, ROWS, BATCH, SIZE, CLASSES, CHANNELS, HIDDEN = 50, 32, 16, 8, 4, (4, 6), 16
SHAPES = [  # weight and bias of each layer, with speed, shift and size of the wave
    ((CHANNELS[0], 1, 3, 3), (1.3, 0.2, 0.5)), ((CHANNELS[0],), (0.9, 0.1, 0.3)),
    ((CHANNELS[1], CHANNELS[0], 3, 3), (1.7, 0.4, 0.3)), ((CHANNELS[1],), (0.7, 0.3, 0.2)),
    ((HIDDEN, CHANNELS[1] * 4), (2.1, 0.7, 0.3)), ((HIDDEN,), (1.1, 0.5, 0.1)),
    ((CLASSES, HIDDEN), (1.9, 0.6, 0.4)), ((CLASSES,), (0.8, 0.2, 0.1))]


def waves(count, speed, shift, size):
    return [round(math.sin(speed * i + shift) * size, 4) for i in range(count)]


def train(dtype):
    images = torch.tensor(waves(ROWS * SIZE * SIZE, 1.1, 0.3, 1.0), dtype=dtype)
    images = images.reshape(ROWS, 1, SIZE, SIZE)
    labels = torch.tensor([i * 7 % 5 % CLASSES for i in range(ROWS)])
    # The engine holds weights in float32.
    p = [torch.tensor(waves(math.prod(shape), *wave)).reshape(shape).to(dtype).requires_grad_()
         for shape, wave in SHAPES]
    optimizer, losses = torch.optim.AdamW(p, lr=0.01, weight_decay=0.01), []
    for step in range(STEPS):
        rows = slice(step * BATCH % ROWS, step * BATCH % ROWS + BATCH)
        x = images[rows]
        for layer in (0, 2):
            x = functional.conv2d(x, p[layer], p[layer + 1], padding=1)
            x = functional.max_pool2d(functional.relu(x), 2)
        x = functional.relu(functional.linear(x.flatten(1), p[4], p[5]))
        loss = functional.cross_entropy(functional.linear(x, p[6], p[7]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(p, 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


losses, narrow = train(torch.float64), train(torch.float32)
print(f"/* Written by cnn_losses.py with PyTorch {torch.__version__.split('+')[0]}. Its losses in\n"
      f" * float32 are at most {max(abs(a - b) for a, b in zip(losses, narrow)):.1e} from these. */")
print("static const double cnn_losses[] = { /* before each step */\n    "
      + ", ".join(f"{loss:.10g}" for loss in losses) + " };")
