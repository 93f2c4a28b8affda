"""`make bench`: what a training step costs beside PyTorch, and what it could cost on this
machine.

    performance.py --csengine PROGRAM --products PROGRAM [--quick] [--rows A,B] [--output FILE]

Sections: steps (rows of STEP_ROWS, beside PyTorch where a Python has it), scaling from one
replica to two, compile, products alone, roofline. Prints a table and writes one JSON file
(performance_schema.py), from which scripts/write_performance_page.py makes docs/performance.md.

How it measures: all entries of a row in turns, `rounds` times, so that other load on the machine
affects all of them; medians; processes pinned to the first one or two cores they may use. Before
a row counts, the losses of both sides must agree: same architecture, text or images, optimizer
and schedule, initial weights of the same distribution but other random numbers. So the first loss
may differ by 5 %, and the mean of the last third of the checked steps by 10 %.

On processors that are not Intel's, PyTorch runs twice: as it is installed, and with the fast path of
its MKL (mkl_fast_path.c). The ratio is to the best of the latter; the former stands beside it.

PyTorch is looked for in --python, $CSE_BENCH_PYTHON, this Python, python3; without it our side is
measured alone. A row that fails is told, and the others go on; sections that the time limit does
not leave room for are left out, and named.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the tree may be read-only
from measured_processes import ENVIRONMENT, Failed, Peer, fast_environment, run, whole_run
from performance_schema import AS_INSTALLED, FORMAT, faults

HERE = os.path.dirname(os.path.abspath(__file__))
BF16 = ["--set", "precision.fp16_type=bfloat16", "--set", "precision.graphamp.preset=mp2"]
FIRST_LOSS, LAST_LOSSES = 0.05, 0.10  # relative
FLAGS = [
    "sse4_2",
    "avx",
    "avx2",
    "fma",
    "avx512f",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_bf16",
]

# Layers, heads, width, time, batch, vocabulary; steps whose losses are compared; steps a round.
GPT = {
    "W1": (6, 6, 384, 256, 8, 256, 12, 4),
    "W2": (12, 12, 768, 64, 4, 50257, 6, 3),
    "W4": (6, 6, 384, 1024, 2, 256, 9, 3),
    "W5": (12, 12, 768, 1024, 2, 50257, 3, 2),
    "small": (4, 4, 128, 64, 12, 256, 30, 40),
}
MEANING = {
    "W1": "GPT-2, 6 layers, 384 wide, T 256, B 8, bytes",
    "W2": "GPT-2 124M, T 64, B 4",
    "W4": "W1 with T 1024, B 2",
    "W5": "GPT-2 124M, T 1024, B 2",
    "small": "GPT-2, 4 layers, 128 wide, T 64, B 12, bytes",
    "fc": "784-500-300-10, Fashion-MNIST",
    "cnn": "two convolutions, two linear layers, Fashion-MNIST, B 256",
}
STEP_ROWS = [
    "W1-fp32",
    "W1-bf16",
    "W1-fp32-2",
    "W1-bf16-2",
    "W2-fp32",
    "W2-bf16",
    "W4-fp32",
    "W4-bf16",
    "W5-bf16",
    "small-fp32",
    "small-bf16",
    "cnn-fp32",
    "fc-fp32",
    "fc-fp32-2",
]
SCALING_ROWS = ["scaling-W1-fp32", "scaling-W1-bf16", "scaling-fc-fp32"]
SECTIONS = STEP_ROWS + SCALING_ROWS + ["compile", "products", "roofline"]


class Bench:
    """What all sections share: options, programs, cores, a folder for compiled steps."""

    def __init__(self, options, cores, work):
        self.options, self.cores, self.work = options, cores, work
        self.csengine = os.path.abspath(options.csengine)
        self.configs = os.path.join(os.path.dirname(HERE), "configs")
        self.compiled = ["--compile_dir", os.path.join(work, "compiled")]
        self.python, self.torch = find_torch(options.python)
        self.fast = fast_environment(work) if self.python else None

    @property
    def rounds(self):
        return self.options.rounds or (2 if self.options.quick else 7)

    def gpt(self, name):
        """Our configuration of it, as a command's arguments."""
        layers, heads, width, times, batch, vocabulary = GPT[name][:6]
        values = {
            "model.num_layers": layers,
            "model.num_heads": heads,
            "model.hidden_size": width,
            "model.max_position_embeddings": times,
            "model.vocab_size": vocabulary,
            "fit.train_dataloader.sequence_length": times,
            "fit.train_dataloader.batch_size": batch,
        }
        sets = [part for path, value in values.items() for part in ("--set", f"{path}={value}")]
        return [os.path.join(self.configs, "gpt2_bytes.yaml"), *sets, *self.compiled]

    def fc(self, batch):
        return [
            os.path.join(HERE, "fc_mnist_scaling.yaml"),
            *self.compiled,
            "--set",
            f"fit.train_dataloader.batch_size={batch}",
        ]

    def cnn(self):
        return [
            os.path.join(self.configs, "cnn_fashion_mnist.yaml"),
            *self.compiled,
            "--set",
            "fit.val_dataloader=null",
            "--set",
            "loop.num_epochs=null",
            "--set",
            "model.dropout=0.1",
        ]

    def start(self, arguments, replicas, steps, every):
        return [
            self.csengine,
            "start",
            *arguments,
            "--num_csx",
            str(replicas),
            "--num_workers_per_csx",
            "1",
            "--num_steps",
            str(steps),
            "--log_steps",
            str(every),
        ]

    def ranks(self, *arguments):
        """The two processes of a DDP run of a twin, without the file that they meet by."""
        return [self.twin(*arguments, "--ranks", 2, "--rank", rank) for rank in (0, 1)]

    def twin(self, model, *arguments):
        return [self.python, os.path.join(HERE, "step_torch.py"), model, *map(str, arguments)]


