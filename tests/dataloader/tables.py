"""Writes tables in the forms that people have, and compares what csv, npy, jsonl and parquet read of
them with what pandas, NumPy and json read.

Run: python3 tables.py BENCH_INPUTS FOLDER
"""

import gzip
import io
import json
import os
import subprocess
import sys

import numpy
import pandas

bench_inputs, work = sys.argv[1:]
draw = numpy.random.default_rng(17)
failures = []
ROWS = 23


def path(name):
    return os.path.join(work, name)


def run(settings, count):
    line = f"{{{settings}, batch_size: 1}}"
    return subprocess.run([bench_inputs, "samples", str(count), line], capture_output=True)


def compare(name, settings, streams):
    """`streams` in order: {name: array [samples, ...]}, or (name, array) twice."""
    count = len(next(iter(streams.values())))
    result = run(settings, count)
    if result.returncode != 0:
        failures.append(f"{name}: {result.stderr.decode()}")
        return
    head, _, rest = result.stdout.partition(b"\n")
    offset = 0
    for stream in json.loads(head):
        want = numpy.asarray(streams[stream["name"]]).astype(stream["dtype"]).reshape(count, -1)
        got = numpy.frombuffer(rest, stream["dtype"], want.size, offset).reshape(want.shape)
        offset += got.nbytes
        if not numpy.array_equal(want, got):
            failures.append(f"{name}: {stream['name']}: {got[:4]} for {want[:4]}")
    if run(settings, count + 1).returncode == 0:
        failures.append(f"{name}: there are more samples")


def refused(name, settings, words, count=1):
    result = run(settings, count)
    if result.returncode == 0 or words not in result.stderr.decode():
        failures.append(f"{name}: not refused by {words!r}: {result.stderr.decode()}")


# ---- CSV ----


def table(rows=ROWS):
    return pandas.DataFrame(
        {
            "width": draw.normal(size=rows).round(6),
            "count": draw.integers(-1000, 1000, rows),
            "flag": draw.integers(0, 2, rows) == 1,
            "kind": draw.integers(0, 3, rows),
        }
    )


def features(frame, label="kind"):
    return frame.drop(columns=label).to_numpy(dtype=numpy.float64)


def csv(name, data, more="", label="kind", suffix="", **options):
    """The bytes as pandas reads them with these options."""
    file = path(f"{name}.csv{suffix}")
    with open(file, "wb") as out:
        out.write(data)
    frame = pandas.read_csv(file, **options)
    compare(
        name,
        f"data_processor: csv, path: {file}, label: {label}{more}",
        {"images": features(frame, frame.columns[-1]), "labels": frame[frame.columns[-1]]},
    )


plain = table().to_csv(index=False).encode()
csv("plain", plain)
csv("crlf", plain.replace(b"\n", b"\r\n"))
csv("cr", plain.replace(b"\n", b"\r"))
csv("no_end", plain.rstrip(b"\n"))
csv("blank_end", plain + b"\n\n\n")
csv("mark", b"\xef\xbb\xbf" + plain)
csv("quoted", table().to_csv(index=False, quoting=1).encode())
csv("index", table().to_csv().encode())
csv("semicolons", table().to_csv(index=False, sep=";", decimal=",").encode(),
    ", delimiter: ';', decimal: ','", sep=";", decimal=",")
csv("tabs", table().to_csv(index=False, sep="\t").encode(), ', delimiter: "\\t"', sep="\t")
csv("no_header", table().to_csv(index=False, header=False).encode(), ", header: false", label=3,
    header=None)
csv("numbers_as_names", pandas.DataFrame(draw.integers(0, 9, (5, 4))).to_csv(index=False).encode(),
    label="'-1'")
csv("negative", plain, label=-1)
half = len(plain) // 2
csv("members", gzip.compress(plain[:half]) + gzip.compress(plain[half:]), suffix=".gz")
csv("zeros_behind", gzip.compress(plain) + bytes(512), suffix=".gz")
long_numbers = pandas.DataFrame({"x": draw.normal(size=ROWS) * 1e5, "kind": 0})
csv("long_numbers", long_numbers.to_csv(index=False).encode(), float_precision="round_trip")

