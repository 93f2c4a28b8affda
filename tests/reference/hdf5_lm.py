"""Writes tests/samples/inputs/hdf5_lm.h: two HDF5 files of tokens as ModelZoo has them, made by h5py. The
first has 6 samples of input_ids, attention_mask and labels: token t of sample i is 100 i + t, its label one more,
and the last mask is 0. The second is one sequence: 1000, 1001, ...

Usage: hdf5_lm.py >tests/samples/inputs/hdf5_lm.h (package h5py)"""
import io

import h5py
import numpy as np
from bytes_as_c import literal

i, t = np.arange(6)[:, None], np.arange(4)[None]
ids = 100 * i + t
mask = np.broadcast_to(t < 3, ids.shape)
samples = np.stack([ids, mask, ids + 1], axis=1).astype(np.int32)

def text_of(values, **storage):
    memory = io.BytesIO()
    with h5py.File(memory, "w", libver=("v108", "v108")) as f:
        f.attrs["n_examples"] = len(values)
        f.create_dataset("data", data=values, track_times=False, **storage)
    return memory.getvalue()

print('/* Written by tests/reference/hdf5_lm.py: HDF5 files for the contract test. */\n'
      '#ifndef CSE_TESTS_SAMPLES_INPUTS_HDF5_LM_H\n#define CSE_TESTS_SAMPLES_INPUTS_HDF5_LM_H\n\n'
      '/* clang-format off */')
print("static const char sample_form[] =\n    " +
      literal(text_of(samples, chunks=(1, 3, 4), compression="gzip")) + ";")
print("static const char corpus_form[] =\n    " +
      literal(text_of(np.arange(1000, 1050).astype(np.int32))) + ";")
print("/* clang-format on */\n\n#endif")
