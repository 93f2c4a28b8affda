"""The other side of loader_rates.py: torch's DataLoader as somebody would set it up who knows it well.

    loader_rates_torch.py FOLDER

reads commands, one JSON object a line, and answers each with one; loader_rates.py says what they are
for. A form is a way to read a kind of data. All of them fetch a whole batch at once (the sampler gives
arrays of indices, `batch_size=None`, no collation): tokens by one gather from a mapped file, tables by
one gather from tensors in memory, columns of Arrow without a copy; workers persist and prefetch 4
batches each. Pictures are decoded by Pillow (resize and crop in one call, `draft` where pictures are
reduced), by torchvision and by OpenCV, whichever are there, and become numbers a batch at a time, in
the worker or, in forms that end with ", bytes sent", in the process that trains. "OpenCV and torch" is
what torchvision does where its package has no decoder: the same library decodes, the same code resizes.
"""

import glob
import json
import os
import sys
import time

import numpy
import torch
from numpy.lib.stride_tricks import as_strided

sys.dont_write_bytecode = True
from measured_processes import descendants

FOLDER = sys.argv[1] if len(sys.argv) > 1 else "."
TIME, PREFETCH = 512, 4
MEAN, STD = numpy.array([0.485, 0.456, 0.406]), numpy.array([0.229, 0.224, 0.225])
SIDE = 224


def data(name):
    return os.path.join(FOLDER, name)


class Form:
    """`count` samples; fetch(indices) gives a batch, finish(batch) what the training gets of it."""

    count = 0
    is_alone = False  # it has threads of its own, which no process has that is forked

    def prepare(self):
        """Once in each process that fetches."""

    def finish(self, batch):
        return batch


# ---- tokens ----


class Windows(Form):
    """One gather of the rows of a view whose row i begins at token i * TIME."""

    def __init__(self, row):
        self.count = (len(row) - 1) // TIME
        step = row.strides[0]
        self.view = as_strided(row, (self.count, TIME + 1), (TIME * step, step), writeable=False)

    def fetch(self, indices):
        rows = torch.from_numpy(self.view[indices].astype(numpy.int64))
        return rows[:, :-1], rows[:, 1:]


def npy_tokens():
    return Windows(numpy.load(data("tokens.npy"), mmap_mode="r"))


def bin_tokens():
    return Windows(numpy.memmap(data("tokens.bin"), dtype=numpy.uint16, mode="r"))


class Hdf5(Form):
    """Sorted rows by h5py, opened by each worker."""

    def __init__(self, name):
        import h5py

        self.name, self.file, self.open = data(name), None, h5py.File
        with h5py.File(self.name) as file:
            self.count = len(file["data"])

    def prepare(self):
        if self.file is None:
            self.file = self.open(self.name, "r")["data"]

    def fetch(self, indices):
        rows = self.file[numpy.sort(indices)]
        return tuple(torch.from_numpy(numpy.ascontiguousarray(rows[:, k])).long() for k in (0, 2, 1))


class MappedHdf5(Form):
    """The values of a dataset that lies in one piece, mapped at its place."""

    def __init__(self):
        import h5py

        with h5py.File(data("tokens.h5")) as file:
            found = file["data"]
            self.view = numpy.memmap(
                data("tokens.h5"), found.dtype, "r", found.id.get_offset(), found.shape
            )
        self.count = len(self.view)

    def fetch(self, indices):
        rows = torch.from_numpy(self.view[indices].astype(numpy.int64))
        return rows[:, 0], rows[:, 2], rows[:, 1]


class ParquetTokens(Form):
    """Columns in memory, of which NumPy sees the values without a copy."""

    def __init__(self):
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(data("tokens.parquet")).combine_chunks()
        self.columns = [
            table[name].chunk(0).flatten().to_numpy().reshape(-1, TIME)
            for name in ("input_ids", "labels")
        ]
        self.count = len(self.columns[0])

    def fetch(self, indices):
        return tuple(torch.from_numpy(column[indices].astype(numpy.int64)) for column in self.columns)


