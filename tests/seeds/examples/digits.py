"""What both example programs train and evaluate: pictures in the form of MNIST, made of ten patterns
and noise, and a small network."""

import torch

PICTURES = 4000


def pictures(part):
    """Pictures of 28 x 28 and their classes."""
    patterns = torch.rand(10, 28, 28, generator=torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(2 if part == "train" else 3)
    classes = torch.randint(0, 10, (PICTURES,), generator=generator)
    noise = torch.rand(PICTURES, 28, 28, generator=generator)
    return 0.25 * patterns[classes] + 0.75 * noise, classes


def dataloader_fn(part, batch_size=40):
    """The function that each input worker calls."""
    dataset = torch.utils.data.TensorDataset(*pictures(part))
    return torch.utils.data.DataLoader(dataset, batch_size=batch_size)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(784, 32)
        self.last_layer = torch.nn.Linear(32, 10)

    def forward(self, inputs):
        return self.last_layer(torch.relu(self.fc1(inputs.flatten(1))))
