"""Samples that input functions read in a second, beside torch's DataLoader with as many workers.

    input_rates.py BENCH_INPUTS [--csengine PATH] [--workers 1,2] [--seconds 3] [--inputs a,b]

BENCH_INPUTS is build/bench/bench_inputs. Data is made in a temporary folder from Fashion-MNIST
(Debian's dataset-fashion-mnist) and the licences of Debian. The Dataset of the other side reads
the same files as one would write it: Pillow, h5py, numpy.memmap, json. One line of JSON for each
input function and number of workers; `ratio` is ours by theirs. Needs torch, numpy, pillow, h5py.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time

try:
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
        self.keys = sorted(name[:-4] for name in members if name.endswith(".jpg"))
        self.members = members

    def __len__(self):
        return len(self.keys)

    def part(self, name):
        self.file = self.file or open(self.path, "rb")
        offset, size = self.members[name]
        self.file.seek(offset)
        return self.file.read(size)

    def __getitem__(self, i):
        import io
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


def jsonl_row(opened, i):
    lines, = opened
    line = json.loads(lines[i])
    return numpy.array(line["features"], dtype=numpy.float32), line["label"]


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
        subprocess.run([csengine, "data", "tokenize", f"{work}/text.txt", "--train_tokenizer", "1000",
                        "--sequence_length", str(TIME), "--format", form, "--to", f"{work}/{form}"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
    return {
        "image_folder, PNG": (f"data_processor: image_folder, data_dir: {work}/png, {pictures}",
                              Pictures(f"{work}/png")),
        "image_folder, JPEG": (f"data_processor: image_folder, data_dir: {work}/jpg, {pictures}",
                               Pictures(f"{work}/jpg")),
        "tar_samples, JPEG": (f"data_processor: tar_samples, path: {work}/pictures.tar, {pictures}",
                              Tar(f"{work}/pictures.tar")),
        "idx_images": (f"data_processor: idx_images, data_dir: {DATA}, split: train",
                       Rows(lambda: images, PICTURES,
                            lambda a, i: (a[i].astype(numpy.float32) / 255, int(labels[i])))),
        "hdf5_lm": (f"data_processor: hdf5_lm, data_dir: {work}/hdf5",
                    Rows(lambda: h5py.File(hdf5, "r"), len(h5py.File(hdf5, "r")["data"]), hdf5_row)),
        "token_shards": (f"data_processor: token_shards, path: {shard}, sequence_length: {TIME}",
                         Rows(lambda: numpy.load(shard, mmap_mode="r"), count,
                              lambda a, i: tokens_of(a[i * TIME:(i + 1) * TIME + 1]))),
        "text_bytes": (f"data_processor: text_bytes, path: {work}/text.txt, "
                       f"sequence_length: {TIME}",
                       Rows(lambda: numpy.frombuffer(text, dtype=numpy.uint8),
                            len(text) // TIME - 1,
                            lambda a, i: tokens_of(a[i * TIME:(i + 1) * TIME + 1]))),
        "npy": (f"data_processor: npy, features: {work}/x.npy, answers: {work}/y.npy",
                Rows(lambda: (numpy.load(f"{work}/x.npy", mmap_mode="r"),
                              numpy.load(f"{work}/y.npy", mmap_mode="r")), PICTURES,
                     lambda a, i: (numpy.array(a[0][i]), int(a[1][i])))),
        "jsonl, numbers": (f"data_processor: jsonl, path: {work}/rows.jsonl, features: features, "
                           "label: label",
                           Rows(lambda: (open(f"{work}/rows.jsonl").read().splitlines(),),
                                PICTURES, jsonl_row)),
    }


def ours(arguments, settings, workers):
    line = f"{{{settings}, batch_size: {BATCH}, shuffle: true}}"
    result = subprocess.run([arguments.bench_inputs, str(arguments.seconds), str(workers), line],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        return {"error": result.stderr.strip()}
    return json.loads(result.stdout)


def theirs(arguments, dataset, workers):
    loader = torch.utils.data.DataLoader(dataset, batch_size=BATCH, shuffle=True, drop_last=True,
                                         num_workers=workers, persistent_workers=True)
    for _ in loader: # workers are started, files are in memory
        break
    samples, begin = 0, time.perf_counter()
    while True:
        for _ in loader:
            samples += BATCH
            seconds = time.perf_counter() - begin
            if seconds > arguments.seconds:
                return samples / seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench_inputs")
    parser.add_argument("--csengine", default="csengine")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--inputs", default=None)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="rates") as work:
        for name, (settings, dataset) in inputs(work, arguments.csengine).items():
            if arguments.inputs and name not in arguments.inputs.split(","):
                continue
            for workers in [int(w) for w in arguments.workers.split(",")]:
                result = {"input": name, "workers": workers, **ours(arguments, settings, workers)}
                result["torch_per_second"] = theirs(arguments, dataset, workers)
                if "samples_per_second" in result:
                    result["ratio"] = result["samples_per_second"] / result["torch_per_second"]
                print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
