"""How long the server takes for a root of many long runs: the list of jobs, the table of experiments,
curves of all runs, groups of them, and what parallel coordinates are drawn from.

    top_srcdir=. CSENGINE_EXECUTABLE=build/csengine python3 bench/dashboard_runs.py FOLDER [RUNS [STEPS]]

FOLDER gets the root, some 4 MB a run of 100,000 steps, and is used again where it has one. One run is
trained; the others are made of it by tests/support/many_runs.py, with points, buckets and settings of
their own. Of each request: the time by the clock and that of the server's processors, of the first
request of a server that has just started and has read nothing (its derived.db is removed), of the first
of one that has read ahead, and the median of five more; and the bytes of the answer."""
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
import urllib.parse

SOURCE = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(SOURCE, "tests", "dashboard"))
from support import API, Server  # noqa: E402

MANY = os.path.join(SOURCE, "tests", "support", "many_runs.py")
KEPT = ("loss", "val_loss")
LR = "trainer.init.optimizer.SGD.lr"
CONFIG = """trainer:
  init:
    backend: { compile_dir: %s, cluster_config: {num_csx: 1, num_workers_per_csx: 1} }
    model: { name: fc_mnist, input_size: 16, hidden_sizes: [8], num_classes: 4 }
    optimizer:
      SGD:
        lr: 0.01
    loop: { num_steps: %d, eval_frequency: 500 }
    seed: 1
  fit:
    train_dataloader:
      data_processor: synthetic
      features: [16]
      classes: 4
      samples: 1024
      batch_size: 16
      micro_batch_size: 16
    val_dataloader:
      data_processor: synthetic
      features: [16]
      classes: 4
      samples: 128
      batch_size: 16
      micro_batch_size: 16
"""


def strip(model_dir):
    """Of the series two stay, so that a thousand runs fit on a disk."""
    store = sqlite3.connect(os.path.join(model_dir, "run.db"), isolation_level=None)
    names = ", ".join(f"'{name}'" for name in KEPT)
    for table in ("points", "buckets"):
        store.execute(
            f"DELETE FROM {table} WHERE series NOT IN (SELECT id FROM series WHERE name IN ({names}))"
        )
    store.execute(f"DELETE FROM series WHERE name NOT IN ({names})")
    store.execute("DELETE FROM chain WHERE step > 1000")
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()


def make_root(folder, runs, steps):
    root = os.path.join(folder, "root")
    if os.path.exists(os.path.join(folder, "made")):
        return root
    shutil.rmtree(root, ignore_errors=True)
    compiled = os.path.join(folder, "compiled")
    os.makedirs(compiled, exist_ok=True)
    server = Server("--root", root, "--output_root", compiled)
    config = CONFIG % (compiled, steps)
    sent = server.request("PUT", f"{API}/jobs/seed", {"config": config})
    if sent.status != 201:
        raise SystemExit(sent.body)
    server.wait_for("seed", "SUCCEEDED", seconds=3000)
    server.stop()
    strip(os.path.join(root, "seed"))
    subprocess.run([sys.executable, MANY, root, "seed", str(runs)], check=True)
    open(os.path.join(folder, "made"), "w").close()
    return root


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(server, path):
    before, start = processor_seconds(server.process.pid), time.perf_counter()
    answer = server.get(f"{API}{path}", **{"Accept-Encoding": "gzip"})
    took = time.perf_counter() - start
    if answer.status != 200:
        raise SystemExit(f"{path}: {answer.status} {answer.body[:300]}")
    used = processor_seconds(server.process.pid) - before
    print(f"  {path[:60]:60s} {took * 1e3:7.0f} / {used * 1e3:5.0f}", file=sys.stderr)
    return took * 1e3, used * 1e3, len(answer.body)


def requests():
    quote = urllib.parse.urlencode
    return {
        "list of jobs": "/jobs?limit=1000",
        "table": "/experiments",
        "table in groups": f"/experiments?{quote({'group_by': LR})}",
        "table, filter and order": f"/experiments?{quote({'where': 'seed=2 loss<9', 'sort': 'loss'})}",
        "curves of all": f"/curves?{quote({'names': 'loss,val_loss'})}",
        "curves of all, a part": f"/curves?{quote({'names': 'loss', 'from': 20000, 'to': 30000})}",
        "means over seeds": f"/curves?{quote({'names': 'loss,val_loss', 'but': 'seed'})}",
        "parallel coordinates": "/experiments?"
        + quote({"columns": f"{LR},trainer.init.seed,team,min(val_loss),min(loss)"}),
    }


def fresh(root):
    for end in ("", "-wal", "-shm"):
        path = os.path.join(root, "derived.db" + end)
        if os.path.exists(path):
            os.remove(path)


def quiet(server):
    """Waits until it has read ahead."""
    last = -1
    while (now := processor_seconds(server.process.pid)) - last > 0.02:
        last = now
        time.sleep(1)


def main(folder, runs=1000, steps=100_000):
    os.makedirs(folder, exist_ok=True)
    root = make_root(folder, int(runs), int(steps))
    found = {name: [] for name in requests()}
    for name, path in requests().items():
        fresh(root)
        server = Server("--root", root)
        found[name].append(ask(server, path))
        server.stop()
    server = Server("--root", root)
    quiet(server)
    for name, path in requests().items():
        found[name].append(ask(server, path))
        again = [ask(server, path) for _ in range(5)]
        found[name].append([statistics.median(column) for column in zip(*again)])
    server.stop()
    load = os.getloadavg()[0]
    print(f"{runs} runs of {steps} steps; load {load:.1f}; milliseconds by the clock / processor")
    for name, rows in found.items():
        cells = "  ".join(f"{took:7.0f} / {used:5.0f}" for took, used, _ in rows)
        print(f"{name:26s}{cells}  {rows[-1][2] / 1e3:9.0f} kB")
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
