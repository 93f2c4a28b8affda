"""Byte-level BPE on 10 MB of mixed Unicode, beside Hugging Face's tokenizers.

    tokenizer.py [--csengine PATH] [--bytes N] [--vocabulary N] [--rounds N]

The text is made by a seed: words of licences, code, accents, Greek, Cyrillic, Hebrew, Arabic,
Devanagari, Chinese, Japanese, Korean, emoji of several code points, numbers, all kinds of spaces,
and characters of chance. A vocabulary is trained on a part of it by tokenizers, with GPT-2's
splitting. Compared are all ids, and the text that they decode to. Told are MB/s with one thread
each, in turn, medians: ours as the whole command, with its start and its files; theirs as the call
alone, and in batches of lines. Needs numpy and tokenizers; ends with 77 where one is missing.
"""

import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "1"
try:
    import numpy
    import tokenizers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SCRIPTS = (
    (0xE0, 0x17E),  # Latin with accents
    (0x391, 0x3C9),
    (0x410, 0x44F),
    (0x5D0, 0x5EA),
    (0x621, 0x64A),
    (0x905, 0x939),
    (0x3041, 0x30FE),
    (0x4E00, 0x9FA5),
    (0xAC00, 0xD7A3),
)
EMOJI = "\U0001f469\u200d\U0001f680 \U0001f1eb\U0001f1f7 \U0001f44d\U0001f3fd \u2764\ufe0f".split()
SPACES = (" ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\n\n    ")
LICENCES = pathlib.Path("/usr/share/common-licenses")


def make_text(size):
    chance = random.Random(1)
    words = (LICENCES / "GPL-3").read_text(encoding="utf-8").split()
    code = ("if (x[i] >= 0x7f) {", "return -1;", "don't", "we'll", "a_b.c->d", "3.14159", "1,234")
    parts, have = [], 0
    while have < size:
        kind = chance.random()
        if kind < 0.45:
            part = chance.choice(words)
        elif kind < 0.85:
            first, last = chance.choice(SCRIPTS)
            count = chance.randint(1, 9)
            part = "".join(chr(chance.randint(first, last)) for _ in range(count))
        elif kind < 0.92:
            part = chance.choice(code)
        elif kind < 0.97:
            part = chance.choice(EMOJI)
        else:
            part = chr(
                chance.choice((chance.randint(0x20, 0xD7FF), chance.randint(0x10000, 0x1FFFF)))
            )
        part += chance.choices(SPACES, (80, 3, 8, 2, 2, 2, 1, 2))[0]
        parts.append(part)
        have += len(part.encode())
    return "".join(parts)


def train(text, vocabulary, path):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        text.splitlines(keepends=True),
        tokenizers.trainers.BpeTrainer(vocab_size=vocabulary, initial_alphabet=alphabet),
    )
    tokenizer.save(path)
    return tokenizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csengine", default="csengine")
    parser.add_argument("--bytes", type=int, default=10_000_000)
    parser.add_argument("--vocabulary", type=int, default=16384)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    text = make_text(options.bytes)
    size = len(text.encode())
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = train(text[: len(text) // 5], options.vocabulary, f"{folder}/tokenizer.json")
        # newline: what is read must be the text, whatever ends its lines.
        with open(f"{folder}/text.txt", "w", encoding="utf-8", newline="") as file:
            file.write(text)
        lines = text.splitlines(keepends=True)
        times = {"csengine": [], "tokenizers": [], "tokenizers, lines": []}
        for number in range(options.rounds):
            begin = time.perf_counter()
            subprocess.run(
                [options.csengine, "data", "tokenize", f"{folder}/text.txt"]
                + ["--tokenizer", f"{folder}/tokenizer.json", "--to", f"{folder}/{number}"]
                + ["--format", "npy", "--end_of_text", "none", "--jobs", "1"],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            times["csengine"].append(time.perf_counter() - begin)
            begin = time.perf_counter()
            theirs = tokenizer.encode(text, add_special_tokens=False).ids
            times["tokenizers"].append(time.perf_counter() - begin)
            begin = time.perf_counter()
            tokenizer.encode_batch(lines, add_special_tokens=False)
            times["tokenizers, lines"].append(time.perf_counter() - begin)
        files = sorted(pathlib.Path(f"{folder}/0").glob("*.npy"))
        ours = numpy.concatenate([numpy.load(file) for file in files])
    equal = ours.tolist() == theirs
    whole = tokenizer.decode(ours.tolist(), skip_special_tokens=False) == text
    print(f"{size} bytes, {len(theirs)} ids: {'equal' if equal else 'NOT EQUAL'}")
    print(f"decoded: {'the text' if whole else 'ANOTHER TEXT'}")
    base = statistics.median(times["csengine"])
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        print(
            f"{name:18} {size / middle / 1e6:6.1f} MB/s, csengine {middle / base:.1f} times as fast"
        )
    return 0 if equal and whole else 1


if __name__ == "__main__":
    sys.exit(main())
