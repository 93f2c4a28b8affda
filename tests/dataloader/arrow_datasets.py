"""Saves datasets by Hugging Face's library, and compares what the input arrow reads of them with what
the library itself reads.

Run: python3 arrow_datasets.py BENCH_INPUTS FOLDER
"""

import json
import os
import subprocess
import sys

import datasets
import numpy

ROWS, TIME = 101, 7
bench_inputs, work = sys.argv[1:]
datasets.disable_progress_bars()
failures = []


def run(settings, count):
    line = f"{{data_processor: arrow, {settings}, batch_size: 1}}"
    return subprocess.run([bench_inputs, "samples", str(count), line], capture_output=True)


def read(settings, count):
    """{stream: array [samples, elements]}"""
    result = run(settings, count)
    assert result.returncode == 0, result.stderr.decode()
    head, _, rest = result.stdout.partition(b"\n")
    streams, offset = {}, 0
    for stream in json.loads(head):
        kind = numpy.dtype(stream["dtype"])
        values = numpy.frombuffer(rest, kind, count * stream["elements"], offset)
        streams[stream["name"]] = values.reshape(count, -1)
        offset += values.nbytes
    assert offset == len(rest), "there are more bytes"
    return streams


def filled(row, filling):
    return (list(row) + [filling] * TIME)[:TIME]


def compare(name, path, columns, time=False):
    """All rows of the columns; lists are cut to TIME, or filled up."""
    saved = datasets.load_from_disk(path).with_format(None)
    pairs = ", ".join(f"x{i}: {column}" for i, column in enumerate(columns))
    settings = f"path: {path}, columns: {{{pairs}}}" + (
        f", sequence_length: {TIME}" if time else ""
    )
    try:
        got = read(settings, len(saved))
        for i, column in enumerate(columns):
            rows = [filled(row, 0) for row in saved[column]] if time else list(saved[column])
            kind = got[f"x{i}"].dtype
            want = numpy.array(rows).astype(kind).reshape(len(saved), -1)
            assert numpy.array_equal(want, got[f"x{i}"]), f"column {column}: other values"
        more = run(settings, len(saved) + 1)
        assert more.returncode != 0, "there are more rows than were saved"
    except AssertionError as error:
        failures.append(f"{name}: {error}")


def refused(name, settings, words):
    result = run(settings, 1)
    if result.returncode == 0 or words not in result.stderr.decode():
        failures.append(f"{name}: not refused by {words!r}: {result.stderr.decode()}")


draw = numpy.random.default_rng(5)
Value, List = datasets.Value, datasets.List
features = {
    "label": datasets.ClassLabel(names=["no", "perhaps", "yes"]),
    "flag": Value("bool"),
    "int8": Value("int8"),
    "uint16": Value("uint16"),
    "int64": Value("int64"),
    "float16": Value("float16"),
    "float64": Value("float64"),
    "fixed": List(Value("int32"), length=4),
    "fixed_floats": List(Value("float32"), length=3),
    "nested": List(List(Value("float32"), length=3), length=2),
    "array": datasets.Array2D(shape=(2, 3), dtype="float32"),
    "ids": List(Value("int32")),
    "wide_ids": datasets.LargeList(Value("int64")),
    "flags": List(Value("bool")),
    "text": Value("string"),
    "when": Value("timestamp[s]"),
}
rows = {
    "label": draw.integers(0, 3, ROWS),
    "flag": draw.integers(0, 2, ROWS) == 1,
    "int8": draw.integers(-128, 128, ROWS),
    "uint16": draw.integers(0, 1 << 16, ROWS),
    "int64": draw.integers(-(1 << 31), 1 << 31, ROWS),
    "float16": draw.normal(size=ROWS).astype(numpy.float16),
    "float64": draw.normal(size=ROWS),
    "fixed": draw.integers(-(1 << 31), 1 << 31, (ROWS, 4)),
    "fixed_floats": draw.normal(size=(ROWS, 3)).astype(numpy.float32),
    "nested": draw.normal(size=(ROWS, 2, 3)).astype(numpy.float32).tolist(),
    "array": draw.normal(size=(ROWS, 2, 3)).astype(numpy.float32),
    "ids": [draw.integers(0, 1000, i % 12).tolist() for i in range(ROWS)],
    "wide_ids": [draw.integers(0, 1000, (i * 5) % 11).tolist() for i in range(ROWS)],
    "flags": [(draw.integers(0, 2, i % 9) == 1).tolist() for i in range(ROWS)],
    "text": [f"text {i}" for i in range(ROWS)],
    "when": [1000 * i for i in range(ROWS)],
}
whole = datasets.Dataset.from_dict(
    {name: list(column) for name, column in rows.items()}, features=datasets.Features(features)
)
numbers = ["label", "flag", "int8", "uint16", "int64", "float16", "float64"]
fixed = ["fixed", "fixed_floats", "nested", "label"]
lists = ["ids", "wide_ids", "flags"]

