"""Load test of the server during a run: many idle event streams and mixed requests, and the time
from a step's end to its arrival at event streams. Prints one line of JSON; loopback only.

With --slowdown PAIRS it measures instead how much a dashboard slows down training: one run
alternates between phases with and without a server with open tabs. Steps per second come from the
times in the run store; the median of the pairs' ratios is printed.

usage: server_load.py CSENGINE [--idle N] [--rate PER_SECOND] [--seconds N] [--tabs N]
                               [--slowdown PAIRS] [--num_csx N] [--core N]

--core binds the server and its clients to one core, and training to the others; the report then has
the training's steps per second before and under the load."""
import argparse
import json
import os
import resource
import selectors
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import shutil

CONFIG = """trainer:
  init:
    model: {{ name: fc_mnist, input_size: 784, hidden_sizes: [500, 300], num_classes: 10 }}
    optimizer: {{ SGD: {{ lr: 0.01 }} }}
    loop: {{ num_steps: 100000000 }}
    logging: {{ log_steps: 100000000 }}
    seed: 1
  fit:
    train_dataloader:
      data_processor: synthetic
      features: [784]
      classes: 10
      samples: 4096
      batch_size: {batch}
      micro_batch_size: {micro}
"""


def request(path, stream=False, server=None):
    accept = "text/event-stream" if stream else "application/json"
    return (f"GET {path} HTTP/1.1\r\nHost: localhost:{server.port}\r\nAccept: {accept}\r\n"
            f"Authorization: Bearer {server.token}\r\n\r\n").encode()


class Server:
    def __init__(self, executable, run):
        self.process = subprocess.Popen(
            [executable, "serve", "--run", run, "--json", "--requests_per_second", "1000000",
             "--connections", "8000"],
            stdout=subprocess.PIPE,
        )
        note = json.loads(self.process.stdout.readline())
        self.port = int(note["url"].rsplit(":", 1)[1])
        with open(note["token_file"]) as f:
            self.token = f.read().strip()

    def connect(self, path, stream=True):
        s = socket.create_connection(("127.0.0.1", self.port))
        s.sendall(request(path, stream, self))
        return s

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(l.split()[1]) for l in f if l.startswith("VmRSS:")) / 1024


class Tab:
    """An event stream that records the delay of each point after its step."""

    def __init__(self, socket_):
        self.socket, self.text, self.delays_ms, self.from_ms = socket_, b"", [], 0

    def read(self, now_ms):
        self.text += self.socket.recv(1 << 20)
        while b"\n\n" in self.text:
            block, _, self.text = self.text.partition(b"\n\n")
            at = block.find(b"data: ")
            if at < 0 or b"event: metric" not in block:
                continue
            data = block[at + 6:].split(b"\r\n")[0]
            try:
                event = json.loads(data)
            except ValueError:
                continue  # split between two chunks
            for _, time_ms, _ in event["payload"]["series"].get("loss", []):
                if time_ms >= self.from_ms:
                    self.delays_ms.append(now_ms - time_ms)


class Reader:
    """One connection that repeats requests, at its share of the rate."""

    def __init__(self, server, job, number):
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        self.paths = [f"/api/v1/jobs/{job}", f"/api/v1/jobs/{job}/metrics?names=loss&max_points=500",
                      "/api/v1/jobs", "/api/v1/version", f"/api/v1/jobs/{job}/logs?tail=50",
                      f"/api/v1/jobs/{job}/topology", f"/api/v1/jobs/{job}/transitions", "/metrics"]
        self.number, self.server, self.waits, self.got, self.left = number, server, False, b"", -1
        self.answers, self.errors, self.begun, self.times_ms = 0, 0, 0.0, []

    def ask(self):
        self.number += 1
        self.socket.sendall(request(self.paths[self.number % len(self.paths)], False, self.server))
        self.waits, self.got, self.begun = True, b"", time.monotonic()

    def read(self):
        self.got += self.socket.recv(1 << 20)
        head, mark, body = self.got.partition(b"\r\n\r\n")
        if not mark:
            return
        length = next(int(l.split(b":")[1]) for l in head.split(b"\r\n") if l.lower().startswith(b"content-length"))
        if len(body) >= length:
            self.waits = False
            self.answers += 1
            self.times_ms.append((time.monotonic() - self.begun) * 1000)
            self.errors += not head.startswith(b"HTTP/1.1 200")


def percentile(values, share):
    values = sorted(values)
    return round(values[min(len(values) - 1, int(len(values) * share))], 2) if values else None


