"""The 256 values that torchvision's ToTensor and Normalize make of a byte, as float32 bits.

Written once by: python3 idx_normalisation.py > idx_normalisation.txt (PyTorch 2.13). Lines marked
below are all of torchvision.transforms.functional.to_tensor and .normalize for such an image.
"""
import struct

import torch

for mean, std in ((0.1307, 0.3081), (0.5, 0.25)):
    image = torch.arange(256, dtype=torch.uint8).reshape(1, 16, 16)
    image = image.to(torch.float32).div(255)  # to_tensor
    shift, scale = (torch.tensor([v]).view(-1, 1, 1) for v in (mean, std))
    image.sub_(shift).div_(scale)  # normalize
    for value in image.flatten().tolist():
        print(struct.pack(">f", value).hex())