class Texts(Form):
    """Lines found by their places in a mapped file; the tokenizer takes a batch at a time."""

    def __init__(self, parallel):
        import mmap
        import orjson
        import tokenizers

        self.is_alone = parallel
        self.loads = orjson.loads
        self.tokenizer = tokenizers.Tokenizer.from_file(data("words/tokenizer.json"))
        self.end = self.tokenizer.token_to_id("<|endoftext|>")
        with open(data("texts.jsonl"), "rb") as file:
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        ends = numpy.flatnonzero(numpy.frombuffer(self.bytes, numpy.uint8) == ord("\n")) + 1
        self.places = numpy.concatenate([[0], ends])
        self.count = len(ends)

    def fetch(self, indices):
        # Read by each call. A process that was forked must not use the threads of its parent.
        os.environ["TOKENIZERS_PARALLELISM"] = "true" if self.is_alone else "false"
        texts = [
            self.loads(self.bytes[self.places[i] : self.places[i + 1]])["text"] for i in indices
        ]
        ids = numpy.full((len(texts), TIME + 1), self.end, dtype=numpy.int64)
        mask = numpy.zeros((len(texts), TIME), dtype=numpy.int64)
        for row, found in enumerate(self.tokenizer.encode_batch_fast(texts)):
            one = found.ids[: TIME + 1]
            ids[row, : len(one)] = one
            mask[row, : len(found.ids)] = 1
        labels = numpy.where(mask != 0, ids[:, 1:], -100)
        return tuple(torch.from_numpy(part) for part in (ids[:, :-1], labels, mask))


# ---- tables ----


class Tensors(Form):
    """A table in memory, a gather for each batch."""

    def __init__(self, features, answers):
        self.features = torch.from_numpy(numpy.array(features))
        self.answers = torch.from_numpy(numpy.array(answers))
        self.count = len(self.features)

    def fetch(self, indices):
        rows = torch.from_numpy(indices)
        return self.features.index_select(0, rows), self.answers.index_select(0, rows)


def split(table):
    """Of an Arrow table with a column `label` at its end."""
    names = [name for name in table.column_names if name != "label"]
    features = numpy.empty((len(table), len(names)), dtype=numpy.float32)
    for k, name in enumerate(names):
        features[:, k] = table[name].to_numpy()
    return Tensors(features, table["label"].to_numpy().astype(numpy.int64))


def csv_by_arrow():
    import pyarrow.csv

    return split(pyarrow.csv.read_csv(data("rows.csv")))


def csv_by_pandas():
    import pandas

    frame = pandas.read_csv(data("rows.csv"))
    return Tensors(frame.iloc[:, :-1].to_numpy(numpy.float32), frame["label"].to_numpy())


def parquet_table():
    import pyarrow.parquet

    return split(pyarrow.parquet.read_table(data("rows.parquet")))


def npz_table():
    with numpy.load(data("rows.npz")) as arrays:
        return Tensors(arrays["x"], arrays["y"].astype(numpy.int64))


def json_by_arrow():
    import pyarrow.json

    table = pyarrow.json.read_json(data("rows.jsonl")).combine_chunks()
    values = table["features"].chunk(0).flatten().to_numpy().astype(numpy.float32)
    return Tensors(values.reshape(len(table), -1), table["label"].to_numpy())


class JsonLines(Form):
    """Lines that are parsed when they are asked for, as of files larger than memory."""

    def __init__(self):
        import orjson

        self.loads = orjson.loads
        with open(data("rows.jsonl"), "rb") as file:
            self.lines = file.read().splitlines()
        self.count = len(self.lines)

    def fetch(self, indices):
        rows = [self.loads(self.lines[i]) for i in indices]
        features = numpy.array([row["features"] for row in rows], dtype=numpy.float32)
        return torch.from_numpy(features), torch.tensor([row["label"] for row in rows])


# ---- pictures ----


def crops_by_chance(draw, width, height):
    """torchvision's RandomResizedCrop.get_params."""
    for _ in range(10):
        area = width * height * draw.uniform(0.08, 1)
        ratio = numpy.exp(draw.uniform(numpy.log(3 / 4), numpy.log(4 / 3)))
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            return draw.integers(0, width - w + 1), draw.integers(0, height - h + 1), w, h
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


