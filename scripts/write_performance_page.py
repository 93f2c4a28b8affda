"""Writes docs/performance.md, or performance_amx.md, from a result of bench/performance.py.

    write_performance_page.py RESULT.json >docs/performance.md

Everything on the page comes from the JSON file, so that a number cannot be changed by hand; behind
stands what is behind, too.
"""

import json
import os
import statistics
import sys

sys.dont_write_bytecode = True  # the tree may be read-only
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "bench"))
from performance_schema import AS_INSTALLED, faults

# A page for each kind of machine, by whether it has matrix units.
PAGES = {False: ("performance.md", "without"), True: ("performance_amx.md", "with")}
LIKELY_NOISE = 0.02  # a ratio nearer to 1 than this is called equal
TYPES = {"float32": "float32", "bfloat16": "bfloat16"}


def table(titles, rows):
    """The lines of a table of Markdown."""
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def milliseconds(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def times(ratio):
    """A ratio of speeds, ours over theirs, in words."""
    if ratio is None:
        return "not measured"
    if abs(ratio - 1) < LIKELY_NOISE:
        return f"equal ({ratio:.2f})"
    return f"{ratio:.2f} times faster" if ratio > 1 else f"**behind: {1 / ratio:.2f} times slower**"


def entries(row):
    ours = [entry for entry in row["entries"] if entry["name"] == "csengine"][0]
    return ours, [entry for entry in row["entries"] if entry["name"] != "csengine"]


def best_peer(row, as_installed=False):
    peers = [one for one in entries(row)[1] if one["name"].endswith(AS_INSTALLED) == as_installed]
    return min(peers, key=lambda entry: entry["ms"]) if peers else None


def has_both(document):
    """Whether PyTorch ran with the fast path of its MKL and without."""
    return any(best_peer(row, as_installed=True) for row in document["steps"])


WHAT_IS_INSTALLED = (
    "*Best of PyTorch* has the fast path of its MKL: this library asks whether the processor is "
    "Intel's, and computes float32 products without AVX-512 where it is not. A preloaded function "
    "(`bench/mkl_fast_path.c`) answers that it is. *PyTorch as installed* is what a user has who "
    "does not know of this. The ratios that count are the first ones."
)

# ---- sections ----


def machine(document):
    m, v = document["machine"], document["versions"]
    caches = ", ".join(f"{level} {size}" for level, size in m["caches"].items())
    torch = f"PyTorch {v['torch']}" if v["torch"] else "no PyTorch"
    return [
        f"Measured on {document['date'][:10]} in {document['seconds'] / 60:.0f} minutes"
        + (" (`--quick`: few rounds, so the last digits mean nothing)" if document["quick"] else "")
        + ":",
        "",
        f"- {m['cpu']} (family {m['family']}, model {m['model']}), {m['cores']} cores, {caches}, "
        f"{m['memory_gb']:g} GB; {m['system']}; load when it began {m['load_at_start']:.1f}",
        f"- instruction sets: {', '.join(m['instruction_sets'])}",
        f"- {v['csengine']}, {torch}, Python {v['python']}, {v['compiler']}",
        "",
    ]


def steps(document):
    rows, behind, both = [], [], has_both(document)
    for row in document["steps"]:
        ours = entries(row)[0]
        best = best_peer(row)
        rows.append(
            [
                row["row"].split("-")[0],
                row["what"],
                row["precision"],
                str(row["cores"]),
                f"{milliseconds(ours['ms'])} ({milliseconds(ours['low_ms'])}..{milliseconds(ours['high_ms'])})",
                f"{milliseconds(best['ms'])} ({best['name']})" if best else "",
                times(row["ratio"]),
            ]
            + (as_installed(row) if both else [])
        )
        if row["ratio"] is not None and row["ratio"] <= 1 - LIKELY_NOISE:
            behind.append(
                f"`{row['row']}` ({1 / row['ratio']:.2f} times slower than {best['name']})"
            )
    lines = [
        "## A training step beside PyTorch",
        "",
        "Milliseconds of a step: the median of the rounds, with the fastest and the slowest. "
        "The best of PyTorch's forms (eager with fused updates and scaled dot-product attention; "
        "two threads or DDP; channels-last) counts; the ratio is the median of the rounds' ratios.",
        "",
    ]
    titles = ["Work", "What", "Format", "Cores", "Ours, ms", "Best of PyTorch, ms", "Ours is"]
    if both:
        lines += [WHAT_IS_INSTALLED, ""]
        titles += ["PyTorch as installed, ms", "Ours is"]
    lines += table(titles, rows)
    if not any(best_peer(row) for row in document["steps"]):
        lines += ["PyTorch was not there: no comparison.", ""]
    elif behind:
        lines += ["Behind PyTorch: " + ", ".join(behind) + ".", ""]
    else:
        lines += ["No row is behind PyTorch.", ""]
    return lines + losses(document)


def as_installed(row):
    best = best_peer(row, as_installed=True)
    name = best["name"].removesuffix(AS_INSTALLED) if best else None
    return [
        f"{milliseconds(best['ms'])} ({name})" if best else "",
        times(row.get("ratio_as_installed")),
    ]


def losses(document):
    found = [
        (row["row"], name, one) for row in document["steps"] for name, one in row["losses"].items()
    ]
    if not found:
        return []
    first = max(abs(one["first_ours"] / one["first_theirs"] - 1) for _, _, one in found)
    last = max(abs(one["last_ours"] / one["last_theirs"] - 1) for _, _, one in found)
    one = found[0][2]
    return [
        "A row counts only after both sides' losses agreed: both train on the same text or images with "
        "the same schedule, from weights of the same distribution but other random numbers. The first "
        f"loss may differ by {one['first_tolerance']:.0%} (at most {first:.1%} here), the mean of the last third of "
        f"the checked steps by {one['last_tolerance']:.0%} (at most {last:.1%} here).",
        "",
    ]


def memory(document):
    rows = []
    for row in document["steps"]:
        if row["cores"] != 1 or row["row"].split("-")[0] not in ("W1", "W2", "W4", "W5"):
            continue
        ours, best = entries(row)[0]["memory"], best_peer(row)
        if ours is None:
            continue
        theirs = best["memory"] if best else None
        plan = row.get("plan")
        spaces = plan["space_bytes"] if plan else {}
        planned = sum(spaces.values()) / 1e6
        bound = plan["workspace_bytes"] / max(1, plan["lower_bound_bytes"]) if plan else None
        rows.append(
            [
                row["row"],
                f"{ours['pss_mb']:.0f} in {ours['processes']}",
                f"{theirs['pss_mb']:.0f} in {theirs['processes']}" if theirs else "",
                f"{ours['pss_mb'] / theirs['pss_mb']:.2f}" if theirs else "",
                f"{spaces.get('state', 0) / 1e6:.0f}" if plan else "",
                f"{spaces.get('partial', 0) / 1e6:.0f}" if plan else "",
                f"{plan['workspace_bytes'] / 1e6:.0f} ({bound:.3f})" if plan else "",
                f"{ours['pss_mb'] - planned:.0f}" if plan else "",
                f"{ours['pss_anon_mb']:.0f} / {ours['pss_shmem_mb']:.0f} / {ours['pss_file_mb']:.0f}",
                ", ".join(f"{role} {mb:.0f}" for role, mb in sorted(ours["roles_mb"].items())),
            ]
        )
    if not rows:
        return []
    return [
        "## Memory",
        "",
        "The most PSS (MB) of all processes of a run at once, on one core; PyTorch's while it "
        "trains. "
        "Then what the plan asks for: states (weights, moments), sums over the batch of a microbatch, "
        "the replica's workspace with its size over the most bytes that are live at once, the lower "
        "bound of any plan with this order. Both sums of a microbatch and of the batch are in the plan. "
        "*Beyond the plan* is the rest of the processes: code, libraries, packed copies, the ring of "
        "inputs, the checkpoint being written; less than 0 where the plan's pages were not all touched.",
        "",
    ] + table(
        [
            "Row",
            "Ours, processes",
            "PyTorch, processes",
            "Ours over it",
            "States",
            "Sums",
            "Workspace (over its bound)",
            "Beyond the plan",
            "Anonymous / shared / files",
            "By process",
        ],
        rows,
    )


def scaling(document):
    rows = [
        [
            row["row"].replace("scaling-", ""),
            row["what"],
            milliseconds(row["entries"][0]["ms"]),
            milliseconds(row["entries"][1]["ms"]),
            f"{row['times_faster']:.2f}",
            f"{row['machine_times_faster']:.2f}",
        ]
        for row in document["scaling"]
    ]
    return (
        [
            "## From one replica to two",
            "",
            "One replica with all its processes on one core, beside two on two cores; the same "
            "microbatches, and the same bits. The machine's own limit is that of two independent runs of "
            "one replica at the same time: shared caches, memory and clock cost them, too.",
            "",
        ]
        + table(
            ["Row", "What", "1 replica, ms", "2 replicas, ms", "Times faster", "The machine"], rows
        )
        if rows
        else []
    )


def compiling(document):
    rows = [
        [
            str(row["layers"]),
            f"{row['cold_s']:.2f}",
            f"{row['cached_s'] * 1e3:.0f}",
            f"{row['c_bytes'] / 1e6:.2f}",
        ]
        for row in document["compile"] or ()
    ]
    return (
        ["## Compiling", "", "Whole processes of `csengine compile` of W1 with more layers.", ""]
        + table(["Layers", "Cold, s", "Cached, ms", "Generated C, MB"], rows)
        if rows
        else []
    )


def note_on_torch(products):
    """Where PyTorch's library is far behind on this machine, the ratios of steps have that cause."""
    own = [product["float32"] for product in products]
    columns = [c for c in ("torch_as_installed", "torch") if all(c in one for one in own)]
    if not columns:
        return []
    share = weighted(products, "float32", columns[0]) / weighted(products, "float32", "onednn")
    if share > 0.7:
        return []
    which = "as it is installed" if columns[0] == "torch_as_installed" else "here"
    return [
        f"PyTorch's float32 products reach {share:.0%} of oneDNN's on this processor {which}: much of "
        "the float32 ratios to that PyTorch has this cause.",
        "",
    ]


def weighted(products, dtype, column):
    """GFLOP/s of all products of a step together."""
    operations = [2.0 * p["batches"] * p["m"] * p["n"] * p["k"] * p["times"] for p in products]
    if not products or any(not p[dtype].get(column) for p in products):
        return None
    return sum(operations) / sum(o / p[dtype][column] for o, p in zip(operations, products))


def products(document):
    found = document["products"]
    if not found:
        return []
    lines = [
        "## Products alone",
        "",
        "GFLOP/s of each matrix product of a step, operands hot, packing included, on one core; in "
        "brackets the share of the register peak measured in the same round: float32 "
        f"{found['peaks']['float32']:.0f}, bfloat16 {found['peaks']['bfloat16']:.0f} GFLOP/s. "
        "oneDNN is the library that this build links, PyTorch brings its own libraries.",
        "",
    ]
    names = {"onednn": "oneDNN", "torch": "PyTorch", "torch_as_installed": "PyTorch as installed"}
    own = [product["float32"] for product in found["products"]]
    peers = [name for name in names if all(name in one for one in own)]
    for work in dict.fromkeys(p["work"] for p in found["products"]):
        own = [p for p in found["products"] if p["work"] == work]
        titles = ["Product", "Gradient", "m x n x k"]
        for dtype in TYPES:
            titles += [f"{dtype}: ours"] + [names[peer] for peer in peers]
        rows = []
        for p in own:
            size = f"{p['m']} x {p['n']} x {p['k']}" + (
                f", {p['batches']} times" if p["batches"] > 1 else ""
            )
            row = [p["product"], p["pass"], size]
            for dtype in TYPES:
                best = max(p[dtype][peer] for peer in peers)
                mark = "**" if p[dtype]["ours"] < best * (1 - LIKELY_NOISE) else ""
                row += [f"{mark}{p[dtype]['ours']:.0f}{mark} ({p[dtype]['ours_share']:.0%})"]
                row += [f"{p[dtype][peer]:.0f}" for peer in peers]
            rows.append(row)
        sums = ["all of a step", "", ""]
        for dtype in TYPES:
            rate = weighted(own, dtype, "ours")
            sums += [f"{rate:.0f} ({rate / found['peaks'][dtype]:.0%})"]
            sums += [f"{weighted(own, dtype, peer) or 0:.0f}" for peer in peers]
        lines += [f"{work}; bold: behind one of the others.", ""] + table(titles, rows + [sums])
    return lines + note_on_torch(found["products"])


def roofline(document):
    found = document["roofline"]
    if not found:
        return []
    lines = [
        "## Roofline of W1",
        "",
        "Each kernel above 1 % of the step (alike ones of all layers together): its operations and "
        "bytes from the plan's shapes, and its share of the limit, which is the least time its "
        "operations take in registers or its bytes from the smallest cache that holds them.",
        "",
    ]
    for precision, one in found.items():
        limits = one["limits"]
        rates = ", ".join(
            f"{name} {rate:.0f} GFLOP/s" for name, rate in limits["gflop_per_second"].items()
        )
        reads = ", ".join(
            f"{name} {rate:.0f}" for name, rate in limits["read_gb_per_second"].items()
        )
        lines += [
            f"### {precision}",
            "",
            f"Limits of one core: {rates}; GB/s read from {reads}; triad "
            f"{limits['triad_gb_per_second']:.0f}.",
            "",
        ]
        rows = []
        for k in one["kernels"]:
            what = k["ops"] if len(k["ops"]) < 30 else k["ops"][:27] + "..."
            what += " " + k["sizes"].replace("x", " x ").replace("*", " times ")
            rows.append(
                [
                    what + (" (backward)" if k["backward"] else ""),
                    k["class"],
                    str(k["alike"]),
                    f"{k['ms']:.2f}",
                    f"{k['share']:.1%}",
                    f"{k['flop'] / 1e9:.2f}",
                    f"{k['bytes'] / 1e6:.0f}",
                    f"{k['gflop_per_second']:.0f}",
                    f"{k['gb_per_second']:.1f}",
                    f"{k['flop_per_byte']:.1f}",
                    k["limited_by"],
                    f"{k['share_of_limit']:.0%}",
                ]
            )
        lines += table(
            [
                "Kernel",
                "Part",
                "Alike",
                "ms",
                "Share",
                "GFLOP",
                "MB",
                "GFLOP/s",
                "GB/s",
                "FLOP/byte",
                "Limited by",
                "Of the limit",
            ],
            rows,
        )
        parts = ", ".join(f"{name} {ms:.1f}" for name, ms in one["class_ms"].items())
        lines += [
            f"Milliseconds: {parts}; all kernels {one['kernels_ms']:.1f} of a step's "
            f"{one['step_ms']:.1f}.",
            "",
            f"The step takes {one['step_over_products']:.3f} times its own products, attention's "
            f"included, and {one['step_over_products_at_peak']:.3f} times what they would take at the "
            "registers' peak: inside the step they run at "
            f"{one['step_over_products'] / max(1e-9, one['step_over_products_at_peak']):.0%} of it. The "
            f"update takes {one['update_ms']:.1f} ms, {one['update_gb_per_second']:.0f} GB/s, "
            f"{one['update_gb_per_second'] / limits['triad_gb_per_second']:.0%} of triad.",
            "",
        ]
    return lines


def gaps(document):
    lines = [f"- `{name}` failed: {text}" for name, text in document["failures"].items()]
    if document["left_out"]:
        names = ", ".join(f"`{name}`" for name in document["left_out"])
        lines += [f"- left out of this run: {names}"]
    return ["## What is missing", ""] + lines + [""] if lines else []


AGAIN = """## Again

```
make bench                                                    # all of it, about 25 minutes
make bench BENCH_FLAGS="--quick"                              # few rounds
make bench BENCH_FLAGS="--rows W1-fp32,products"              # some of it
CSE_BENCH_PYTHON=/path/to/python make bench                   # a Python that has PyTorch
csengine bench step configs/gpt2_bytes.yaml --roofline        # one configuration's kernels
```

`make bench` writes `performance.json`. The pages are made of `docs/performance.json` and
`docs/performance_amx.json`: copy a new one there, then `make performance_page`. How it measures stands at the head of `bench/performance.py`.
"""


def kind(document):
    has_units = "amx_bf16" in document["machine"]["instruction_sets"]
    own, (other, of_other) = PAGES[has_units][1], PAGES[not has_units]
    return (
        f"A processor {own} matrix units (AMX) was measured here; one {of_other} them on another "
        f"page: [{other}]({other})."
    )


def page(document):
    ratios = [row["ratio"] for row in document["steps"] if row["ratio"]]
    lines = [
        "# Performance",
        "",
        "What a training step costs here beside PyTorch, and what this machine would allow. "
        "Numbers from one run on one machine: ratios travel, milliseconds do not."
        + (
            f" The median of the {len(ratios)} ratios below is {statistics.median(ratios):.2f}."
            if ratios
            else ""
        ),
        "",
        kind(document),
        "",
    ]
    for section in (machine, steps, memory, scaling, compiling, products, roofline, gaps):
        lines += section(document)
    return "\n".join(lines) + "\n" + AGAIN


def main():
    with open(sys.argv[1]) as file:
        document = json.load(file)
    found = faults(document)
    if found:
        sys.exit(f"{sys.argv[1]}: not a result of performance.py: " + "; ".join(found[:5]))
    sys.stdout.write(page(document))


if __name__ == "__main__":
    main()