frame = table()
frame.loc[[2, 5], "width"] = numpy.nan
frame.loc[7, "width"] = numpy.inf
frame.loc[5, "count"] = numpy.nan
for word in "", "NaN", "NA", "null", "None", "n/a":
    file = path("missing.csv")
    frame.to_csv(file, index=False, na_rep=word)
    read = pandas.read_csv(file).replace([numpy.inf, -numpy.inf], numpy.nan)
    settings = f"data_processor: csv, path: {file}, label: kind"
    left = read.dropna()
    compare(f"drop {word}", settings + ", missing_values: drop",
            {"images": features(left), "labels": left["kind"]})
    filled = read.fillna({"width": -1, "count": 7})
    compare(f"fill {word}", settings + ", missing_values: fill, fill_value: [-1, 7, 0]",
            {"images": features(filled), "labels": filled["kind"]})
    refused(f"refuse {word}", settings, "missing.csv:4:1: the field is")

texts = table()
texts["note"] = ['a, "b"\nc', "", "d"] * 7 + ["e\r\nf", "g"]
texts.to_csv(path("texts.csv"), index=False)
read = pandas.read_csv(path("texts.csv"))
compare("texts beside", f"data_processor: csv, path: {path('texts.csv')}, label: kind, "
        "features: [count, width]", {"images": read[["count", "width"]], "labels": read["kind"]})

with open(path("utf16.csv"), "wb") as out:
    out.write(plain.decode().encode("utf-16"))
refused("utf16", f"data_processor: csv, path: {path('utf16.csv')}, label: kind", "it is UTF-16")
with open(path("cut.csv.gz"), "wb") as out:
    out.write(gzip.compress(plain * 99)[:-20])
refused("cut", f"data_processor: csv, path: {path('cut.csv.gz')}, label: kind", "truncated")

# ---- NumPy ----


def npy(name, x, y, more="", file_x=None):
    numpy.save(path("x.npy"), x)
    numpy.save(path("y.npy"), y)
    settings = f"features: {file_x or path('x.npy')}, answers: {path('y.npy')}{more}"
    compare(f"npy {name}", f"data_processor: npy, {settings}",
            {"images": numpy.asarray(x).astype(numpy.float32), "labels": numpy.asarray(y)})


labels = draw.integers(0, 5, ROWS)
for kind in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1".split():
    for order in "<>":
        x = (draw.normal(size=(ROWS, 2, 3)) * 100).astype(order + kind)
        npy(order + kind, x, labels.astype(order + "i4"))
        npy(order + kind + " fortran", numpy.asfortranarray(x), labels.astype(order + "u2"))
npy("of a frame", table().drop(columns="kind").astype(float).values, labels)
npy("of one column", draw.normal(size=(ROWS, 1)), labels[:, None])
npy("of floats", draw.normal(size=ROWS), labels.astype("f8"))
npy("bool labels", draw.normal(size=(ROWS, 2)), labels > 2)
x = draw.normal(size=(ROWS, 4)).astype("f4")
for version in (1, 0), (2, 0), (3, 0):
    with open(path("version.npy"), "wb") as out:
        numpy.lib.format.write_array(out, x, version=version)
    npy(f"version {version}", x, labels, file_x=path("version.npy"))
for save in numpy.savez, numpy.savez_compressed:
    for order in numpy.ascontiguousarray, numpy.asfortranarray:
        save(path("both.npz"), x=order(x), y=labels, z=0)
        compare(save.__name__, f"data_processor: npy, features: {path('both.npz')}, features_key: x, "
                f"answers: {path('both.npz')}, answers_key: y", {"images": x, "labels": labels})