def middle(width, height, side, resized):
    """The size whose shorter side is `resized`, and where the middle `side` of it begins."""
    w = int(resized * width / min(width, height))
    h = int(resized * height / min(width, height))
    left, top = round((w - side) / 2), round((h - side) / 2)
    return left, top, w, h


class Pictures(Form):
    """mode: "chance" (random_resized_crop and a flip), "middle" (resize to 256, the middle 224),
    "whole" (as they are); `decode` by a library, as bytes [height, width, 3]."""

    def __init__(self, folder, mode, sends_bytes, reduces=False):
        self.paths = sorted(glob.glob(data(f"{folder}/*/*")))
        self.labels = numpy.array([int(path.split("/")[-2]) for path in self.paths])
        self.count, self.mode, self.sends_bytes = len(self.paths), mode, sends_bytes
        self.reduces, self.draw = reduces, None
        self.scale = torch.tensor(1 / (255 * STD), dtype=torch.float32).view(1, 3, 1, 1)
        self.shift = torch.tensor(-MEAN / STD, dtype=torch.float32).view(1, 3, 1, 1)

    def prepare(self):
        if self.draw is None:
            self.draw = numpy.random.default_rng(os.getpid())

    def fetch(self, indices):
        pixels = numpy.stack([self.read(self.paths[i]) for i in indices])
        batch = torch.from_numpy(pixels), torch.from_numpy(self.labels[indices])
        return batch if self.sends_bytes else self.numbers(batch)

    def finish(self, batch):
        return self.numbers(batch) if self.sends_bytes else batch

    def numbers(self, batch):
        """Of bytes [batch, height, width, 3]."""
        values = batch[0].permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.contiguous_format)
        return values.mul_(self.scale).add_(self.shift), batch[1]

    def flip(self, pixels):
        flips = self.mode == "chance" and self.draw.random() < 0.5
        return pixels[:, ::-1] if flips else pixels


