"""Prints values of the samples of dataloader/inputs/synthetic.c by an independent Philox4x32-10 (checked
against Random123's published vectors) and whole-number arithmetic. Run: python3 inputs.py"""
import struct

import numpy

WORD = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 2**32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) & WORD, (k[1] + 0xBB67AE85) & WORD]
    return c


# Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011: kat_vectors of Random123.
assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([WORD] * 4, [WORD] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def purpose(text):
    return struct.unpack(">I", text)[0]


def words(seed, what, row, block):
    return philox([row & WORD, row >> 32, block, what], [seed & WORD, seed >> 32])


def features(seed, sample, elements):
    """Odd numbers below 2^24 in size, from the upper 24 bits of each word."""
    return [(words(seed, purpose(b"feat"), sample, e // 4)[e % 4] >> 8) * 2 + 1 - 2**24
            for e in range(elements)]


def row_of_map(seed, row, elements):
    """One bit for each element: 1 is +1, 0 is -1."""
    return [1 if words(seed, purpose(b"map\0"), row, e // 128)[e % 128 // 32] >> e % 32 & 1 else -1
            for e in range(elements)]


def score(seed, row, x):
    return sum(a * b for a, b in zip(row_of_map(seed, row, len(x)), x))


def float32(x):
    return numpy.float32(x)


def show(stream, sample, element, value):
    print(f"    {{ {stream}, {sample}, {element}, {float(value):.9g} }},")


print("/* synthetic: features [2, 3], 4 classes, seed 5 */")
scale = float32(3**0.5 / 2**24)
for sample, element in ((0, 0), (0, 5), (9, 2), (2**33 + 1, 4)):
    show(0, sample, element, float32(features(5, sample, 6)[element]) * scale)
for sample in (0, 1, 2, 9, 2**33 + 1):
    x = features(5, sample, 6)
    scores = [score(5, row, x) for row in range(4)]
    show(1, sample, 0, scores.index(max(scores)))
print("/* synthetic: features [5], regression, seed 2^32 + 7 */")
for sample in (0, 1, 9):
    x = features(2**32 + 7, sample, 5)
    show(0, sample, 4, float32(x[4]) * scale)
    show(1, sample, 0, float32(score(2**32 + 7, 0, x) * ((3 / 5) ** 0.5 / 2**24)))
