"""What a run tells of its host over time, against what the system says; and its trace, against what Chrome's trace
event format and Perfetto's importer of it ask for."""
import json
import os
import subprocess
import time

import support
from support import API, Server, check, equal

NAMES = ["cores", "clock", "memory", "disk", "network", "temperature"]
FIGURES_OF = {
    "cores": ["busy"],
    "clock": ["clock_mhz", "clock_least_mhz"],
    "memory": ["memory_bytes", "memory_free_bytes"],
    "disk": [],
    "network": [],
    "temperature": ["temperature_celsius"],
}
STEPS = 2_000_000_000


def total_memory():
    with open("/proc/meminfo") as f:
        return int(f.readline().split()[1]) * 1024


class Run:
    """A run that takes steps until it is ended, and a server over it."""

    def __init__(self):
        self.folder = support.folder()
        with open(f"{self.folder}/config.yaml", "w") as f:
            f.write(support.configuration(STEPS))
        self.process = subprocess.Popen(
            [support.EXECUTABLE, "start", f"{self.folder}/config.yaml", "--model_dir", f"{self.folder}/run1",
             "--no_dashboard"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        self.server = None

    def serve(self):
        """Once the run has made its store."""
        end = time.monotonic() + 60 * support.SLOW
        while True:
            try:
                self.server = Server("--run", f"{self.folder}/run1")
                return self.server
            except support.Failure:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.3)

    def wait_for(self, count):
        """Until so many samples of the host are there."""
        end = time.monotonic() + 90 * support.SLOW
        while time.monotonic() < end:
            answer = self.server.get(f"{API}/jobs/run1/machine").json()
            if answer.get("hosts") and len(answer["hosts"][0]["time_ms"]) >= count:
                return answer
            time.sleep(0.3)
        raise AssertionError("no samples of the host came")

    def stop(self):
        self.process.terminate()
        self.process.wait(60 * support.SLOW)
        if self.server is not None:
            self.server.stop()


def a_host_is_told_as_the_system_has_it(run, server):
    answer = run.wait_for(3)
    equal(answer["missing"], None)
    (host,) = answer["hosts"]
    equal(host["name"], os.uname().nodename)
    count = len(host["time_ms"])
    equal(host["time_ms"], sorted(host["time_ms"]))
    check(all(b - a >= 1900 for a, b in zip(host["time_ms"], host["time_ms"][1:])), "two seconds apart", host["time_ms"])
    check(abs(host["time_ms"][-1] - 1000 * time.time()) < 60_000 * support.SLOW, "times are of now")
    for name, values in host["figures"].items():
        equal(len(values), count, name)
        check(all(v is None or v >= 0 for v in values), name, values)
    for part in NAMES:
        for figure in FIGURES_OF[part]:
            told = [v for v in host["figures"][figure] if v is not None]
            check((part in host["not_readable"]) == (told == []), "told, or named as not readable", part, figure, told)
    equal(host["figures"]["memory_bytes"][-1], total_memory())
    check(all(0 <= v <= 1 for v in host["figures"]["busy"]), host["figures"]["busy"])
    for cores in host["cores"]:
        check(cores is None or (all(0 <= v <= 1 for v in cores)), cores)
    few = server.get(f"{API}/jobs/run1/machine?max_points=1").json()["hosts"][0]
    equal(len(few["time_ms"]), 1)
    equal(len(few["figures"]["busy"]), 1)
    samples = server.get(f"{API}/jobs/run1/topology?samples=60").json()["samples"]
    with_machine = [s for s in samples if "machine" in s]
    check(0 < len(with_machine) < len(samples), "one in several samples tells it", len(with_machine), len(samples))


def a_trace_is_of_chromes_format(server):
    """The members that the format demands of each phase, and lanes whose spans do not cross: an importer that nests
    the spans of a lane drops what crosses."""
    reply = server.get(f"{API}/jobs/run1/trace")
    equal(reply.status, 200)
    trace = json.loads(reply.body)
    equal(trace["displayTimeUnit"], "ms")
    events = trace["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    processes = [e for e in events if e["ph"] == "M" and e["name"] == "process_name"]
    equal([(e["pid"], e["args"]["name"]) for e in processes], [(1, "run1")])
    spans = [e for e in events if e["ph"] == "X"]
    check(spans and len(set(names.values())) == len(names), "spans, lanes of distinct names")
    equal({e["ph"] for e in events}, {"M", "X"})
    lanes = {}
    for e in spans:
        for member in ("name", "cat", "ph", "ts", "dur", "pid", "tid"):
            check(member in e, member, e)
        check(isinstance(e["pid"], int) and isinstance(e["tid"], int) and e["dur"] >= 0, e)
        check((e["pid"], e["tid"]) in names, "each lane has a name", e)
        lanes.setdefault(e["tid"], []).append(e)
    for lane in lanes.values():
        lane.sort(key=lambda e: e["ts"])
        for a, b in zip(lane, lane[1:]):
            check(a["ts"] + a["dur"] <= b["ts"] + 0.01, "one after another", a, b)
    equal(sorted({e["args"]["step"] for e in spans}), sorted(set(trace["steps"])))


def what_a_run_tells():
    """One run for both: it takes a processor until it is ended."""
    run = Run()
    try:
        server = run.serve()
        a_host_is_told_as_the_system_has_it(run, server)
        a_trace_is_of_chromes_format(server)
    finally:
        run.stop()


def a_run_without_samples_says_so():
    folder = support.folder()
    with open(f"{folder}/config.yaml", "w") as f:
        f.write(support.configuration(10))
    subprocess.run(
        [support.EXECUTABLE, "start", f"{folder}/config.yaml", "--model_dir", f"{folder}/run1", "--no_dashboard"],
        capture_output=True, timeout=240 * support.SLOW, check=True,
    )
    server = Server("--run", f"{folder}/run1")
    try:
        answer = server.get(f"{API}/jobs/run1/machine").json()
        equal(answer["hosts"], [])
        check("no sample of a host" in answer["missing"], answer)
    finally:
        server.stop()


if __name__ == "__main__":
    support.main([what_a_run_tells, a_run_without_samples_says_so])