class PillowPictures(Pictures):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        from PIL import Image

        self.open, self.filter = Image.open, Image.Resampling.BILINEAR

    def read(self, path):
        image = self.open(path)
        width, height = image.size
        if self.mode == "chance":
            x, y, w, h = crops_by_chance(self.draw, width, height)
            if self.reduces:
                times = max(1, min(w, h) // SIDE)
                image.draft("RGB", (width // times, height // times))
                x, w = x * image.width / width, w * image.width / width
                y, h = y * image.height / height, h * image.height / height
            image = image.resize((SIDE, SIDE), self.filter, box=(x, y, x + w, y + h))
        elif self.mode == "middle":
            left, top, w, h = middle(width, height, SIDE, 256)
            image = image.resize((w, h), self.filter).crop((left, top, left + SIDE, top + SIDE))
        return self.flip(numpy.asarray(image))


class TorchvisionPictures(Pictures):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        import torchvision.io
        from torchvision.transforms.v2 import functional

        torchvision.io.decode_image(torchvision.io.read_file(self.paths[0]))
        self.io, self.functional = torchvision.io, functional

    def read(self, path):
        image = self.io.decode_image(self.io.read_file(path))
        height, width = image.shape[1:]
        if self.mode == "chance":
            x, y, w, h = crops_by_chance(self.draw, width, height)
            image = self.functional.resized_crop(image, y, x, h, w, [SIDE, SIDE], antialias=True)
        elif self.mode == "middle":
            image = self.functional.resize(image, [256], antialias=True)
            image = self.functional.center_crop(image, [SIDE, SIDE])
        return self.flip(image.permute(1, 2, 0).numpy())


class OpencvPictures(Pictures):
    """Its resampling is another one: the mean of the pixels of an area."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        import cv2

        cv2.setNumThreads(0)
        self.cv2 = cv2
        self.whole = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION

    def resize(self, image, width, height):
        shrinks = image.shape[0] > height
        way = self.cv2.INTER_AREA if shrinks else self.cv2.INTER_LINEAR
        return self.cv2.resize(image, (width, height), interpolation=way)

    def read(self, path):
        image = self.cv2.imdecode(numpy.fromfile(path, numpy.uint8), self.whole)
        height, width = image.shape[:2]
        if self.mode == "chance":
            x, y, w, h = crops_by_chance(self.draw, width, height)
            image = self.resize(image[y : y + h, x : x + w], SIDE, SIDE)
        elif self.mode == "middle":
            left, top, w, h = middle(width, height, SIDE, 256)
            image = self.resize(image, w, h)[top : top + SIDE, left : left + SIDE]
        return self.flip(image)


class DecodedPictures(OpencvPictures):
    """Decoded by OpenCV, resized by torch, which is what torchvision does with bytes."""

    def resize(self, image, width, height):
        planes = torch.from_numpy(image).permute(2, 0, 1)[None]
        resized = torch.nn.functional.interpolate(
            planes, (height, width), mode="bilinear", antialias=True
        )
        return resized[0].permute(1, 2, 0).numpy()


def picture_forms(folder, mode, reduces=False):
    forms = {}
    for name, kind in (
        ("Pillow", PillowPictures),
        ("torchvision", TorchvisionPictures),
        ("OpenCV", OpencvPictures),
        ("OpenCV and torch", DecodedPictures),
    ):
        if reduces and kind is not PillowPictures:
            continue
        for sends in (False, True):
            label = name + (", draft" if reduces else "") + (", bytes sent" if sends else "")
            forms[label] = lambda kind=kind, sends=sends: kind(folder, mode, sends, reduces)
    return forms


# ---- the loaders ----

FORMS = {
    "tokens, npy": {"mapped, one gather": npy_tokens},
    "tokens, bin": {"mapped, one gather": bin_tokens},
    "tokens, HDF5": {"mapped at its offset": MappedHdf5, "h5py, rows": lambda: Hdf5("tokens.h5")},
    "tokens, HDF5 packed": {"h5py, rows": lambda: Hdf5("packed.h5")},
    "tokens, Parquet": {"pyarrow, in memory": ParquetTokens},
    "texts, JSONL": {
        "orjson and tokenizers": lambda: Texts(False),
        "orjson and tokenizers, threads": lambda: Texts(True),
    },
    "table, CSV": {"pyarrow, in memory": csv_by_arrow, "pandas, in memory": csv_by_pandas},
    "table, Parquet": {"pyarrow, in memory": parquet_table},
    "table, npz": {"in memory": npz_table},
    "table, JSONL": {"pyarrow, in memory": json_by_arrow, "orjson, line by line": JsonLines},
    "JPEG, random crop": picture_forms("jpeg", "chance"),
    "JPEG, middle": picture_forms("jpeg", "middle"),
    "JPEG, large, reduced": picture_forms("large", "chance", True),
    "JPEG, large": picture_forms("large", "chance"),
    "PNG, random crop": picture_forms("png", "chance"),
    "PNG, 32 x 32": picture_forms("small", "whole"),
}


class Batches(torch.utils.data.Dataset):
    def __init__(self, form):
        self.form = form

    def __getitem__(self, indices):
        self.form.prepare()
        return self.form.fetch(indices)


class Shuffled(torch.utils.data.Sampler):
    """Arrays of indices: one epoch, or epochs without end; of one of `ranks` processes."""

    def __init__(self, count, batch, endless, rank=0, ranks=1):
        self.count, self.batch, self.endless, self.part = count, batch, endless, (rank, ranks)

    def __iter__(self):
        rank, ranks = self.part
        while True:
            order = torch.randperm(self.count).numpy()
            for at in range(rank * self.batch, self.count - self.batch + 1, ranks * self.batch):
                yield order[at : at + self.batch]
            if not self.endless:
                return


def same(batch):
    return batch


def loader_of(form, batch, workers, endless=True, rank=0, ranks=1):
    return torch.utils.data.DataLoader(
        Batches(form),
        sampler=Shuffled(form.count, batch, endless, rank, ranks),
        batch_size=None,
        collate_fn=same,
        num_workers=workers,
        persistent_workers=workers > 0,
        prefetch_factor=PREFETCH if workers > 0 else None,
    )


def processor_seconds():
    """Of this process and of its workers."""
    ticks = 0
    for process_id in descendants(os.getpid()):
        try:
            with open(f"/proc/{process_id}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def rate_of(form, batches, batch, seconds, spare):
    """Batches that were made before the clock starts are not counted."""
    for _ in range(spare):
        form.finish(next(batches))
    taken, spent, begun, passed = 0, processor_seconds(), time.perf_counter(), 0
    while passed < seconds:
        form.finish(next(batches))
        taken += batch
        passed = time.perf_counter() - begun
    return taken / passed, (processor_seconds() - spent) / taken * 1e6


def rate_of_ranks(form, batch, seconds, ranks):
    """Each with a loader of its own in its process, as with DistributedDataParallel."""
    answers = []
    for rank in range(ranks):
        ours, theirs = os.pipe()
        if os.fork() == 0:
            batches = iter(loader_of(form, batch, 0, True, rank, ranks))
            result = rate_of(form, batches, batch, seconds, 3)
            os.write(theirs, json.dumps(result).encode())
            os._exit(0)
        os.close(theirs)
        answers.append(ours)
    rates = [json.loads(os.read(one, 1000)) for one in answers]
    for one in answers:
        os.close(one)
        os.wait()
    rate = sum(one[0] for one in rates)
    return rate, sum(one[0] * one[1] for one in rates) / rate


class Side:
    def __init__(self):
        self.forms, self.loaders = {}, {}

    def form(self, kind, name):
        """Opened once: (form, seconds that took)."""
        if (kind, name) not in self.forms:
            begun = time.perf_counter()
            made = FORMS[kind][name]()
            self.forms[kind, name] = made, time.perf_counter() - begun
        return self.forms[kind, name]

    def list_forms(self, kind):
        good, missing = [], {}
        for name in FORMS[kind]:
            try:
                self.form(kind, name)
                good.append(name)
            except Exception as failure:  # a library that is not there, or not whole
                missing[name] = f"{type(failure).__name__}: {failure}"[:200]
        return {"forms": good, "missing": missing}

    def samples(self, kind, form, count, path):
        """The first samples in their order, without chance."""
        made, _ = self.form(kind, form)
        mode = getattr(made, "mode", None)
        if mode == "chance":
            made.mode = "middle"
        made.prepare()
        batch = made.finish(made.fetch(numpy.arange(count)))
        if mode is not None:
            made.mode = mode
        numpy.savez(path, *[part.numpy() for part in batch])
        return {"count": made.count}

    def epoch(self, kind, form, batch):
        """The number of samples of an epoch, and the sum of each part of them."""
        made, _ = self.form(kind, form)
        samples, sums = 0, None
        for one in loader_of(made, batch, 0, endless=False):
            parts = [float(part.double().sum()) for part in made.finish(one)]
            sums = parts if sums is None else [a + b for a, b in zip(sums, parts)]
            samples += batch
        return {"samples": samples, "sums": sums}

    def measure(self, kind, form, batch, workers, seconds):
        """workers: a number, or "2 ranks"; None where the form cannot have them."""
        made, opened = self.form(kind, form)
        if made.is_alone and workers != 0:
            return None
        if isinstance(workers, str):
            rate, spent = rate_of_ranks(made, batch, seconds, int(workers.split()[0]))
        else:
            key = kind, form, workers
            if key not in self.loaders:
                self.loaders[key] = iter(loader_of(made, batch, workers))
            rate, spent = rate_of(
                made, self.loaders[key], batch, seconds, (PREFETCH + 1) * max(workers, 1)
            )
        return {"samples_per_second": rate, "processor_us": spent, "open_seconds": opened}

    def drop(self, kind):
        """Ends the workers of a kind, and gives its memory back."""
        for table in (self.loaders, self.forms):
            for key in [key for key in table if key[0] == kind]:
                del table[key]
        return {}


def versions():
    found = {"torch": torch.__version__, "numpy": numpy.__version__}
    for name in ("PIL", "torchvision", "cv2", "h5py", "pyarrow", "tokenizers"):
        try:
            found[name] = __import__(name).__version__
        except Exception:  # not there, or not whole
            continue
    return found


def main():
    torch.set_num_threads(1)
    side = Side()
    print(json.dumps(versions()), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(side, command.pop("do"))(**command)
        except Exception as failure:
            answer = {"error": f"{type(failure).__name__}: {failure}"[:500]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