def run_load(server, job, options):
    selector = selectors.DefaultSelector()
    idle = [server.connect(f"/api/v1/jobs/{job}/events?types=checkpoint") for _ in range(options.idle)]
    tabs = [Tab(server.connect(f"/api/v1/jobs/{job}/events?types=metric,state")) for _ in range(options.tabs)]
    readers = [Reader(server, job, i) for i in range(16 if options.rate else 0)]
    for item in tabs + readers:
        selector.register(item.socket, selectors.EVENT_READ, item)
    time.sleep(1)
    begin, cpu = time.monotonic(), server.cpu_seconds()
    asked, residents = 0, []
    for tab in tabs:  # ignore points from before the measurement
        tab.from_ms = time.time() * 1000
    while (now := time.monotonic()) - begin < options.seconds:
        for reader in readers:
            if asked < (now - begin) * options.rate and not reader.waits:
                reader.ask()
                asked += 1
        if now - begin > len(residents) * options.seconds / 10:
            residents.append(round(server.resident_mib(), 1))
        for key, _ in selector.select(0.001):
            if isinstance(key.data, Tab):
                key.data.read(time.time() * 1000)
            else:
                key.data.read()
    took = time.monotonic() - begin
    delays = [d for tab in tabs for d in tab.delays_ms]
    times = [t for reader in readers for t in reader.times_ms]
    answers = sum(r.answers for r in readers)
    report = {
        "idle_streams": len(idle), "tabs": len(tabs), "seconds": round(took, 1),
        "requests_per_second": round(answers / took, 1), "errors": sum(r.errors for r in readers),
        "answer_ms_median": percentile(times, 0.5), "answer_ms_p99": percentile(times, 0.99),
        "points": len(delays), "step_to_stream_ms_median": percentile(delays, 0.5),
        "step_to_stream_ms_p99": percentile(delays, 0.99),
        "server_cores": round((server.cpu_seconds() - cpu) / took, 3),
        "resident_mib": residents + [round(server.resident_mib(), 1)],
    }
    for s in idle:
        s.close()
    return report


def drain(sockets, seconds):
    """Reads from the sockets for some seconds, as tabs do."""
    selector = selectors.DefaultSelector()
    for s in sockets:
        selector.register(s, selectors.EVENT_READ)
    end, received = time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 0:
        for key, _ in selector.select(left):
            received += len(key.fileobj.recv(1 << 20))
    return received


def steps_per_second(database, begin_ms, end_ms):
    first, last = [
        database.execute(
            f"SELECT step, time_ms FROM points WHERE series = (SELECT id FROM series WHERE name = 'loss')"
            f" AND time_ms BETWEEN ? AND ? ORDER BY step {order} LIMIT 1", (begin_ms, end_ms)).fetchone()
        for order in ("ASC", "DESC")]
    return (last[0] - first[0]) * 1000 / (last[1] - first[1])


def phase(options, run, with_dashboard):
    """Start and end of the measured time in ms, after a warm-up."""
    server, tabs, received = None, [], 0
    if with_dashboard:
        server = Server(options.executable, run)
        tabs = [server.connect("/api/v1/jobs/run/events?types=metric,state,topology") for _ in range(options.tabs)]
    drain(tabs, 1)
    begin_ms = time.time() * 1000
    received = drain(tabs, options.seconds)
    end_ms = time.time() * 1000
    for s in tabs:
        s.close()
    if server is not None:
        assert received > 0, "the tabs got nothing"
        server.process.terminate()
        server.process.wait()
    return begin_ms, end_ms


def measure_slowdown(options, run):
    spans = [(phase(options, run, k % 2 == 1), phase(options, run, k % 2 == 0)) for k in range(options.slowdown)]
    time.sleep(2)
    database = sqlite3.connect(f"file:{run}/run.db?mode=ro", uri=True)
    ratios, rates = [], []
    for k, pair in enumerate(spans):
        without, with_one = [steps_per_second(database, *span) for span in (pair if k % 2 == 0 else pair[::-1])]
        ratios.append(without / with_one - 1)
        rates.append(without)
    return {"tabs": options.tabs, "num_csx": options.num_csx, "steps_per_second": round(statistics.median(rates), 1),
            "slower_percent": round(100 * statistics.median(ratios), 3),
            "pairs_percent": [round(100 * r, 2) for r in ratios]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("executable")
    parser.add_argument("--idle", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--tabs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--slowdown", type=int, default=0, metavar="PAIRS")
    parser.add_argument("--num_csx", type=int, default=1)
    parser.add_argument("--core", type=int)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000), hard))
    folder = tempfile.mkdtemp(prefix="cse-load-")
    with open(folder + "/c.yaml", "w") as f:
        f.write(CONFIG.format(batch=options.batch, micro=min(options.batch, 64)))
    all_cores = os.sched_getaffinity(0)
    if options.core is not None:
        os.sched_setaffinity(0, all_cores - {options.core})
    run = subprocess.Popen(
        [options.executable, "start", folder + "/c.yaml", "--model_dir", folder + "/run", "--no_dashboard",
         "--num_csx", str(options.num_csx)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    server = None
    try:
        while not os.path.exists(folder + "/run/run.db"):
            time.sleep(0.1)
        if options.core is not None:
            os.sched_setaffinity(0, {options.core})
        time.sleep(3)
        if options.slowdown:
            print(json.dumps(measure_slowdown(options, folder + "/run")))
            return
        server = Server(options.executable, folder + "/run")
        marks = [time.time() * 1000]
        time.sleep(min(10, options.seconds))
        marks.append(time.time() * 1000)
        report = run_load(server, "run", options)
        marks.append(time.time() * 1000)
        time.sleep(2)
        database = sqlite3.connect(f"file:{folder}/run/run.db?mode=ro", uri=True)
        report["training_steps_per_second"] = [
            round(steps_per_second(database, *span), 2) for span in zip(marks, marks[1:])]
        print(json.dumps(report))
    finally:
        run.send_signal(signal.SIGINT)
        run.wait()
        if server is not None:
            server.process.terminate()
            server.process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