def find_torch(given):
    """A Python that has PyTorch, and its version; (None, None) without."""
    choices = [given] if given else [os.environ.get("CSE_BENCH_PYTHON"), sys.executable, "python3"]
    for choice in filter(None, choices):
        try:
            found = subprocess.run(
                [choice, "-c", "import torch; print(torch.__version__)"],
                capture_output=True,
                text=True,
                timeout=60,
                env=ENVIRONMENT,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if found.returncode == 0:
            return choice, found.stdout.strip()
    return None, None


# ---- entries of a row: something that gives the milliseconds of a step ----


class OurBench:
    """`csengine bench step`, in one process on one core."""

    def __init__(self, bench, arguments, half, steps):
        self.bench, self.times, self.plan = bench, [], None
        self.command = [
            bench.csengine,
            "bench",
            "step",
            *arguments,
            "--precision",
            "bf16:mp2" if half else "fp32",
            "--steps",
            str(steps),
            "--json",
            "--model_dir",
            os.path.join(bench.work, "model"),
        ]

    def measure(self):
        answer = json.loads(run(self.command, self.bench.cores[:1]))["variants"][0]
        self.plan = answer["memory"]
        self.times.append(answer["median_ms"])


class OurRun:
    """`csengine start`, with all its processes: the median time between two steps, or, where
    steps are short, the rate of the whole run."""

    def __init__(self, bench, arguments, replicas, **options):
        self.bench, self.times, self.batch = bench, [], options.get("batch")
        steps = options["steps"]
        self.cores = bench.cores[:replicas]
        self.command = bench.start(arguments, replicas, steps, steps if self.batch else 1)

    def measure(self):
        result = whole_run(self.command, self.cores)
        if self.batch:
            self.times.append(self.batch / result["end"]["samples_per_second"] * 1e3)
        else:
            self.times.append(statistics.median(result["gaps_ms"][1:]))


class TheirSteps:
    def __init__(self, peer, steps):
        self.peer, self.count, self.times = peer, steps, []

    def measure(self):
        self.times.append(statistics.median(self.peer.steps(self.count)))


def summary(name, times, **more):
    return {
        "name": name,
        "ms": statistics.median(times),
        "low_ms": min(times),
        "high_ms": max(times),
        "rounds": len(times),
        **more,
    }


# ---- a row of steps ----


def gpt_row(bench, name, half, two):
    """(ours, checked run, peers' commands) of a GPT row."""
    layers, heads, width, times, batch, vocabulary, checked, steps = GPT[name]
    arguments, precision = bench.gpt(name), BF16 if half else []
    shape = [
        "--layers",
        layers,
        "--heads",
        heads,
        "--width",
        width,
        "--time",
        times,
        "--vocabulary",
        vocabulary,
    ] + (["--bf16"] if half else [])
    if not two:
        ours = OurBench(bench, arguments, half, steps)
        check = bench.start(arguments + precision, 1, checked, 1)
        twin = bench.twin("gpt2", *shape, "--batch", batch)
        forms = {"PyTorch": [twin]}
        if bench.options.torch_compile:
            forms["PyTorch, compiled"] = [[*twin, "--compile"]]
        return ours, check, forms
    micro = ["--set", f"fit.train_dataloader.micro_batch_size={batch // 2}"]
    arguments = arguments + precision + micro
    ours = OurRun(bench, arguments, 2, steps=steps + 3)
    check = bench.start(arguments, 2, checked, 1)
    ranks = bench.ranks("gpt2", *shape, "--batch", batch // 2)
    threads = [bench.twin("gpt2", *shape, "--batch", batch, "--threads", 2)]
    return ours, check, {"PyTorch, 2 threads": threads, "PyTorch, DDP": ranks}


def small_row(bench, name, two):
    quick = bench.options.quick
    if name == "cnn":
        ours = OurRun(bench, bench.cnn(), 1, steps=40 if quick else 80, batch=256)
        twin = bench.twin("cnn", "--batch", 256, "--inner", 5)
        return (
            ours,
            bench.start(bench.cnn(), 1, 60, 1),
            {"PyTorch": [twin], "PyTorch, channels-last": [[*twin, "--channels_last"]]},
        )
    batch, replicas = (256, 2) if two else (128, 1)
    ours = OurRun(bench, bench.fc(batch), replicas, steps=800 if quick else 3000, batch=batch)
    check = bench.start(bench.fc(batch), replicas, 120, 1)
    twin = bench.twin("fc", "--inner", 50)
    if not two:
        return ours, check, {"PyTorch": [[*twin, "--batch", "128"]]}
    ranks = bench.ranks("fc", "--inner", 50, "--batch", 128)
    return (
        ours,
        check,
        {
            "PyTorch, 2 threads": [[*twin, "--batch", "256", "--threads", "2"]],
            "PyTorch, DDP": ranks,
        },
    )


def compare_losses(ours, theirs):
    """What both sides' losses say; raises Failed where they disagree."""
    third = max(1, len(ours) // 3)
    last = statistics.mean(ours[-third:]), statistics.mean(theirs[-third:])
    result = {
        "steps": len(ours),
        "first_ours": ours[0],
        "first_theirs": theirs[0],
        "last_ours": last[0],
        "last_theirs": last[1],
        "first_tolerance": FIRST_LOSS,
        "last_tolerance": LAST_LOSSES,
    }
    if not abs(ours[0] - theirs[0]) <= FIRST_LOSS * abs(ours[0]):
        raise Failed(f"the first losses differ, so the times cannot be compared: {result}")
    if not abs(last[0] - last[1]) <= LAST_LOSSES * abs(last[0]):
        raise Failed(f"the losses differ, so the times cannot be compared: {result}")
    return result


def open_peers(bench, commands, two):
    """Those that start; what the others say goes to standard error."""
    peers = []
    for name, ranks in commands.items() if bench.python else ():
        if len(ranks) > 1:
            cores = [bench.cores[:1], bench.cores[1:2]]
        else:
            cores = [bench.cores[:2] if two else bench.cores[:1]]
        kinds = {name: ENVIRONMENT}
        if bench.fast:
            kinds = {name: bench.fast, name + AS_INSTALLED: ENVIRONMENT}
        for kind, environment in kinds.items():
            meeting = os.path.join(tempfile.mkdtemp(dir=bench.work), "meeting")
            meet = ["--meeting", meeting] if len(ranks) > 1 else []
            try:
                peers.append(Peer(kind, [[*rank, *meet] for rank in ranks], cores, environment))
            except Failed as failure:
                print(f"  {failure}", file=sys.stderr)
    return peers


def ratio_to(entries, ours, names):
    """The median of the rounds' ratios of the best of these to ours; None without any."""
    turns = list(zip(*(entries[name].times for name in names)))
    if not turns:
        return None
    return statistics.median(min(theirs) / own for theirs, own in zip(turns, ours.times))


def measure_row(bench, ours, check, peers):
    result = {}
    checked = whole_run(
        check, ours.cores if isinstance(ours, OurRun) else bench.cores[:1], watch=True
    )
    result["losses"] = {
        peer.name: compare_losses(checked["losses"], peer.losses(len(checked["losses"])))
        for peer in peers
    }
    slow = len(checked["losses"]) <= 3  # steps of many seconds
    entries = {"csengine": ours}
    for peer in peers:
        entries[peer.name] = TheirSteps(peer, 2 if bench.options.quick or slow else 3)
    until = time.monotonic() + bench.options.row_seconds
    for done in range(bench.rounds):
        if done >= 2 and time.monotonic() > until:
            break
        for entry in entries.values():
            entry.measure()
    memories = {peer.name: peer.memory for peer in peers} | {"csengine": checked["memory"]}
    result["entries"] = [
        summary(name, entry.times, memory=memories[name]) for name, entry in entries.items()
    ]
    if getattr(ours, "plan", None):
        result["plan"] = ours.plan
    names = [peer.name for peer in peers]
    installed = [name for name in names if name.endswith(AS_INSTALLED)]
    result["ratio"] = ratio_to(entries, ours, [name for name in names if name not in installed])
    if installed:
        result["ratio_as_installed"] = ratio_to(entries, ours, installed)
    return result


def step_row(bench, row):
    name, precision, *rest = row.split("-")
    two = rest == ["2"]
    if two and len(bench.cores) < 2:
        raise Failed("this row needs two cores")
    if name in GPT:
        ours, check, commands = gpt_row(bench, name, precision == "bf16", two)
    else:
        ours, check, commands = small_row(bench, name, two)
    peers = open_peers(bench, commands, two)
    try:
        result = measure_row(bench, ours, check, peers)
    finally:
        for peer in peers:
            peer.close()
    return {
        "row": row,
        "what": MEANING[name],
        "precision": precision,
        "cores": 2 if two else 1,
        **result,
    }


# ---- the other sections ----


def scaling_row(bench, row):
    """One replica with all its processes on one core beside two on two, the same microbatches; and
    two runs of one replica at the same time, which is what the machine itself allows."""
    _, name, precision = row.split("-")
    if len(bench.cores) < 2:
        raise Failed("this row needs two cores")
    if name == "fc":
        arguments, options = bench.fc(256), {
            "steps": 600 if bench.options.quick else 2000,
            "batch": 256,
        }
    else:
        batch = GPT[name][4]
        arguments = bench.gpt(name) + (BF16 if precision == "bf16" else [])
        arguments += ["--set", f"fit.train_dataloader.micro_batch_size={batch // 2}"]
        options = {"steps": 6}
    one, two = (OurRun(bench, arguments, replicas, **options) for replicas in (1, 2))
    left, right = (OurRun(bench, arguments, 1, **options) for _ in range(2))
    right.cores = bench.cores[1:2]
    for _ in range(2 if bench.options.quick else 5):
        one.measure()
        two.measure()
        with concurrent.futures.ThreadPoolExecutor() as both:
            list(both.map(OurRun.measure, (left, right)))
    turns = zip(one.times, two.times, left.times, right.times)
    faster, machine = zip(*((a / b, a / c + a / d) for a, b, c, d in turns))
    return {
        "row": row,
        "what": MEANING[name],
        "precision": precision,
        "entries": [
            summary("1 replica, 1 core", one.times),
            summary("2 replicas, 2 cores", two.times),
        ],
        "times_faster": statistics.median(faster),
        "machine_times_faster": statistics.median(machine),
    }


def compile_rows(bench):
    """`csengine compile` of W1 with more layers: into an empty folder, then again."""
    rows = []
    for layers in (6, 12) if bench.options.quick else (6, 12, 24, 48):
        directory = tempfile.mkdtemp(dir=bench.work)
        command = [
            bench.csengine,
            "compile",
            os.path.join(bench.configs, "gpt2_bytes.yaml"),
            "--set",
            f"model.num_layers={layers}",
            "--compile_dir",
            directory,
        ]
        seconds = []
        for _ in range(4):
            start = time.perf_counter()
            run(command, bench.cores)
            seconds.append(time.perf_counter() - start)
        sources = [
            os.path.join(folder, file)
            for folder, _, files in os.walk(directory)
            for file in files
            if file.endswith(".c")
        ]
        rows.append(
            {
                "layers": layers,
                "cold_s": seconds[0],
                "cached_s": statistics.median(seconds[1:]),
                "c_bytes": sum(map(os.path.getsize, sources)),
            }
        )
        shutil.rmtree(directory)
    return rows


def products_table(bench):
    command = [os.path.abspath(bench.options.products), "--json", "--rounds", str(bench.rounds)]
    if bench.options.quick:
        command += ["--works", "W1"]
    answer = run(command, bench.cores[:1])
    columns = {}
    if bench.python:
        columns = {"torch": ENVIRONMENT}
        if bench.fast:
            columns = {"torch": bench.fast, "torch_as_installed": ENVIRONMENT}
    for column, environment in columns.items():
        path = os.path.join(bench.work, "products.json")
        with open(path, "w") as file:
            file.write(answer)
        script = os.path.join(HERE, "products_torch.py")
        with open(path) as file:
            answer = run(
                [bench.python, script, str(bench.rounds), column],
                bench.cores[:1],
                environment=environment,
                stdin=file,
            )
    return json.loads(answer)


def roofline(bench):
    command = [
        bench.csengine,
        "bench",
        "step",
        *bench.gpt("W1"),
        "--precision",
        "fp32,bf16:mp2",
        "--steps",
        "3" if bench.options.quick else "7",
        "--roofline",
        "--json",
        "--model_dir",
        os.path.join(bench.work, "model"),
    ]
    return {
        variant["precision"]: variant["roofline"]
        for variant in json.loads(run(command, bench.cores[:1]))["variants"]
    }


# ---- the machine ----


def first_line(command):
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=20
        ).stdout.splitlines()[0]
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return None


def cache_sizes():
    sizes = {}
    for index in range(5):
        folder = f"/sys/devices/system/cpu/cpu0/cache/index{index}"
        try:
            level, kind, size = (
                open(f"{folder}/{name}").read().strip() for name in ("level", "type", "size")
            )
        except OSError:
            continue
        if kind != "Instruction":
            sizes[f"L{level}"] = size
    return sizes


def describe_machine(bench):
    with open("/proc/cpuinfo") as file:
        lines = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in lines.items()}
    flags = fields.get("flags", "").split()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": fields.get("model name", platform.machine()),
        "family": fields.get("cpu family"),
        "model": fields.get("model"),
        "cores": len(os.sched_getaffinity(0)),
        "instruction_sets": [flag for flag in FLAGS if flag in flags],
        "caches": cache_sizes(),
        "memory_gb": round(memory / 1e9, 1),
        "system": f"Linux {platform.release()}",
        "load_at_start": os.getloadavg()[0],
    }


