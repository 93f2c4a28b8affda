"""Small GGUF files of the family llama, written with the standard library alone: plain and packed weights, a tokenizer
of each kind, files in parts, and files that are wrong in one way each.

Usage: gguf_files.py FOLDER"""
import json
import os
import random
import struct
import sys

import packed

HIDDEN, WIDE, HEADS, BLANK = 32, 64, 2, "▁"
NUMBERS = {name: number for number, name in ((0, "F32"), (2, "Q4_0"), (3, "Q4_1"), (6, "Q5_0"), (7, "Q5_1"), (8, "Q8_0"),
                                             (10, "Q2_K"), (11, "Q3_K"), (12, "Q4_K"), (13, "Q5_K"), (14, "Q6_K"))}


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def scalar(value):
    """A type and its bytes."""
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, str):
        return 8, text(value)
    return (6, struct.pack("<f", value)) if isinstance(value, float) else (4, struct.pack("<I", value))


def fact(name, value):
    if not isinstance(value, list):
        kind, raw = scalar(value)
        return text(name) + struct.pack("<I", kind) + raw
    kind = scalar(value[0])[0]
    return text(name) + struct.pack("<IIQ", 9, kind, len(value)) + b"".join(scalar(entry)[1] for entry in value)


def file(facts, weights):
    """`weights`: (name, shape, type, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(weights), len(facts))
    head += b"".join(fact(name, value) for name, value in facts.items())
    at, data = 0, b""
    for name, shape, kind, raw in weights:
        head += text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", size) for size in reversed(shape))
        head += struct.pack("<IQ", NUMBERS[kind], at)
        data += raw + bytes(-len(raw) % 32)
        at = len(data)
    return head + bytes(-len(head) % 32) + data


def weight(rng, name, shape, kind="F32"):
    count = 1
    for size in shape:
        count *= size
    if kind == "F32":
        return name, shape, kind, struct.pack(f"<{count}f", *(rng.gauss(0, 0.3) for _ in range(count)))
    size = len(packed.TYPES[kind](random.Random(0))[1])
    assert shape[-1] % size == 0
    return name, shape, kind, b"".join(packed.TYPES[kind](rng)[0] for _ in range(count // size))


def model(tokens, kind="F32"):
    rng = random.Random(3)
    weights = [weight(rng, "token_embd.weight", [tokens, HIDDEN], kind), weight(rng, "output_norm.weight", [HIDDEN])]
    for name, shape in (("attn_norm", [HIDDEN]), ("ffn_norm", [HIDDEN]), ("attn_q", [HIDDEN, HIDDEN]),
                        ("attn_k", [HIDDEN, HIDDEN]), ("attn_v", [HIDDEN, HIDDEN]), ("attn_output", [HIDDEN, HIDDEN]),
                        ("ffn_gate", [WIDE, HIDDEN]), ("ffn_up", [WIDE, HIDDEN]), ("ffn_down", [HIDDEN, WIDE])):
        weights.append(weight(rng, f"blk.0.{name}.weight", shape, kind if len(shape) > 1 else "F32"))
    return weights


def facts(tokens):
    return {"general.architecture": "llama", "llama.block_count": 1, "llama.context_length": 64,
            "llama.embedding_length": HIDDEN, "llama.feed_forward_length": WIDE, "llama.attention.head_count": HEADS,
            "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 10000.0, "llama.vocab_size": tokens}


def byte_characters():
    """How bytes are written in vocabularies of GPT-2."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + rest.index(byte)) for byte in range(256)]


def of_bytes():
    merges = ["t h", "th e", "Ġ the", "i s"]
    tokens = ["<|end|>", *byte_characters(), *(merge.replace(" ", "") for merge in merges), "<tool>"]
    return {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": [3, *[1] * (len(tokens) - 2), 4], "tokenizer.ggml.merges": merges,
            "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 0,
            "tokenizer.ggml.add_bos_token": False,
            "tokenizer.chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"}


def of_pieces():
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    count = len(pieces)
    words = [BLANK + "t", "he", BLANK + "the", "is"]
    tokens = [*pieces, *words, BLANK, *"abcdefghijklmnopqrstuvwxyz"]
    return {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.scores": [*[0.0] * count, *(-float(i) for i in range(len(tokens) - count))],
            "tokenizer.ggml.token_type": [2, 3, 3, *[6] * 256, *[1] * (len(tokens) - count)],
            "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0}


def whole(tokenizer, kind="F32", **more):
    count = len(tokenizer["tokenizer.ggml.tokens"])
    return file({**facts(count), **tokenizer, **{name.replace("__", "."): value for name, value in more.items()}},
                model(count, kind))


def parts(tokenizer):
    count = len(tokenizer["tokenizer.ggml.tokens"])
    weights = model(count)
    cut = {"split.count": 2, "split.tensors.count": len(weights)}
    return (file({**facts(count), **tokenizer, **cut, "split.no": 0}, weights[:4]),
            file({**cut, "split.no": 1}, weights[4:]))


def files():
    bytes_, pieces = of_bytes(), of_pieces()
    first, second = parts(bytes_)
    fewer = dict(bytes_, **{"tokenizer.ggml.tokens": bytes_["tokenizer.ggml.tokens"][:-1],
                            "tokenizer.ggml.token_type": bytes_["tokenizer.ggml.token_type"][:-1]})
    count = len(bytes_["tokenizer.ggml.tokens"])
    return {"bytes.gguf": whole(bytes_), "pieces.gguf": whole(pieces), "packed.gguf": whole(bytes_, "Q4_1"),
            "part-00001-of-00002.gguf": first, "part-00002-of-00002.gguf": second,
            "alone-00001-of-00002.gguf": first,
            "fewer.gguf": file({**facts(count), **fewer}, model(count)),
            "unknown_pre.gguf": whole(bytes_, tokenizer__ggml__pre="of-nobody"),
            "unknown_model.gguf": whole(bytes_, tokenizer__ggml__model="of-nobody"),
            "other_size.gguf": whole(bytes_, llama__vocab_size=9)}


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, raw in files().items():
        with open(os.path.join(sys.argv[1], name), "wb") as out:
            out.write(raw)
    with open(os.path.join(sys.argv[1], "tokens.json"), "w", encoding="utf-8") as out:
        json.dump({"bytes": of_bytes()["tokenizer.ggml.tokens"], "pieces": of_pieces()["tokenizer.ggml.tokens"]}, out)
