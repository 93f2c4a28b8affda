"""What both examples train and evaluate: a small network, and the images of Debian's package
dataset-fashion-mnist (or files of the same names)."""

import gzip
import pathlib

import numpy
import torch


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(784, 128),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.1),
            torch.nn.Linear(128, 10),
        )

    def forward(self, images):
        return self.layers(images.flatten(1))


def dataloader_fn(data_dir, part, batch_size, shuffle=False):
    """The input function: each input worker calls it. `part`: "train" or "t10k"."""
    folder = pathlib.Path(data_dir)
    with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as file:
        images = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    dataset = torch.utils.data.TensorDataset(
        torch.from_numpy(images.astype(numpy.float32) / 255),
        torch.from_numpy(labels.astype(numpy.int64)),
    )
    return torch.utils.data.DataLoader(
        dataset, batch_size=batch_size, shuffle=shuffle, drop_last=True
    )
