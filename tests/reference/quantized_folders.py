"""Folders of Hugging Face with matrices that GPTQ, AWQ and bitsandbytes pack, made with the standard library from whole
numbers, scales and zero points, and the values that these stand for.

Usage: quantized_folders.py write FOLDER; quantized_folders.py compare FOLDER (which has NAME.safetensors of each)"""
import json
import os
import random
import struct
import sys

from packed import half, single

IN, OUT, GROUP = 64, 32, 16
CODES = {"I32": "i", "F32": "f", "F16": "e", "U8": "B", "I8": "b"}


def tensor(kind, shape, values):
    return kind, list(shape), struct.pack(f"<{len(values)}{CODES[kind]}", *values)


def signed(word):
    return word - (1 << 32) if word >> 31 else word


def words(numbers, bits, order=None):
    """Numbers in words of 32 bits, the first in the lowest bits; `order`: which of them stands where."""
    count = 32 // bits
    order = order or range(count)
    return [signed(sum(numbers[at + k] << bits * place for place, k in enumerate(order)))
            for at in range(0, len(numbers), count)]


def grid(rng, rows, columns, low, high):
    return [[rng.randrange(low, high) for _ in range(columns)] for _ in range(rows)]


def scales(rng):
    return [[half(rng.uniform(-2, 2))[1] for _ in range(OUT)] for _ in range(IN // GROUP)]


def flat(rows):
    return [value for row in rows for value in row]


def matrix(q, zero, scale, group):
    return [single(scale[group[i]][o] * (q[i][o] - zero[group[i]][o])) for o in range(OUT) for i in range(IN)]


def gptq(rng, bits, form=None):
    q, zero, scale = grid(rng, IN, OUT, 0, 1 << bits), grid(rng, IN // GROUP, OUT, 1, 1 << bits), scales(rng)
    group = [i // GROUP for i in range(IN)]
    rng.shuffle(group)
    columns = [words([q[i][o] for i in range(IN)], bits) for o in range(OUT)]
    less = 0 if form == "gptq_v2" else 1
    tensors = {
        "a.qweight": tensor("I32", [IN * bits // 32, OUT], flat(zip(*columns))),
        "a.qzeros": tensor("I32", [IN // GROUP, OUT * bits // 32], flat(words([z - less for z in row], bits) for row in zero)),
        "a.scales": tensor("F16", [IN // GROUP, OUT], flat(scale)), "a.g_idx": tensor("I32", [IN], group)}
    config = {"quant_method": "gptq", "bits": bits, "group_size": GROUP, "desc_act": True, "sym": False}
    return tensors, dict(config, checkpoint_format=form) if form else config, matrix(q, zero, scale, group)


def awq(rng):
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    q, zero, scale = grid(rng, IN, OUT, 0, 16), grid(rng, IN // GROUP, OUT, 0, 16), scales(rng)
    tensors = {"a.qweight": tensor("I32", [IN, OUT // 8], flat(words(row, 4, order) for row in q)),
               "a.qzeros": tensor("I32", [IN // GROUP, OUT // 8], flat(words(row, 4, order) for row in zero)),
               "a.scales": tensor("F16", [IN // GROUP, OUT], flat(scale))}
    config = {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True, "version": "gemm"}
    return tensors, config, matrix(q, zero, scale, [i // GROUP for i in range(IN)])


def nf4(rng, nested):
    block, count = 64, IN * OUT
    levels = sorted(single(rng.uniform(-1, 1)) for _ in range(16))
    q = [rng.randrange(16) for _ in range(count)]
    state = {"quant_type": "nf4", "blocksize": block, "dtype": "bfloat16", "shape": [OUT, IN]}
    tensors = {"a.weight": tensor("U8", [count // 2, 1], [q[i] << 4 | q[i + 1] for i in range(0, count, 2)]),
               "a.weight.quant_map": tensor("F32", [16], levels)}
    if nested:
        inner = sorted(single(rng.uniform(-1, 1)) for _ in range(256))
        outer, offset = [single(rng.uniform(0, 2)) for _ in range(2)], 0.046875
        small = [rng.randrange(256) for _ in range(count // block)]
        state.update(nested_blocksize=16, nested_dtype="float32", nested_offset=offset)
        most = [single(single(inner[s] * outer[i // 16]) + offset) for i, s in enumerate(small)]
        tensors.update({"a.weight.absmax": tensor("U8", [len(small)], small),
                        "a.weight.nested_absmax": tensor("F32", [2], outer),
                        "a.weight.nested_quant_map": tensor("F32", [256], inner)})
    else:
        most = [single(rng.uniform(0, 2)) for _ in range(count // block)]
        tensors["a.weight.absmax"] = tensor("F32", [len(most)], most)
    raw = json.dumps(state).encode()
    tensors["a.weight.quant_state.bitsandbytes__nf4"] = tensor("U8", [len(raw)], list(raw))
    config = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4",
              "bnb_4bit_use_double_quant": nested}
    return tensors, config, [single(levels[n] * most[i // block]) for i, n in enumerate(q)]


def int8(rng):
    q, scale = grid(rng, OUT, IN, -127, 128), [single(rng.uniform(0, 2)) for _ in range(OUT)]
    tensors = {"a.weight": tensor("I8", [OUT, IN], flat(q)), "a.SCB": tensor("F32", [OUT], scale),
               "a.weight_format": tensor("U8", [], [0])}
    return tensors, {"quant_method": "bitsandbytes", "load_in_8bit": True}, [
        single(single(n * s) / 127) for row, s in zip(q, scale) for n in row]


def folders():
    rng = random.Random(7)
    return {"gptq4": gptq(rng, 4), "gptq8": gptq(rng, 8), "gptq_v2": gptq(rng, 4, "gptq_v2"), "awq": awq(rng),
            "nf4": nf4(rng, False), "nf4_nested": nf4(rng, True), "int8": int8(rng)}


def write(folder):
    for name, (tensors, config, _) in folders().items():
        os.makedirs(os.path.join(folder, name))
        header, data = {}, b""
        for key, (kind, shape, raw) in {**tensors, "plain": tensor("F32", [2], [1, 2])}.items():
            header[key] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(header).encode()
        with open(os.path.join(folder, name, "model.safetensors"), "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + data)
        with open(os.path.join(folder, name, "config.json"), "w") as out:
            json.dump({"model_type": "none", "quantization_config": config}, out)


def compare(folder):
    for name, (_, _, want) in folders().items():
        with open(os.path.join(folder, f"{name}.safetensors"), "rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            header, data = json.loads(file.read(size)), file.read()
        header.pop("__metadata__", None)
        assert sorted(header) == ["a.weight", "plain"], (name, sorted(header))
        entry = header["a.weight"]
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "F32" and entry["shape"] == [OUT, IN], (name, entry)
        assert data[begin:end] == struct.pack(f"<{len(want)}f", *want), f"{name}: other values"


if __name__ == "__main__":
    {"write": write, "compare": compare}[sys.argv[1]](sys.argv[2])
