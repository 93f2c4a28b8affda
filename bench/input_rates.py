"""Samples that input functions read in a second, beside torch's DataLoader with as many workers.

    input_rates.py BENCH_INPUTS [--csengine PATH] [--workers 1,2] [--seconds 1] [--rounds 5]
                   [--inputs a,b] [--steps 1000]

BENCH_INPUTS is build/bench/bench_inputs. Data is made in a temporary folder from Fashion-MNIST
(Debian's dataset-fashion-mnist) and the licences of Debian. The Dataset of the other side reads
the same files as one would write it: Pillow, h5py, numpy.memmap, json, csv; tables of Arrow by
Hugging Face's datasets, whose Dataset answers a batch at a time.

Values are compared before times are: the first 64 samples must be equal, pixels of JPEG and of
smaller pictures within one of 255 (synthetic samples are other random numbers of the same kind).
Then both sides are measured in turn, in rounds; told are medians, and `ratio` is the median of ours
by theirs of the same round. `input_wait` is what a replica of a training with one input worker
waits for these samples, as a share of the time of its steps, with the opening of the data: of
--steps steps of two small layers (784-500-300-10), or of a tenth as many of a small transformer.
One line of JSON for each input function and number of workers; ends with 1 where values differ.
Needs torch, numpy, pillow, h5py, datasets.
"""

import argparse
import copy
import csv
import glob
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

try:
    import datasets
    import h5py
    import numpy
    import torch
    from PIL import Image
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from image_parity import DATA, read_idx, write_folder

BATCH, TIME, PICTURES = 64, 128, 4000


def scaled(image):
    pixels = numpy.asarray(image.convert("L"), dtype=numpy.float32)
    return (pixels / 255 - 0.5) / 0.25


