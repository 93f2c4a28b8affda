"""Writes sparsity.h: masks and weights of a matrix trained by SGD under each algorithm of sparsity.

An independent simulation in numpy: random numbers, schedules, ranks by sorting, and the update. The
gradient of element i in step t, microbatch k is in `gradient`, the first weights in `first`. Run:
python3 sparsity.py > sparsity.h, then clang-format."""
import math
import textwrap

import numpy as np

ROWS, COLUMNS, STEPS, SEED = 10, 15, 24, 5
SIZE = ROWS * COLUMNS
RATE, MOMENTUM, DECAY = 0.05, 0.9, 0.01
MASK_NAME = "sparsity.w.mask"
F = np.float32


def first():
    values = [round(math.cos(0.37 * i + 1.1), 4) for i in range(SIZE)]
    return np.array([0 if i % 7 == 3 else v for i, v in enumerate(values)], dtype=F)


def gradient(t):
    """The mean of two microbatches."""
    rows = [[round(math.sin(1.7 * t + 0.9 * i + 2.3 * k + 0.4) * (0.2 + 0.01 * i), 4)
             for i in range(SIZE)] for k in range(2)]
    return np.array(rows, dtype=F).sum(axis=0, dtype=F) * F(0.5)


# ---- random numbers ----

M32, M64 = 2**32 - 1, 2**64 - 1


def hash_string(text):
    """FNV-1a, finished by two rounds of MurmurHash3's."""
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & M64
    h ^= h >> 33
    h = h * 0xFF51AFD7ED558CCD & M64
    return h ^ h >> 33


def philox(key, counter):
    """Philox4x32-10 (Salmon et al. 2011)."""
    c, k = list(counter), [key & M32, key >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & M32, a >> 32 ^ c[3] ^ k[1], a & M32]
        k = [k[0] + 0x9E3779B9 & M32, k[1] + 0xBB67AE85 & M32]
    return c


def hash_bits(key, element):
    x = element + (key & M32) & M32
    x = (x ^ x >> 17) * 0xED5AD4BB & M32
    x = (x ^ x >> 11) + (key >> 32) & M32
    x = (x ^ x >> 16) * 0xAC4C1B51 & M32
    x = (x ^ x >> 15) * 0x31848BAB & M32
    return x ^ x >> 14


def first_scores():
    key = SEED * 0x9E3779B97F4A7C15 & M64 ^ hash_string(MASK_NAME)
    return [philox(key, (i, 0, 0, 0))[0] for i in range(SIZE)]


def growth_scores(t):
    words = philox(SEED, (0, 0, t, hash_string(MASK_NAME + ".growth") & M32))
    return [hash_bits(words[1] << 32 | words[0], i) >> 1 for i in range(SIZE)]


# ---- masks ----

def highest(scores, eligible, count):
    """The `count` highest among the eligible; of equal scores the first ones."""
    order = sorted((i for i in range(SIZE) if eligible[i]), key=lambda i: (-scores[i], i))
    mask = np.zeros(SIZE, dtype=bool)
    mask[order[:max(0, count)]] = True
    return mask


def count_in_use(sparsity):
    return int(np.rint((F(1) - F(min(max(sparsity, 0), 1))) * F(SIZE)))


def checkerboard(sparsity):
    """One row of ones at even distances, rolled from row to row."""
    density = 1 - sparsity
    padding = math.ceil(COLUMNS / density + 1e-5)
    steps = [math.floor(i * density + 1e-5) for i in range(COLUMNS + padding + 1)]
    row = np.array([b != a for a, b in zip(steps, steps[1:])])
    offset = -math.floor(1 / density - 1e-5)
    return np.concatenate([np.roll(row, r * offset)[:COLUMNS] for r in range(ROWS)])


def first_mask(method, weights, sparsity):
    if method == "from_zeros":
        return weights != 0
    if method == "checkerboard":
        return checkerboard(sparsity)
    scores = np.abs(weights) if method == "topk" else first_scores()
    return highest(scores, np.ones(SIZE, dtype=bool), count_in_use(sparsity))


def next_mask(case, t, weights, mask, dense):
    count = count_in_use(case["sparsity"](t))
    allowed = int(mask.sum())
    if case["algorithm"] != "gmp":
        allowed = int(np.rint((F(1) - F(case.get("drop", lambda t: 0.3)(t))) * F(allowed)))
    kept = highest(np.abs(weights), mask, min(allowed, count))
    scores = {"gmp": np.abs(weights), "rigl": np.abs(dense), "set": None}[case["algorithm"]]
    if scores is None:
        scores = growth_scores(t)
    return kept | highest(scores, ~kept, count - int(kept.sum()))


