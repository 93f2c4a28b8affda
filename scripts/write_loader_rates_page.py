"""Writes docs/loader_rates.md to standard output, from a result of bench/loader_rates.py."""

import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "bench")]
from loader_rates_schema import faults
from write_performance_page import table


def rate(value):
    if value >= 1e6:
        return f"{value / 1e6:.2f} million"
    return f"{value:,.0f}"


def by_workers(entry):
    workers = entry["workers"]
    return workers if "rank" in workers else f"{workers} worker{'' if workers == '1' else 's'}"


def microseconds(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def times(row, name="ratio"):
    low, high = row[name + "_range"]
    text = f"{row[name]:.2f} ({low:.2f}..{high:.2f})"
    return text if row[name] >= 1 else f"**{text}**"


def machine(document):
    m, versions = document["machine"], document["versions"]
    libraries = "; ".join(
        ", ".join(f"{name} {number}" for name, number in one.items())
        for one in versions["libraries"]
    )
    loads = [row["load"] for row in document["rows"]]
    return [
        f"Measured on {document['date'][:10]} in {document['seconds'] / 60:.0f} minutes, "
        f"{document['rounds']} rounds"
        + (" (`--quick`: fewer forms of the other side)" if document["quick"] else "")
        + ":",
        "",
        f"- {m['cpu']} (family {m['family']}, model {m['model']}), two of its cores, "
        f"{m['memory_gb']:g} GB; {m['system']}; files in memory",
        f"- load of the machine while the rows were measured: {min(loads):.1f} to {max(loads):.1f}"
        + (": other programs had a share of both sides' time" if max(loads) > 3 else ""),
        f"- {versions['csengine']}; {libraries}",
        "",
    ]


def rates(document):
    rows = []
    for row in document["rows"]:
        ours, theirs = row["ours"], max(row["theirs"], key=lambda one: one["samples_per_second"])
        rows.append(
            [
                row["row"],
                row["what"],
                f"{rate(ours['samples_per_second'])} ({by_workers(ours)})",
                f"{rate(theirs['samples_per_second'])} ({theirs['name']}; {by_workers(theirs)})",
                times(row),
                f"{microseconds(ours['processor_us'])} / {microseconds(theirs['processor_us'])}",
                times(row, "processor_ratio"),
            ]
        )
    titles = [
        "Data",
        "A sample",
        "Ours, samples a second",
        "The best of torch's",
        "Ratio",
        "Processor time of a sample, µs",
        "Ratio",
    ]
    return ["## Samples a second", ""] + table(titles, rows)


def verdict(document):
    def named(key, limit):
        found = [f"`{row['row']}` ({row[key]:.2f})" for row in document["rows"] if row[key] < limit]
        return ", ".join(found) if found else "none"

    return [
        f"Less than twice as fast: {named('ratio', 2)}. Behind: {named('ratio', 1)}.",
        "",
        f"Less than half of their processor time is not reached by: {named('processor_ratio', 2)}; more "
        f"than theirs take: {named('processor_ratio', 1)}.",
        "",
    ]


def openings(document):
    rows = [
        [row["row"], f"{row['ours']['open_seconds'] * 1e3:.0f}"]
        + [", ".join(f"{one['open_seconds'] * 1e3:.0f} ({one['name']})" for one in row["theirs"][:1])]
        for row in document["rows"]
        if "table" in row["row"] or "Parquet" in row["row"]
    ]
    if not rows:
        return []
    return [
        "## Opening tables",
        "",
        "Milliseconds until the first sample can be read, of one process; on torch's side tables are in "
        "memory then. A run parses a table in each of its input workers.",
        "",
    ] + table(["Data", "Ours, ms", "Theirs, ms"], rows)


def comparison(document):
    missing = sorted(
        {f"{form} ({why})" for row in document["rows"] for form, why in row["missing"].items()}
    )
    greatest = {
        row["row"]: max(row["differences"].values())
        for row in document["rows"]
        if row["differences"] and max(row["differences"].values()) > 0
    }
    lines = [
        "## What was compared first",
        "",
        "The values of the first batch, one by one, and the sums over an epoch in shuffled order. They "
        "must be equal, within 1e-6 (floats in text), and of pictures within one level of 255, or, where "
        "a library resamples in another way (OpenCV), within 3 levels in the mean. Pictures that are cut "
        "by chance are compared without chance, and by the mean over an epoch.",
        "",
    ]
    lines += [f"- `{name}`: at most {value:.3g}" for name, value in greatest.items()]
    lines += [""] if greatest else []
    if missing:
        lines += ["Forms that could not be measured: " + "; ".join(missing) + ".", ""]
    lines += [f"- `{name}` failed: {text}" for name, text in document["failures"].items()]
    return lines + ([""] if document["failures"] else [])


HEAD = """# How fast data is read

Samples a second on two cores, beside torch's `DataLoader` as somebody would set it up who knows it
well: a whole batch is fetched at once, tokens by one gather from a mapped file, tables by one gather from
tensors in memory, Arrow without a copy, pictures by the fastest decoder that is installed; workers
persist and prefetch. Each form was tried with 0, 1, 2 and 4 workers and with two ranks that load their own
(with `--quick`: with fewer of these); the best two were measured in turns with ours, and the better one of
each round counts. Ours are input
workers that fill a ring in shared memory, as in a run. Labels of torch's are int64, since its losses take
nothing else.

The ratio is the median of the rounds' ratios, with the least and the greatest. Processor time is that of all
processes of a side: what the training loses of the cores. On a machine that others use, too, it is the
steadier of the two.
"""

AGAIN = """## Again

```
make bench/bench_inputs
python bench/loader_rates.py --bench_inputs bench/bench_inputs --csengine ./csengine --python PYTHON
```

PYTHON has torch, numpy, h5py, pyarrow, Pillow, and whichever of torchvision, OpenCV, orjson and tokenizers
are to be compared; `--rows "tokens, npy; JPEG, middle"` for some of the rows. This page is made of
`docs/loader_rates.json`: copy a new result there, then `make loader_rates_page`. How it measures stands at
the head of `bench/loader_rates.py`. All input functions beside a `Dataset` that reads one sample at a
time stand in [data.md](data.md#how-fast-data-is-read).
"""


def page(document):
    lines = [HEAD]
    for section in (machine, rates, verdict, openings, comparison):
        lines += section(document)
    return "\n".join(lines) + "\n" + AGAIN


def main():
    with open(sys.argv[1]) as file:
        document = json.load(file)
    found = faults(document)
    if found:
        sys.exit(f"{sys.argv[1]}: not a result of loader_rates.py: " + "; ".join(found[:5]))
    sys.stdout.write(page(document))


if __name__ == "__main__":
    main()