# ---- all of it ----


def tell(row, result):
    parts = [f"{entry['name']} {entry['ms']:.2f} ms" for entry in result["entries"]]
    times = result.get("ratio") or result.get("times_faster")
    print(f"{row:18s} {', '.join(parts)}" + (f" -> {times:.2f}" if times else ""), flush=True)


def tell_rest(document):
    for row in document["compile"] or ():
        print(
            f"compile, {row['layers']:3d} layers: cold {row['cold_s']:.2f} s, cached {row['cached_s']:.3f} s, "
            f"C {row['c_bytes'] / 1e6:.2f} MB"
        )
    table = document["products"]
    for dtype in ("float32", "bfloat16") if table else ():
        shares = [product[dtype]["ours_share"] for product in table["products"]]
        print(
            f"products alone, {dtype}: {min(shares):.0%} to {max(shares):.0%} of "
            f"{table['peaks'][dtype]:.0f} GFLOP/s, median {statistics.median(shares):.0%}"
        )
    for precision, found in (document["roofline"] or {}).items():
        print(
            f"roofline of W1, {precision}: step over its own products {found['step_over_products']:.3f}, "
            f"over them at the registers' peak {found['step_over_products_at_peak']:.3f}"
        )


def attempt(document, section, action):
    """The action's result; a failure is told, and noted in the document."""
    try:
        return action()
    except (Failed, OSError, ValueError, KeyError, IndexError, ZeroDivisionError) as failure:
        text = str(failure) or repr(failure)
        document["failures"][section] = text
        print(f"{section:18s} FAILED: {text}", file=sys.stderr, flush=True)
        return None