def simulate(case):
    weights, momentum = first(), np.zeros(SIZE, dtype=F)
    starts = case.get("changes", lambda t: t == 0)(0)
    mask = np.ones(SIZE, dtype=bool)
    if starts:
        mask = first_mask(case.get("init", "random"), weights, case["sparsity"](0))
    weights = np.where(mask, weights, F(0))
    masks, rows = [mask], []
    for t in range(STEPS):
        dense = gradient(t)
        g = np.where(mask, dense, F(0))
        if "clip" in case:
            norm = math.sqrt(float((g.astype(np.float64) ** 2).sum()))
            g = g * F(min(1, case["clip"] / (norm + 1e-6)))
        if t > 0 and case["algorithm"] != "static" and case["changes"](t):
            mask = next_mask(case, t, weights, mask, dense)
        w, m, g = (np.where(mask, x, F(0)) for x in (weights, momentum, g))
        g = g + F(DECAY) * w
        momentum = F(MOMENTUM) * m + g
        weights = np.where(mask, w - F(RATE) * momentum, F(0)).astype(F)
        momentum = np.where(mask, momentum, F(0)).astype(F)
        masks.append(mask)
        rows.append(weights)
    return masks, rows


def every(freq, start=0, stop=10**9):
    return lambda t: start <= t < stop and (t - start) % freq == 0


def cubic(init, final, start, stop):
    return lambda t: final + (init - final) * (1 - min(max((t - start) / (stop - start), 0), 1)) ** 3


def cosine(init, half_period):
    return lambda t: init / 2 + init / 2 * math.cos(math.pi * t / half_period)


CASES = [
    dict(settings="0.5", algorithm="static", sparsity=lambda t: 0.5),
    dict(settings="{sparsity: 0.75, init_method: checkerboard}", algorithm="static",
         sparsity=lambda t: 0.75, init="checkerboard"),
    dict(settings="{sparsity: 0.9, init_method: from_zeros}", algorithm="static",
         sparsity=lambda t: 0.9, init="from_zeros"),
    dict(settings="{algorithm: gmp, init_method: topk, schedule: {type: cubic, init: 0.2, "
                  "final: 0.8}, update: {freq: 3, stop: 20}}",
         algorithm="gmp", init="topk", sparsity=cubic(0.2, 0.8, 0, 18), changes=every(3, 0, 20)),
    dict(settings="{algorithm: gmp, sparsity: {type: exp, init: 0.1, gamma: -0.2, final: 0.9}, "
                  "update: {freq: 4, start: 5}}",
         algorithm="gmp", sparsity=lambda t: 0.9 - 0.8 * math.exp(-0.2 * t), changes=every(4, 5)),
    dict(settings="{algorithm: gmp, init_method: topk, sparsity: {type: linear, init: 0.8, "
                  "slope: -0.02}, update: {freq: 5}}",
         algorithm="gmp", init="topk", sparsity=lambda t: 0.8 - 0.02 * t, changes=every(5)),
    dict(settings="{algorithm: set, sparsity: 0.7, update: {freq: 4, stop: 18}}", algorithm="set",
         sparsity=lambda t: 0.7, changes=every(4, 0, 18)),
    dict(settings="{algorithm: rigl, sparsity: 0.8, drop_fraction: {type: cosine, init: 0.3, "
                  "half_period: 20}, update: {freq: 3}}",
         algorithm="rigl", sparsity=lambda t: 0.8, drop=cosine(0.3, 20), changes=every(3)),
    dict(settings="{algorithm: rigl, sparsity: [0.6, 0.7, 0.8], init_method: topk, "
                  "update: {steps: [0, 4, 9, 15]}}",
         algorithm="rigl", init="topk", clip=0.5, changes=lambda t: t in (0, 4, 9, 15),
         sparsity=lambda t: [0.6, 0.7, 0.8][sum(s < t for s in (0, 4, 9, 15)) % 3]),
    dict(settings="{algorithm: set, sparsity: {type: power, init: 0.9, beta: 0.97}, "
                  "drop_fraction: 0.5}",
         algorithm="set", sparsity=lambda t: 0.9 * 0.97**t, drop=lambda t: 0.5, changes=every(1)),
]


def hexadecimal(mask):
    bits = "".join("1" if m else "0" for m in mask) + "000"
    return "".join(f"{int(bits[i:i + 4], 2):x}" for i in range(0, SIZE, 4))


def main():
    print("/* Written by sparsity.py. */")
    print(f"enum {{ SPARSITY_ROWS = {ROWS}, SPARSITY_COLUMNS = {COLUMNS}, "
          f"SPARSITY_STEPS = {STEPS}, SPARSITY_SEED = {SEED} }};")
    print("typedef struct sparsity_case { const char *settings; double clip;")
    print("/* In hexadecimal, the first element the highest bit of the first digit: before the first "
          "step")
    print(" * and after each; the weights after each eighth. */")
    print("const char *masks[SPARSITY_STEPS + 1];")
    print("double weights[SPARSITY_STEPS / 8][SPARSITY_ROWS * SPARSITY_COLUMNS]; } sparsity_case;")
    print("static const sparsity_case sparsity_cases[] = {")
    for case in CASES:
        masks, rows = simulate(case)
        words = textwrap.wrap(case["settings"], 80, drop_whitespace=False)
        print("{ .settings =", "\n".join(f'"{word}"' for word in words) + ",")
        print(f".clip = {case.get('clip', 0)}, .masks = {{")
        for mask in masks:
            print('"' + hexadecimal(mask) + '",')
        print("}, .weights = {")
        for row in rows[7::8]:
            values = "{ " + ", ".join(f"{value:.6g}" for value in row) + " },"
            print(textwrap.fill(values, 92))
        print("} },")
    print("};")


main()
