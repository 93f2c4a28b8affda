"""The products that bench_products lists, in PyTorch on one thread.

Reads the JSON of `bench_products --json` on standard input and prints it again with one more
column (GFLOP/s, medians of rounds, the second of two runs) in each product's float32 and
bfloat16. Results go to tensors that exist already. `products_torch.py ROUNDS COLUMN`.
"""

import json
import os
import statistics
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import torch

TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def operands(product, dtype):
    """The two operands as the step stores them, seen as [batches, m, k] and [batches, k, n]."""
    batches, m, n, k = (product[name] for name in ("batches", "m", "n", "k"))
    a = torch.rand((batches, k, m) if product["transpose_a"] else (batches, m, k)).to(dtype)
    b = torch.rand((batches, n, k) if product["transpose_b"] else (batches, k, n)).to(dtype)
    a = a.transpose(1, 2) if product["transpose_a"] else a
    b = b.transpose(1, 2) if product["transpose_b"] else b
    out = torch.empty(batches, m, n, dtype=dtype)
    return (a[0], b[0], out[0]) if batches == 1 else (a, b, out)


def seconds(multiply, a, b, out):
    multiply(a, b, out=out)
    start = time.process_time()
    multiply(a, b, out=out)
    return time.process_time() - start


def main():
    rounds, column = int(sys.argv[1]), sys.argv[2]
    torch.set_num_threads(1)
    table = json.load(sys.stdin)
    for name, dtype in TYPES.items():
        for product in table["products"]:
            a, b, out = operands(product, dtype)
            multiply = torch.mm if a.dim() == 2 else torch.bmm
            operations = 2.0 * product["batches"] * product["m"] * product["n"] * product["k"]
            taken = statistics.median(seconds(multiply, a, b, out) for _ in range(rounds))
            product[name][column] = round(operations / taken / 1e9, 2)
    table["torch"] = torch.__version__
    json.dump(table, sys.stdout)


if __name__ == "__main__":
    with torch.inference_mode():
        main()
