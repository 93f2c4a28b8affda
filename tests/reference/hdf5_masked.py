"""Writes tests/samples/inputs/masked_tokens.h: two HDF5 files of masked tokens as ModelZoo has
them, made by h5py. Token t of sample i is 100 i + t, and the last one is padding. The first has 6
samples of which tokens 1 and 2, in odd samples 3 and 4, are labelled; the mask leaves the second
label out. The second has 10 samples with spans and positions, and a label for the third token.

Usage: hdf5_masked.py >tests/samples/inputs/masked_tokens.h (package h5py)"""

import io

import h5py
import numpy as np
from bytes_as_c import literal

TIME = 5

def file_of(data, labels, **storage):
    memory = io.BytesIO()
    with h5py.File(memory, "w", libver=("v108", "v108")) as f:
        f.create_dataset("data", data=data.astype(np.int32), track_times=False, **storage)
        f.create_dataset("labels", data=labels.astype(np.int32), track_times=False, **storage)
    return memory.getvalue()

def tokens(samples):
    return 100 * np.arange(samples)[:, None] + np.arange(TIME)[None]

def gathered():
    ids = tokens(6)
    mask = np.broadcast_to(np.arange(TIME)[None] < TIME - 1, ids.shape)
    odd = np.arange(6)[:, None] % 2
    positions = np.array([[1, 2]]) + 2 * odd
    labels = 1000 + np.take_along_axis(ids, np.array([[0, 1]] * 6), 1)
    seen = np.array([[1, 0]] * 6)
    data = np.stack([ids, mask], axis=1)
    return file_of(data, np.stack([labels, positions, seen], axis=1), compression="gzip")

def spanned():
    ids = tokens(10)
    steps = np.broadcast_to(np.arange(TIME)[None], ids.shape)
    data = np.stack([ids, steps < TIME - 1, TIME - 1 - steps, steps], axis=1)
    return file_of(data, np.where(steps == 2, 1000 + ids, -100)[:, None])

print(
    "/* Written by tests/reference/hdf5_masked.py: HDF5 files for the contract test. */\n"
    "#ifndef CSE_TESTS_SAMPLES_INPUTS_MASKED_TOKENS_H\n"
    "#define CSE_TESTS_SAMPLES_INPUTS_MASKED_TOKENS_H\n\n/* clang-format off */"
)
print(f"static const char gathered_form[] =\n    {literal(gathered())};")
print(f"static const char spanned_form[] =\n    {literal(spanned())};")
print("/* clang-format on */\n\n#endif")