def measure(bench, wanted):
    document = {
        "format": FORMAT,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds"),
        "quick": bench.options.quick,
        "rounds": bench.rounds,
        "machine": describe_machine(bench),
        "versions": {
            "csengine": first_line([bench.csengine, "--version"]),
            "torch": bench.torch,
            "python": platform.python_version(),
            "compiler": first_line([os.environ.get("CC", "cc"), "--version"]),
        },
        "steps": [],
        "scaling": [],
        "compile": None,
        "products": None,
        "roofline": None,
        "failures": {},
        "left_out": [section for section in SECTIONS if section not in wanted],
        "seconds": 0,
    }
    start = time.monotonic()
    actions = {"compile": compile_rows, "products": products_table, "roofline": roofline}
    for section in wanted:
        if time.monotonic() - start > 60 * bench.options.minutes:
            document["left_out"].append(section)
            continue
        if section in actions:
            document[section] = attempt(document, section, lambda: actions[section](bench))
            save(document, bench.options.output, start)
            continue
        scaling = section.startswith("scaling-")
        result = attempt(
            document, section, lambda: (scaling_row if scaling else step_row)(bench, section)
        )
        if result is not None:
            document["scaling" if scaling else "steps"].append(result)
            tell(section, result)
        save(document, bench.options.output, start)
    return document