numpy.save(path("x.npy"), x)
settings = f"data_processor: npy, features: {path('x.npy')}, answers: {path('y.npy')}"
numpy.save(path("y.npy"), numpy.eye(5)[labels])
refused("one-hot", settings, "array.argmax(axis=1)")
numpy.save(path("y.npy"), numpy.array(3))
refused("no dimension", settings, "without a dimension")
numpy.save(path("y.npy"), labels - 1)
refused("negative", settings, "label -1", ROWS)
numpy.save(path("y.npy"), labels)
x[3, 2] = numpy.nan
x[5, 0] = numpy.inf
numpy.save(path("x.npy"), x)
left = numpy.isfinite(x).all(axis=1)
compare("npy drop", settings + ", missing_values: drop", {"images": x[left], "labels": labels[left]})
compare("npy fill", settings + ", missing_values: fill, fill_value: [1, 2, 3, 4]",
        {"images": numpy.where(numpy.isfinite(x), x, [1, 2, 3, 4]), "labels": labels})
result = run(settings, 4)
if b"x.npy[3, 2]: the value is nan" not in result.stderr:
    failures.append(f"nan: {result.stderr.decode()}")

# ---- JSON lines ----

with open(path("a.jsonl"), "w", encoding="utf-8-sig", newline="") as out:
    for i in range(ROWS):
        line = {"text": "\ud800", "score": float("nan"), "id": 10**30 + i,
                "features": [i + 0.5, -(10**20), i % 2 == 1], "label": i % 3}
        out.write(json.dumps(line) + ("\r\n" if i % 2 else "\n\n"))
compare("jsonl", f"data_processor: jsonl, path: {path('a.jsonl')}",
        {"images": [[i + 0.5, -(10.0**20), i % 2] for i in range(ROWS)],
         "labels": [i % 3 for i in range(ROWS)]})
with open(path("list.jsonl"), "w") as out:
    json.dump([{"features": [1], "label": 0}], out, indent=1)
refused("jsonl list", f"data_processor: jsonl, path: {path('list.jsonl')}", "one JSON array")

# ---- Parquet ----

frame = table()
frame["name"] = pandas.Categorical(["cat", "dog", None, "fox"] * 5 + ["cat"] * 3)
frame.loc[4, "width"] = numpy.nan
frame["small"] = numpy.arange(ROWS).astype("i1")
frame["nullable"] = pandas.array([1, None] * 11 + [3], dtype="Int64")
for name, options in {"snappy": {}, "zstd": {"compression": "zstd", "index": True},
                      "groups": {"row_group_size": 5}}.items():
    file = path(f"{name}.parquet")
    frame.to_parquet(file, **options)
    read = pandas.read_parquet(file)
    settings = f"data_processor: parquet, path: {file}, label: kind"
    used = ["small", "width", "flag"]
    left = read[used + ["kind"]].dropna()
    compare(f"parquet {name}", f"{settings}, features: [small, width, flag], missing_values: drop",
            {"images": left[used], "labels": left["kind"]})
    filled = read[["nullable", "count"]].astype(float).fillna(-5)
    compare(f"parquet fill {name}",
            f"{settings}, features: [nullable, count], missing_values: fill, fill_value: [-5]",
            {"images": filled, "labels": read["kind"]})
    left = read[["count", "name"]].dropna()
    compare(f"parquet words {name}",
            f"data_processor: parquet, path: {file}, label: name, features: [count], "
            "class_names: [fox, dog, cat], missing_values: drop",
            {"images": left[["count"]], "labels": left["name"].map({"fox": 0, "dog": 1, "cat": 2})})
    compare(f"arrow of parquet {name}",
            f"data_processor: arrow, path: {file}, columns: {{images: small, labels: kind}}",
            {"images": read["small"], "labels": read["kind"]})
    refused(f"parquet text {name}", settings, 'column "name" holds texts')
result = run(f"data_processor: parquet, path: {path('snappy.parquet')}, label: kind, "
             "features: [nullable]", 2)
if b'snappy.parquet: row 1, column "nullable": it is null' not in result.stderr:
    failures.append(f"null: {result.stderr.decode()}")
os.makedirs(path("folder"))
parts = [table(9), table(14)]
for i, part in enumerate(parts):
    part.to_parquet(path(f"folder/{i}.parquet"))
both = pandas.concat(parts)
compare("parquet folder", f"data_processor: parquet, path: {path('folder')}, label: kind",
        {"images": features(both), "labels": both["kind"]})

print("\n".join(failures))
sys.exit(bool(failures))
