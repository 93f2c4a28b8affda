#!/usr/bin/env python3
"""The dynamic map of moments in 8 bits against bitsandbytes, by hand (needs torch, bitsandbytes).

Compiles engine/base/types/dynamic_map.h, and compares its values with create_dynamic_map, and its
codes of random blocks of many scales with quantize_blockwise:

    cd tests/reference && python3 dynamic_map.py
"""

import ctypes
import pathlib
import subprocess
import tempfile

import numpy
import torch
from bitsandbytes import functional

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = 256
SOURCE = """
#include "engine/base/types/dynamic_map.h"
void quantize(const float *values, int factor, int32_t *words)
{ cse_quantize_block(values, factor, words); }
void dequantize(const int32_t *words, int factor, float *values)
{ cse_dequantize_block(words, factor, values); }
"""


def library():
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "map.c").write_text(SOURCE)
    command = ["cc", "-O2", "-fopenmp-simd", "-ffp-contract=off", "-march=native", "-shared"]
    subprocess.run(
        [*command, "-fPIC", f"-I{ROOT}", "-o", folder / "map.so", folder / "map.c", "-lm"],
        check=True,
    )
    return ctypes.CDLL(str(folder / "map.so"))


LIBRARY = library()


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def quantized(values, factor):
    words = numpy.zeros(BLOCK // 4 + 1, numpy.int32)
    LIBRARY.quantize(pointer(values), factor, pointer(words))
    return words.view(numpy.uint8)[:BLOCK].copy(), words[-1:].view(numpy.float32)[0]


def dequantized(codes, most, factor):
    words = numpy.zeros(BLOCK // 4 + 1, numpy.int32)
    words.view(numpy.uint8)[:BLOCK] = codes
    words[-1:].view(numpy.float32)[0] = most
    values = numpy.zeros(BLOCK, numpy.float32)
    LIBRARY.dequantize(pointer(words), factor, pointer(values))
    return values


def check_map(factor):
    theirs = functional.create_dynamic_map(signed=factor == 1).numpy().astype(numpy.float64)
    ours = dequantized(numpy.arange(BLOCK, dtype=numpy.uint8), 1.0, factor)
    off = numpy.max(numpy.abs(ours - theirs) / numpy.maximum(numpy.abs(theirs), 1e-12))
    assert off < 1e-6, off
    return theirs, off


def check_codes(factor, table, generator):
    differing = count = 0
    code = torch.tensor(table, dtype=torch.float32)
    for _ in range(400):
        values = generator.standard_normal(BLOCK) * 10.0 ** generator.uniform(-8, 3)
        values *= 10.0 ** generator.uniform(-6, 0, BLOCK)
        values = (values if factor == 1 else values**2).astype(numpy.float32)
        ours, most = quantized(values, factor)
        theirs, state = functional.quantize_blockwise(
            torch.tensor(values), code=code, blocksize=BLOCK
        )
        assert most == state.absmax.item()
        for i in numpy.nonzero(ours != theirs.numpy().reshape(-1))[0]:
            x = float(values[i]) / float(most)
            mine, other = abs(table[ours[i]] - x), abs(table[int(theirs.reshape(-1)[i])] - x)
            assert mine <= other + 1e-6 * abs(x), (x, mine, other)
            differing += 1
        count += BLOCK
    return differing, count


def main():
    generator = numpy.random.default_rng(0)
    for factor, name in ((1, "signed"), (2, "unsigned")):
        table, off = check_map(factor)
        differing, count = check_codes(factor, table, generator)
        print(
            f"{name}: the map differs by at most {off:.1e} of a value; {differing} of {count} "
            "codes differ, where ours is as near or nearer"
        )


if __name__ == "__main__":
    main()