def save(document, path, start):
    """After each section, so that an interruption loses one alone."""
    document["seconds"] = round(time.monotonic() - start, 1)
    with open(path + ".new", "w") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csengine", required=True)
    parser.add_argument("--products", help="the program bench_products")
    parser.add_argument("--rows", default=",".join(SECTIONS), help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--quick", action="store_true", help="two rounds, fewer steps and sizes")
    parser.add_argument("--rounds", type=int, help="7; 2 with --quick")
    parser.add_argument(
        "--row_seconds", type=float, default=60, help="after which a row ends its rounds"
    )
    parser.add_argument("--minutes", type=float, default=25, help="after which no section is begun")
    parser.add_argument("--python", help="a Python that has PyTorch; 'none': without it")
    parser.add_argument(
        "--torch_compile", action="store_true", help="GPT rows on one core also with torch.compile"
    )
    parser.add_argument("--output", default="performance.json")
    options = parser.parse_args()
    wanted = options.rows.split(",")
    for section in wanted:
        if section not in SECTIONS:
            parser.error(f"--rows: {section}: accepted: {', '.join(SECTIONS)}")
    if "products" in wanted and not options.products:
        parser.error("--products is missing")
    return options, wanted


def main():
    options, wanted = read_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("performance.py: ended from outside"))
    cores = sorted(os.sched_getaffinity(0))[:2]
    work = tempfile.mkdtemp(prefix="performance-")
    try:
        bench = Bench(options, cores, work)
        print(
            (
                f"PyTorch {bench.torch}"
                if bench.torch
                else "PyTorch was not found (CSE_BENCH_PYTHON=a Python that has it): ours alone"
            ),
            flush=True,
        )
        document = measure(bench, wanted)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    tell_rest(document)
    for fault in faults(document):
        print(f"performance.py: its own result: {fault}", file=sys.stderr)
    for section in wanted:
        if section in document["left_out"]:
            print(f"{section}: left out: more than {options.minutes:g} minutes are over")
    print(f"{document['seconds']:.0f} s; written to {os.path.abspath(options.output)}")
    return 1 if document["failures"] or faults(document) else 0


if __name__ == "__main__":
    sys.exit(main())