class Pictures(torch.utils.data.Dataset):
    def __init__(self, folder):
        self.paths = sorted(glob.glob(f"{folder}/*/*"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        path = self.paths[i]
        return scaled(Image.open(path))[None], int(path.split("/")[-2])


class Tar(torch.utils.data.Dataset):
    """By a list of places, as a Dataset with random access needs it."""

    def __init__(self, path):
        with tarfile.open(path) as tar:
            members = {m.name: (m.offset_data, m.size) for m in tar}
        self.path, self.file = path, None
        self.keys = [name[:-4] for name in members if name.endswith(".jpg")]
        self.members = members

    def __len__(self):
        return len(self.keys)

    def part(self, name):
        self.file = self.file or open(self.path, "rb")
        offset, size = self.members[name]
        self.file.seek(offset)
        return self.file.read(size)

    def __getitem__(self, i):
        image = Image.open(io.BytesIO(self.part(f"{self.keys[i]}.jpg")))
        return scaled(image)[None], int(self.part(f"{self.keys[i]}.cls"))


class Rows(torch.utils.data.Dataset):
    """Rows of something that is opened by the worker."""

    def __init__(self, opens, count, read):
        self.opens, self.count, self.read, self.open = opens, count, read, None

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if self.open is None:
            self.open = self.opens()
        return self.read(self.open, i)


def tokens_of(row):
    return row[:-1].astype(numpy.int32), row[1:].astype(numpy.int32)


def hdf5_row(file, i):
    sample = file["data"][i]
    return tuple(sample[k] for k in range(len(sample)))


def bert_hdf5_row(file, i):
    """A row of both datasets, as the ModelZoo's processor reads it."""
    return (*file["data"][i], file["labels"][i][0])


def jsonl_row(opened, i):
    (lines,) = opened
    line = json.loads(lines[i])
    return numpy.array(line["features"], dtype=numpy.float32), line["label"]


def csv_table(path):
    """Parsed once, as by the input function."""
    return (numpy.loadtxt(path, delimiter=",", skiprows=1, dtype=numpy.float32),)


def csv_row(opened, i):
    return opened[0][i, :-1], int(opened[0][i, -1])


def bert_row(lines, i):
    """A row of lists, as the ModelZoo's processor reads it."""
    (fields,) = csv.reader([lines[0][i + 1]])
    return tuple(numpy.array(json.loads(field), dtype=numpy.int32) for field in fields)


class Synthetic(torch.utils.data.Dataset):
    """Uniform features, and the class whose row of a map of 1 and -1 has the largest product."""

    def __init__(self):
        draw = torch.Generator().manual_seed(0)
        self.map = torch.randint(0, 2, (10, 784), generator=draw).float() * 2 - 1

    def __len__(self):
        return 4096

    def __getitem__(self, i):
        draw = torch.Generator().manual_seed(i)
        features = (torch.rand(784, generator=draw) * 2 - 1) * 3**0.5
        return features, int((self.map @ features).argmax())


PROGRAM = """
import json, struct, sys
import numpy
from safetensors.numpy import save
x, y = (numpy.load(path, mmap_mode="r") for path in sys.argv[1:])
for line in sys.stdin:
    rows = json.loads(line)["samples"]
    body = save({"images": numpy.ascontiguousarray(x[rows]), "labels": y[rows]},
                metadata={"sample_count": str(len(y))})
    sys.stdout.buffer.write(struct.pack("<Q", len(body)) + body)
    sys.stdout.buffer.flush()
"""


def write_tables(work, images, labels):
    with open(f"{work}/rows.csv", "w") as file:
        file.write(",".join(f"c{k}" for k in range(28)) + ",label\n")
        for i in range(PICTURES):
            file.write(",".join(map(str, images[i, 14])) + f",{labels[i]}\n")
    os.makedirs(f"{work}/bert")
    draw = numpy.random.default_rng(1)
    ids = draw.integers(0, 30000, (PICTURES, TIME), dtype=numpy.int32)
    masked = numpy.where(numpy.arange(TIME) % 7 == 0, ids, -100)
    ones = numpy.ones_like(ids)
    with open(f"{work}/bert/part.csv", "w") as file:
        file.write("input_ids,attention_mask,labels\n")
        for i in range(PICTURES):
            file.write(f'"{ids[i].tolist()}","{[1] * TIME}","{masked[i].tolist()}"\n')
    with h5py.File(f"{work}/bert.h5", "w") as file:
        file["data"] = numpy.stack([ids, ones], axis=1)
        file["labels"] = masked[:, None]
    columns = {"input_ids": ids, "attention_mask": ones, "labels": masked}
    table = datasets.Dataset.from_dict({k: v.tolist() for k, v in columns.items()})
    table.save_to_disk(f"{work}/arrow", num_shards=2)
    with open(f"{work}/program.py", "w") as file:
        file.write(PROGRAM)


def lines_of(path):
    return lambda: (open(path).read().splitlines(),)


def inputs(work, csengine):
    """name: (settings of the data loader, Dataset)"""
    images, labels = read_idx("train-images-idx3-ubyte"), read_idx("train-labels-idx1-ubyte")
    for kind in "png", "jpg":
        write_folder(f"{work}/{kind}", kind, PICTURES)
    with tarfile.open(f"{work}/pictures.tar", "w") as tar:
        for path in sorted(glob.glob(f"{work}/jpg/*/*")):
            name = os.path.basename(path)[:-4]
            with open(f"{work}/label", "w") as file:
                file.write(path.split("/")[-2])
            tar.add(path, f"{name}.jpg")
            tar.add(f"{work}/label", f"{name}.cls")
    text = b"".join(open(p, "rb").read() for p in sorted(glob.glob("/usr/share/common-licenses/*")))
    with open(f"{work}/text.txt", "wb") as file:
        file.write(text)
    for form in "hdf5", "npy":
        subprocess.run(
            [
                csengine,
                "data",
                "tokenize",
                f"{work}/text.txt",
                "--train_tokenizer",
                "1000",
                "--sequence_length",
                str(TIME),
                "--format",
                form,
                "--to",
                f"{work}/{form}",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    numpy.save(f"{work}/x.npy", images[:PICTURES].reshape(PICTURES, -1).astype(numpy.float32))
    numpy.save(f"{work}/y.npy", labels[:PICTURES].astype(numpy.int32))
    with open(f"{work}/rows.jsonl", "w") as file:
        for i in range(PICTURES):
            row = {"features": images[i, 14].tolist(), "label": int(labels[i])}
            file.write(json.dumps(row) + "\n")
    hdf5 = sorted(glob.glob(f"{work}/hdf5/*.h5"))[0]
    shard = sorted(glob.glob(f"{work}/npy/*.npy"))[0]
    count = len(numpy.load(shard, mmap_mode="r")) // TIME - 1
    pictures = "image_size: [28, 28], channels: 1, mean: [0.5], std: [0.25]"
    write_tables(work, images, labels)
    arrays = Rows(
        lambda: (
            numpy.load(f"{work}/x.npy", mmap_mode="r"),
            numpy.load(f"{work}/y.npy", mmap_mode="r"),
        ),
        PICTURES,
        lambda a, i: (numpy.array(a[0][i]), int(a[1][i])),
    )
    program = json.dumps([sys.executable, f"{work}/program.py", f"{work}/x.npy", f"{work}/y.npy"])
    return {
        "image_folder, PNG": (
            f"data_processor: image_folder, data_dir: {work}/png, {pictures}",
            Pictures(f"{work}/png"),
        ),
        "image_folder, JPEG": (
            f"data_processor: image_folder, data_dir: {work}/jpg, {pictures}",
            Pictures(f"{work}/jpg"),
        ),
        "tar_samples, JPEG": (
            f"data_processor: tar_samples, path: {work}/pictures.tar, {pictures}",
            Tar(f"{work}/pictures.tar"),
        ),
        "idx_images": (
            f"data_processor: idx_images, data_dir: {DATA}, split: train",
            Rows(
                lambda: images,
                PICTURES,
                lambda a, i: ((a[i].astype(numpy.float32) / 255 - 0.1307) / 0.3081, int(labels[i])),
            ),
        ),
        "hdf5_lm": (
            f"data_processor: hdf5_lm, data_dir: {work}/hdf5",
            Rows(lambda: h5py.File(hdf5, "r"), len(h5py.File(hdf5, "r")["data"]), hdf5_row),
        ),
        "token_shards": (
            f"data_processor: token_shards, path: {shard}, sequence_length: {TIME}",
            Rows(
                lambda: numpy.load(shard, mmap_mode="r"),
                count,
                lambda a, i: tokens_of(a[i * TIME : (i + 1) * TIME + 1]),
            ),
        ),
        "text_bytes": (
            f"data_processor: text_bytes, path: {work}/text.txt, " f"sequence_length: {TIME}",
            Rows(
                lambda: numpy.frombuffer(text, dtype=numpy.uint8),
                len(text) // TIME - 1,
                lambda a, i: tokens_of(a[i * TIME : (i + 1) * TIME + 1]),
            ),
        ),
        "npy": (f"data_processor: npy, features: {work}/x.npy, answers: {work}/y.npy", arrays),
        "command": (f"data_processor: command, command: {program}", arrays),
        "synthetic": ("data_processor: synthetic", Synthetic()),
        "csv, 28 numbers": (
            f"data_processor: csv, path: {work}/rows.csv, label: label",
            Rows(lambda: csv_table(f"{work}/rows.csv"), PICTURES, csv_row),
        ),
        "bert_csv": (
            f"data_processor: bert_csv, data_dir: {work}/bert",
            Rows(lines_of(f"{work}/bert/part.csv"), PICTURES, bert_row),
        ),
        "bert_hdf5": (
            f"data_processor: bert_hdf5, data_dir: {work}/bert.h5",
            Rows(lambda: h5py.File(f"{work}/bert.h5", "r"), PICTURES, bert_hdf5_row),
        ),
        "arrow, 3 lists": (
            f"data_processor: arrow, path: {work}/arrow",
            datasets.load_from_disk(f"{work}/arrow").with_format("numpy"),
        ),
        "jsonl, numbers": (
            f"data_processor: jsonl, path: {work}/rows.jsonl, features: features, " "label: label",
            Rows(lines_of(f"{work}/rows.jsonl"), PICTURES, jsonl_row),
        ),
    }


# ---- values ----


def our_samples(arguments, settings):
    """The first samples: an array [samples, elements] for each stream, by name."""
    line = f"{{{settings}, batch_size: {BATCH}}}"
    bytes_ = subprocess.run(
        [arguments.bench_inputs, "samples", str(BATCH), line], check=True, stdout=subprocess.PIPE
    ).stdout
    head, _, rest = bytes_.partition(b"\n")
    streams, offset = {}, 0
    for stream in json.loads(head):
        kind = numpy.dtype(stream["dtype"])
        count = BATCH * stream["elements"]
        values = numpy.frombuffer(rest, kind, count, offset)
        streams[stream["name"]] = values.reshape(BATCH, -1).astype(numpy.float64)
        offset += count * kind.itemsize
    return streams


def parts_of(sample):
    return tuple(sample.values()) if isinstance(sample, dict) else sample


def difference(arguments, name, settings, dataset):
    """Between the values of both sides: a text; empty: there is none."""
    ours, taken = our_samples(arguments, settings), set()
    dataset = copy.copy(dataset)  # files that it opens here are none of the workers'
    parts = list(zip(*(parts_of(dataset[i]) for i in range(BATCH))))
    if len(parts) != len(ours):
        return f"{len(ours)} streams beside {len(parts)}"
    if name == "synthetic":
        x = ours["images"]
        same = abs(x.mean()) < 0.02 and abs(x.var() - 1) < 0.02 and abs(x).max() < 3**0.5
        return "" if same else "synthetic samples have another distribution"
    allowed = 1.001 / 255 / 0.25 if "JPEG" in name else 1e-6  # of a step of 255 levels
    for part in parts:
        values = numpy.stack([numpy.asarray(v, dtype=numpy.float64).reshape(-1) for v in part])
        near = [
            stream
            for stream, own in ours.items()
            if stream not in taken
            and own.shape == values.shape
            and abs(own - values).max() <= allowed
        ]
        if not near:
            return f"no stream of {sorted(ours)} has the values of the Dataset's {len(taken)}."
        taken.add(near[0])
    return ""


# ---- rates ----


def ours(arguments, settings, workers):
    line = f"{{{settings}, batch_size: {BATCH}, shuffle: true}}"
    result = subprocess.run(
        [arguments.bench_inputs, str(arguments.seconds), str(workers), line],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if result.returncode != 0:
        return {"error": result.stderr.strip()}
    return json.loads(result.stdout)


def theirs(arguments, dataset, workers):
    loader = torch.utils.data.DataLoader(
        dataset,
        batch_size=BATCH,
        shuffle=True,
        drop_last=True,
        num_workers=workers,
        persistent_workers=True,
    )
    for _ in loader:  # workers are started, files are in memory
        pass
    while True:
        samples, begin, seconds = 0, time.perf_counter(), 0
        while seconds < arguments.seconds:
            for _ in loader:  # a whole epoch, so that no batch is under way when the clock stops
                samples += BATCH
            seconds = time.perf_counter() - begin
        yield samples / seconds


def model_for(settings, streams):
    if "input_ids" in streams and ("bert" in settings or "arrow" in settings):
        return (
            f"{{name: bert, hidden_size: 64, num_hidden_layers: 2, num_heads: 2, "
            f"filter_size: 128, vocab_size: 30000, max_position_embeddings: {TIME}, "
            "disable_nsp: true}"
        )
    if "input_ids" in streams:
        return (
            "{name: gpt2, hidden_size: 64, num_layers: 2, num_heads: 2, vocab_size: 1000, "
            f"max_position_embeddings: {TIME}, dropout: 0.0}}"
        )
    size = streams["images"].shape[1]
    return f"{{name: fc_mnist, input_size: {size}, hidden_sizes: [500, 300], num_classes: 10}}"


def input_wait(arguments, work, settings):
    """The share of the time of steps that one replica waits for one input worker."""
    streams = our_samples(arguments, settings)
    steps = arguments.steps if "images" in streams else arguments.steps // 10
    model = model_for(settings, streams)
    run = tempfile.mkdtemp(dir=work)
    with open(f"{run}/run.yaml", "w") as file:
        file.write(f"""trainer:
  init:
    model_dir: {run}/run
    backend:
      compile_dir: {work}/compiled
      cluster_config: {{num_csx: 1, num_workers_per_csx: 1}}
    model: {model}
    optimizer:
      SGD: {{lr: 0.0001}}
    loop: {{num_steps: {steps}}}
    checkpoint: {{minutes: 0}}
    seed: 1
  fit:
    train_dataloader: {{{settings}, batch_size: {BATCH}, shuffle: true}}
""")
    subprocess.run(
        [arguments.csengine, "start", f"{run}/run.yaml", "--quiet", "--no_dashboard"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    report = subprocess.run(
        [arguments.csengine, "report", f"{run}/run", "--goodput", "--json"],
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    bins = {b["name"]: b["milliseconds"] for b in json.loads(report)["attempts"][0]["bins"]}
    steps = sum(bins[name] for name in ("compute", "input", "update", "communication"))
    return round(bins["input"] / max(steps, 1), 4)


def compare(arguments, settings, dataset, workers):
    """Medians of rounds, in each of which both sides are measured."""
    rounds, rates = [], theirs(arguments, dataset, workers)
    for number in range(arguments.rounds + 1):
        our = ours(arguments, settings, workers)
        if "error" in our:
            return our
        if number > 0:  # the first round warms both up
            rounds.append((our["samples_per_second"], our["mb_per_second"], next(rates)))
    rates.close()
    median = lambda values: round(statistics.median(values), 2)
    return {
        "samples_per_second": median(r[0] for r in rounds),
        "mb_per_second": median(r[1] for r in rounds),
        "torch_per_second": median(r[2] for r in rounds),
        "ratio": median(r[0] / r[2] for r in rounds),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench_inputs")
    parser.add_argument("--csengine", default="csengine")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--inputs", default=None)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    failed = False
    with tempfile.TemporaryDirectory(prefix="rates") as work:
        for name, (settings, dataset) in inputs(work, arguments.csengine).items():
            if arguments.inputs and name.split(",")[0] not in arguments.inputs.split(","):
                continue
            wrong = difference(arguments, name, settings, dataset)
            if wrong:
                print(json.dumps({"input": name, "error": wrong}), flush=True)
                failed = True
                continue
            wait = input_wait(arguments, work, settings)
            for workers in [int(w) for w in arguments.workers.split(",")]:
                result = {
                    "input": name,
                    "workers": workers,
                    **compare(arguments, settings, dataset, workers),
                }
                result["input_wait"] = wait
                print(json.dumps({**result, "load": round(os.getloadavg()[0], 1)}), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