# How the rows came to be, and in how many files they are.
chosen = {
    "three files": (whole, 3),
    "a row a file": (whole.select(range(3)), 3),
    "shuffled": (whole.shuffle(seed=1), 2),
    "chosen rows": (whole.select([40, 3, 3, 99]), 1),
    "filtered": (whole.filter(lambda row: row["label"] == 1), 1),
    "a part": (whole.shard(4, 2, contiguous=True), 1),
    "joined": (datasets.concatenate_datasets([whole, whole.select([5, 1])]), 2),
    "sorted": (whole.sort("int64"), 2),
    "mapped": (
        whole.map(
            lambda row: {"ids": row["ids"][::-1], "label": row["label"]}, batch_size=10
        ).train_test_split(0.4, seed=2)["test"],
        2,
    ),
}
for name, (dataset, files) in chosen.items():
    path = f"{work}/{name.replace(' ', '_')}"
    dataset.save_to_disk(path, num_shards=files)
    compare(f"{name}, numbers", path, numbers)
    compare(f"{name}, fixed lists", path, fixed)
    compare(f"{name}, lists", path, lists, time=True)

# Without `columns`: those of numbers, label as labels, and those that set_format left.
few = whole.select_columns(["label", "float64", "text"])
few.save_to_disk(f"{work}/few")
few.with_format("numpy", columns=["label", "text"]).save_to_disk(f"{work}/visible")
for folder, streams in (("few", {"labels", "float64"}), ("visible", {"labels"})):
    got = read(f"path: {work}/{folder}", ROWS)
    if set(got) != streams or not numpy.array_equal(got["labels"][:, 0], rows["label"]):
        failures.append(f"{folder}: streams {set(got)}")

# Texts are what a tokenizer makes of them: here a byte is a token.
letters = {chr(c): c for c in range(33, 127)} | {"\u0120": 32}
with open(f"{work}/tokenizer.json", "w") as file:
    json.dump(
        {
            "model": {"type": "BPE", "vocab": letters, "merges": []},
            "added_tokens": [{"id": 0, "content": "<|endoftext|>"}],
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        },
        file,
    )
got = read(
    f"path: {work}/three_files, tokenizer: {work}/tokenizer.json, sequence_length: {TIME}", ROWS
)
want = [(list(text.encode()) + [0])[:TIME] for text in rows["text"]]
if [row[: len(text)].tolist() for row, text in zip(got["input_ids"], want)] != want:
    failures.append("texts: other tokens")

# What is refused: lists of lists without a length, which Array2D is; several splits, the library's own
# cache, a table of indices, Parquet, a number that no int32 holds.
refused("an array", f"path: {work}/three_files, columns: {{x: array}}", "no column array that is")
datasets.DatasetDict({"train": few, "test": few}).save_to_disk(f"{work}/splits")
refused("splits", f"path: {work}/splits", "give the folder of one: train, test")
compare("one split", f"{work}/splits/test", ["label", "float64"])
os.makedirs(f"{work}/cached")
few.map(lambda row: {"label": row["label"]}, cache_file_name=f"{work}/cached/cache-0.arrow")
refused("cache", f"path: {work}/cached", "it is a cache of datasets")
with open(f"{work}/few/state.json") as file:
    state = json.load(file)
os.makedirs(f"{work}/indexed")
os.link(f"{work}/few/data-00000-of-00001.arrow", f"{work}/indexed/data-00000-of-00001.arrow")
with open(f"{work}/indexed/state.json", "w") as file:
    json.dump(state | {"_indices_data_files": [{"filename": "indices.arrow"}]}, file)
refused("indices", f"path: {work}/indexed", "it has a table of indices")
few.to_parquet(f"{work}/few.parquet")
datasets.Dataset.from_dict({"x": [1 << 31]}).save_to_disk(f"{work}/large")
refused("a large number", f"path: {work}/large", "is no int32")

for failure in failures:
    print(f"FAIL: {failure}")
print(
    f"{len(chosen)} ways to make a dataset, {len(features)} types: datasets {datasets.__version__}"
)
sys.exit(len(failures) > 0)
