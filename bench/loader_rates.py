"""Samples a second on two cores: the input functions beside torch's DataLoader at its best settings.

    loader_rates.py --bench_inputs PROGRAM --csengine PROGRAM [--python PYTHON]... [--rows "A; B"]
                    [--rounds 5] [--seconds 1] [--quick] [--data FOLDER] [--output FILE]

For each row, a kind of data made by loader_rates_data.py: first the values of both sides are compared
(the first samples one by one, and the sums over a whole epoch), then each form of the other side
(loader_rates_torch.py) is tried with 0, 1, 2 and 4 workers and with two ranks that load their own, and
our side with 1 to 3 input workers (--quick: with 2, and fewer of theirs). The best two of theirs and the best of ours are measured in turns;
told are medians, the ratio is the median of the rounds' ratios of ours to the better of theirs, and
the processor time of a sample is that of all processes of a side. Batches that were ready before the
clock started do not count.

Ours is bench_inputs: input workers fill a ring in shared memory, this process takes the batches in
order. --python may be given several times: each needs torch and numpy; forms whose libraries are
missing are named in the result. The data is made by the first that has h5py, pyarrow and Pillow.
Without any, nothing can be made or compared, and that is an error. With --data it stays in FOLDER, and
is used again.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from loader_rates_schema import FORMAT, faults
from measured_processes import ENVIRONMENT, Failed, end, pinned
from performance import describe_machine, find_torch, first_line

HERE = os.path.dirname(os.path.abspath(__file__))
CHANCE = "image_size: [224, 224], random_resized_crop: true, horizontal_flip: true"
MIDDLE = "image_size: [224, 224], resize: 256"
LEVEL = 1 / 255 / 0.224  # of a byte, after the division by the least std
NEAR_LEVEL = 1.01 * LEVEL


class Row:
    """`data`: what loader_rates_data.py makes for it; `checked`: settings without chance."""

    def __init__(self, what, made, batch, settings, **more):
        self.what, self.made, self.batch, self.settings = what, made, batch, settings
        self.checked = more.get("checked", settings)
        self.tolerance = more.get("tolerance", 1e-6)
        self.chance = self.checked != self.settings

    @property
    def is_picture(self):
        return self.tolerance > 1e-3


def pictures(what, folder, made, mode=CHANCE, batch=32, more=""):
    base = f"data_processor: image_folder, data_dir: FOLDER/{folder}, "
    checked = base + (MIDDLE if mode == CHANCE else mode)
    return Row(what, made, batch, base + mode + more, checked=checked, tolerance=NEAR_LEVEL)


ROWS = {
    "tokens, npy": Row(
        "512 tokens of a .npy file of uint16",
        "token_files",
        64,
        "data_processor: token_shards, path: FOLDER/tokens.npy, sequence_length: 512",
    ),
    "tokens, bin": Row(
        "512 tokens of a raw file of uint16",
        "token_files",
        64,
        "data_processor: token_shards, path: FOLDER/tokens.bin, sequence_length: 512",
    ),
    "tokens, HDF5": Row(
        "3 x 512 numbers of int32, not packed",
        "hdf5",
        64,
        "data_processor: hdf5_lm, data_dir: FOLDER/tokens.h5, attention_mask: true",
    ),
    "tokens, HDF5 packed": Row(
        "3 x 512 numbers of int32, a chunk of deflate for each",
        "hdf5",
        64,
        "data_processor: hdf5_lm, data_dir: FOLDER/packed.h5, attention_mask: true",
    ),
    "tokens, Parquet": Row(
        "two lists of 512 numbers of int32",
        "parquet_tokens",
        64,
        "data_processor: arrow, path: FOLDER/tokens.parquet",
    ),
    "texts, JSONL": Row(
        "texts of 400 words, made into 512 tokens of a vocabulary of 4000",
        "texts",
        64,
        "data_processor: jsonl, path: FOLDER/texts.jsonl, tokenizer: FOLDER/words, "
        "sequence_length: 512",
    ),
    "table, CSV": Row(
        "32 numbers and a label",
        "tables",
        64,
        "data_processor: csv, path: FOLDER/rows.csv, label: label",
    ),
    "table, Parquet": Row(
        "32 numbers and a label",
        "tables",
        64,
        "data_processor: parquet, path: FOLDER/rows.parquet, label: label",
    ),
    "table, npz": Row(
        "784 numbers and a label",
        "features",
        64,
        "data_processor: npy, features: FOLDER/rows.npz, features_key: x, "
        "answers: FOLDER/rows.npz, answers_key: y",
    ),
    "table, JSONL": Row(
        "32 numbers and a label",
        "json_rows",
        64,
        "data_processor: jsonl, path: FOLDER/rows.jsonl, features: features, label: label",
    ),
    "JPEG, random crop": pictures(
        "500 x 375 pixels: a random crop to 224 x 224, a flip", "jpeg", "jpeg"
    ),
    "JPEG, middle": pictures(
        "500 x 375 pixels: shorter side to 256, the middle 224 x 224", "jpeg", "jpeg", MIDDLE
    ),
    "JPEG, large": pictures(
        "2400 x 1800 pixels: a random crop to 224 x 224, a flip", "large", "large_jpeg", batch=8
    ),
    "PNG, random crop": pictures(
        "320 x 240 pixels: a random crop to 224 x 224, a flip", "png", "png"
    ),
    "PNG, 32 x 32": pictures(
        "32 x 32 pixels as they are", "small", "small_png", "image_size: [32, 32]", 64
    ),
}


# ---- both sides ----


class Peers:
    """loader_rates_torch.py in one Python."""

    def __init__(self, python, folder, cores):
        command = [python, os.path.join(HERE, "loader_rates_torch.py"), folder]
        self.process = subprocess.Popen(
            pinned(command, cores),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        self.versions = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed("the other side ended: see above")
        return json.loads(line)

    def ask(self, what, **more):
        self.process.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self.process.stdin.flush()
        answer = self.read()
        if answer is not None and "error" in answer:
            raise Failed(f"{more.get('form', what)}: {answer['error']}")
        return answer


class Bench:
    def __init__(self, options, cores, work):
        self.options, self.cores, self.work = options, cores, work
        self.environment = dict(ENVIRONMENT, XDG_CACHE_HOME=f"{work}/cache")
        self.environment["CSENGINE_PYTHON"] = options.python[0]
        self.peers = [Peers(python, work, cores) for python in options.python]

    @property
    def rounds(self):
        return self.options.rounds or (3 if self.options.quick else 5)

    def make(self, row):
        mark = os.path.join(self.work, row.made + ".made")
        if not os.path.exists(mark):
            script = os.path.join(HERE, "loader_rates_data.py")
            command = [self.options.python[0], script, self.work, self.options.csengine, row.made]
            if subprocess.run(command, env=self.environment).returncode != 0:
                raise Failed(f"{row.made}: the data could not be made")
            open(mark, "w").close()

    def ours(self, what, number, settings, batch):
        """What bench_inputs prints."""
        line = f"{{{settings.replace('FOLDER', self.work)}, batch_size: {batch}, shuffle: true}}"
        command = [self.options.bench_inputs, str(what), str(number), line]
        answer = subprocess.run(
            pinned(command, self.cores), capture_output=True, env=self.environment, timeout=600
        )
        if answer.returncode != 0:
            raise Failed(answer.stderr.decode().strip())
        return answer.stdout


# ---- values ----


def our_samples(bench, row):
    """Arrays [batch, elements], by name."""
    import numpy

    head, _, rest = bench.ours("samples", row.batch, row.checked, row.batch).partition(b"\n")
    streams, offset = {}, 0
    for stream in json.loads(head):
        kind = numpy.dtype(stream["dtype"])
        values = numpy.frombuffer(rest, kind, row.batch * stream["elements"], offset)
        streams[stream["name"]] = values.reshape(row.batch, -1).astype(numpy.float64)
        offset += values.nbytes
    return streams


def compare_samples(bench, row, peer, kind, form):
    """The greatest and the mean difference; raises Failed."""
    import numpy

    path = os.path.join(bench.work, "samples.npz")
    peer.ask("samples", kind=kind, form=form, count=row.batch, path=path)
    ours, greatest, mean = our_samples(bench, row), 0.0, 0.0
    with numpy.load(path) as arrays:
        theirs = [arrays[name].reshape(row.batch, -1).astype(float) for name in arrays.files]
    if len(ours) != len(theirs):
        raise Failed(f"{form}: {len(theirs)} parts of a sample beside our {sorted(ours)}")
    for (name, own), other in zip(ours.items(), theirs):
        if own.shape != other.shape:
            raise Failed(f"{form}: {name} is {other.shape}, ours {own.shape}")
        difference = numpy.abs(own - other) / numpy.maximum(1, numpy.abs(own))
        greatest = max(greatest, float(difference.max()))
        mean = max(mean, float(difference.mean()))
    near = greatest <= row.tolerance or (row.is_picture and mean <= 3 * LEVEL)
    if not near:
        raise Failed(f"{form}: values differ from ours by {greatest:g}, {mean:g} in the mean")
    return greatest


def compare_epochs(bench, row, peer, kind, form):
    """Sums of whole epochs; of pictures with chance the means alone, within 0.1."""
    ours = json.loads(bench.ours("epoch", 0, row.settings, row.batch))
    theirs = peer.ask("epoch", kind=kind, form=form, batch=row.batch)
    samples = ours.pop("samples")
    if samples != theirs["samples"]:
        raise Failed(f"{form}: {theirs['samples']} samples of an epoch, ours {samples}")
    for (name, own), other in zip(ours.items(), theirs["sums"]):
        values = samples * (3 * 224 * 224 if name == "images" else 1)
        allowed = 0.1 * values if row.is_picture else 1e-6 * abs(own) + 1e-5 * samples
        if abs(own - other) > allowed:
            raise Failed(f"{form}: {name} has the sum {other:g}, ours {own:g}")


# ---- rates ----


def try_ours(bench, row, workers, seconds):
    answer = json.loads(bench.ours(seconds, workers, row.settings, row.batch))
    return dict(answer, name="csengine", workers=str(workers))


def try_theirs(bench, row, kind, entry, seconds):
    peer, form, workers = entry
    answer = peer.ask(
        "measure", kind=kind, form=form, batch=row.batch, workers=workers, seconds=seconds
    )
    return answer and dict(answer, name=form, workers=str(workers))


def best(tried, count):
    return sorted(tried, key=lambda one: -one[0]["samples_per_second"])[:count]


def theirs_of(bench, row, kind, result):
    """The forms that are there and whose values are ours, tried: the best two."""
    tried = []
    for peer in bench.peers:
        pil = peer.versions.get("PIL", "")
        found = peer.ask("list_forms", kind=kind)
        for form, why in found["missing"].items():
            result["missing"][form] = why
        for form in found["forms"]:
            result["differences"][form] = compare_samples(bench, row, peer, kind, form)
        if found["forms"]:
            compare_epochs(bench, row, peer, kind, found["forms"][0])
        choices = (0, 1, 2, 4, "2 ranks")
        if bench.options.quick:
            choices = (2, "2 ranks") if row.is_picture else (0, 2, "2 ranks")
        for form in found["forms"]:
            for workers in choices:
                entry = peer, form, workers
                answer = try_theirs(bench, row, kind, entry, bench.options.seconds / 2)
                if answer is None:
                    continue
                if form.startswith("Pillow"):
                    answer["name"] = form.replace("Pillow", f"Pillow {pil}")
                tried.append((answer, entry))
                result["tried"].append(
                    {key: answer[key] for key in ("name", "workers", "samples_per_second")}
                )
    return best(tried, 2)


def summary(answers):
    middle = lambda key: statistics.median(one[key] for one in answers)
    return {
        "name": answers[0]["name"],
        "workers": answers[0]["workers"],
        "samples_per_second": middle("samples_per_second"),
        "processor_us": middle("processor_us"),
        "open_seconds": middle("open_seconds"),
    }


def measure(bench, kind):
    row = ROWS[kind]
    bench.make(row)
    result = {"row": kind, "what": row.what, "batch": row.batch, "load": os.getloadavg()[0]}
    result.update(missing={}, differences={}, tried=[])
    seconds = bench.options.seconds
    theirs = theirs_of(bench, row, kind, result)
    choices = (2,) if bench.options.quick else (1, 2, 3)
    workers = best([(try_ours(bench, row, w, seconds / 2), w) for w in choices], 1)[0][1]
    turns = []
    for _ in range(bench.rounds):
        own = try_ours(bench, row, workers, seconds)
        others = [
            dict(try_theirs(bench, row, kind, entry, seconds), name=answer["name"])
            for answer, entry in theirs
        ]
        turns.append((own, others))
    result["ours"] = summary([own for own, _ in turns])
    result["theirs"] = [summary(list(one)) for one in zip(*(others for _, others in turns))]
    for name, key, sign in (("ratio", "samples_per_second", 1), ("processor_ratio", "processor_us", -1)):
        pick = max if sign > 0 else min
        ratios = [(own[key] / pick(one[key] for one in others)) ** sign for own, others in turns]
        result[name] = statistics.median(ratios)
        result[name + "_range"] = [min(ratios), max(ratios)]
    for peer in bench.peers:
        peer.ask("drop", kind=kind)
    return result


# ---- all of it ----


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bench_inputs", required=True)
    parser.add_argument("--csengine", required=True)
    parser.add_argument("--python", action="append")
    parser.add_argument("--rows", default=None, help="a part of: " + "; ".join(ROWS))
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", default=None)
    parser.add_argument("--output", default="loader_rates.json")
    options = parser.parse_args()
    options.rows = [name.strip() for name in options.rows.split(";")] if options.rows else list(ROWS)
    unknown = [name for name in options.rows if name not in ROWS]
    if unknown:
        parser.error(f"--rows: {unknown[0]} is none of: {'; '.join(ROWS)}")
    if not options.python:
        options.python = [python for python in [find_torch(None)[0]] if python]
    if not options.python:
        parser.error("no Python has PyTorch: name one with --python")
    for name in ("bench_inputs", "csengine"):
        setattr(options, name, os.path.abspath(getattr(options, name)))
    return options


def main():
    options = read_options()
    cores = sorted(os.sched_getaffinity(0))[:2]
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="loader_rates") as temporary:
        work = os.path.abspath(options.data or temporary)
        bench = Bench(options, cores, work)
        document = {
            "format": FORMAT,
            "date": datetime.datetime.now().isoformat(timespec="seconds"),
            "quick": options.quick,
            "rounds": bench.rounds,
            "seconds": 0.0,
            "machine": describe_machine(None),
            "versions": {
                "csengine": first_line([options.csengine, "--version"]) or "unknown",
                "python": platform.python_version(),
                "libraries": [peer.versions for peer in bench.peers],
            },
            "rows": [],
            "failures": {},
        }
        try:
            for kind in options.rows:
                try:
                    result = measure(bench, kind)
                except (Failed, subprocess.TimeoutExpired) as failure:
                    document["failures"][kind] = str(failure)
                    print(f"{kind:22} FAILED: {failure}", flush=True)
                    continue
                document["rows"].append(result)
                ours, theirs = result["ours"], result["theirs"][0]
                print(
                    f"{kind:22} {ours['samples_per_second']:>12,.0f} by {ours['workers']}, "
                    f"{theirs['samples_per_second']:>12,.0f} by {theirs['name']}, "
                    f"{theirs['workers']}: {result['ratio']:.2f} times, processor time "
                    f"{result['processor_ratio']:.2f}",
                    flush=True,
                )
        finally:
            for peer in bench.peers:
                end(peer.process)
    document["seconds"] = round(time.monotonic() - begun, 1)
    wrong = faults(document)
    for fault in wrong:
        print(f"the result is not as the schema says: {fault}", file=sys.stderr)
    with open(options.output, "w") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    return 1 if document["failures"] or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
