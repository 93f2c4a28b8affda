"""Each reason of a failure: a job that fails for it, the exit code, and whether --max_num_restarts tries
it again. The tables are those that `csengine list` prints, which the documentation holds."""
import fcntl
import json
import os
import shutil
import signal
import subprocess

import support
from support import API, EXECUTABLE, LONG, Server, check, configuration, end_jobs, equal, until

SOURCE = os.environ["top_srcdir"]
# What a status of the engine makes of a run: its reason and its exit code.
STATUSES = {"CSE_FAILED": ("NUMERICS", 1), "CSE_DIVERGED": ("DIVERGED", 1), "CSE_USAGE": ("CONFIG", 64), "CSE_DATA": ("DATA", 65),
            "CSE_SHAPE": ("CONFIG", 65), "CSE_NO_INPUT": ("DATA", 66), "CSE_UNAVAILABLE": ("PEER_LOST", 69),
            "CSE_INTERNAL": ("INTERNAL", 70), "CSE_CANNOT_CREATE": ("CANNOT_CREATE", 73), "CSE_IO": ("STORAGE", 74),
            "CSE_TEMPORARY": ("NO_RESOURCES", 75), "CSE_PREEMPTED": ("PREEMPTED", 75), "CSE_PERMISSION": ("REFUSED", 77),
            "CSE_CONFIG": ("CONFIG", 78), "CSE_TIME_LIMIT": ("TIME_LIMIT", 124)}


def table(name):
    return json.loads(subprocess.run([EXECUTABLE, "list", name, "--json"], capture_output=True, check=True).stdout)


REASONS = {row["reason"]: row for row in table("reasons")}
REACHED = set()


class Place:
    def __init__(self, *arguments, environment=None):
        self.top = support.folder()
        self.root, self.allowed = f"{self.top}/root", f"{self.top}/allowed"
        os.makedirs(self.root)
        os.makedirs(self.allowed)
        self.server = Server("--root", self.root, "--cores", "64", *(a.format(place=self) for a in arguments),
                             environment=environment)

    def put(self, id, text=None, restarts=1, **more):
        body = {"restart_policy": {"max_num_restarts": restarts}, **more}
        if "program" not in more:
            body["config"] = text or configuration(LONG)
        answer = self.server.request("PUT", f"{API}/jobs/{id}", body)
        equal(answer.status, 201, answer.body)

    def ends(self, id, reason, *codes):
        """FAILED for the reason, with one of the exit codes, after as many attempts as the table says."""
        row = REASONS[reason]
        until(lambda: (job := self.server.job(id))["ended_ms"] is not None and not job["alive"])
        job = self.server.job(id)
        equal((job["state"], job["reason"]), ("FAILED", reason), f"{id}: {job['message']}")
        equal(job["retryable"], row["retryable"], id)
        equal((job["attempt"], job["restarts"]), (2, 1) if row["retryable"] else (1, 0), id)
        check(job["exit_code"] in codes, id, job["exit_code"], "is none of", codes)
        allowed = {row["exit_code"], *(int(code) for code in row["also"].split(", ") if code)}
        check(set(codes) <= allowed, reason, codes, "are not in the table:", row)
        REACHED.add(reason)
        return job

    def stop(self):
        end_jobs(self.server)
        self.server.stop()


def each_status_has_its_reason():
    place = Place("--allow_library", "{place.allowed}")
    try:
        codes = {(row["exit_code"], row["retryable"]) for row in table("exit_codes")}
        library = f"{place.allowed}/failing.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-I{SOURCE}/include", "-o", library,
                        f"{SOURCE}/tests/dashboard/libraries/failing.c"], check=True)
        place.put("compiles-once", configuration(2))
        place.server.wait_for("compiles-once", "SUCCEEDED")
        for status, (reason, code) in STATUSES.items():
            check((code, REASONS[reason]["retryable"]) in codes, status, "may be retried by one table, and not by the other")
            name = status.lower().replace("_", "-")
            place.put(name, configuration(LONG).replace(
                "log_steps: 100000", "log_steps: 1").replace(
                "    seed: 1", f"    callbacks: [ {{ library: {library}, name: Failing, status: {status} }} ]\n    seed: 1"))
        for status, (reason, code) in STATUSES.items():
            place.ends(status.lower().replace("_", "-"), reason, code)
    finally:
        place.stop()


def table_of(rows):
    return "a,b,c\n" + "".join(f"{i},{i % 3},1\n" for i in range(rows))


CSV = """trainer:
  init:
    model: {{ name: fc_mnist, input_size: 2, hidden_sizes: [8], num_classes: 3 }}
    optimizer: {{ SGD: {{ lr: 0.01 }} }}
    loop: {{ num_steps: 5 }}
{init}  fit:
    train_dataloader: {{ data_processor: csv, path: {path}, label: b, batch_size: 8 }}
"""


def causes_before_a_run_has_a_store():
    """What has changed since a job was taken, and what nobody can know when it is."""
    place = Place("--data_root", "{place.allowed}", "--allow_program", "{place.allowed}")
    names = ("missing", "damaged", "link", "held")
    try:
        place.server.stop()
        place.server.arguments[place.server.arguments.index("--cores") + 1] = "1"
        place.server.start()
        place.put("first")
        place.server.wait_for("first", "RUNNING")
        with open(f"{place.allowed}/good.csv", "w") as f:
            f.write(table_of(64))
        for name in names:
            path = shutil.copy(f"{place.allowed}/good.csv", f"{place.allowed}/{name}.csv")
            logger = "    loggers: [ { CSVLogger: { path: sub/x.csv } } ]\n" if name == "link" else ""
            place.put(name, CSV.format(path=path, init=logger))
        place.put("no-folder", CSV.format(path=f"{place.allowed}/good.csv",
                                          init="    loggers: [ { CSVLogger: { path: none/x.csv } } ]\n"))
        os.unlink(f"{place.allowed}/missing.csv")
        with open(f"{place.allowed}/damaged.csv", "w") as f:
            f.write("no,numbers\n")
        os.symlink(place.allowed, f"{place.root}/link/sub")
        held = open(f"{place.root}/held/run.lock", "w")
        fcntl.flock(held, fcntl.LOCK_EX)
        place.server.request("POST", f"{API}/jobs/first/kill")
        place.ends("missing", "DATA", 66)
        place.ends("damaged", "DATA", 65)
        place.ends("link", "REFUSED", 77)
        place.ends("held", "NO_RESOURCES", 75)
        place.ends("no-folder", "CANNOT_CREATE", 73)
        held.close()
        # A program may end as it likes.
        shell = shutil.copy("/bin/sh", f"{place.allowed}/shell")
        for name, code, reason in (("own", 3, "PROGRAM"), ("one", 1, "PROGRAM"), ("refused", 77, "REFUSED"), ("full", 74, "STORAGE"),
                                   ("limit", 71, "SYSTEM_LIMIT")):
            place.put(name, program=shell, arguments=["-c", f"exit {code}"])
            until(lambda: not (job := place.server.job(name))["alive"] and job["ended_ms"] is not None)
            equal((place.server.job(name)["reason"], place.server.job(name)["exit_code"]), (reason, code), name)
            equal(place.server.job(name)["attempt"], 2 if REASONS[reason]["retryable"] else 1)
            REACHED.add(reason)
    finally:
        place.stop()


def causes_in_a_run():
    place = Place()
    try:
        place.put("numerics", overrides={"optimizer.SGD.lr": 1e6})
        place.put("diverged", configuration(20), overrides={"loop.diverged_factor": 1e-6})
        place.put("time", overrides={"backend.cluster_config.job_time_sec": 1})
        place.put("preempted")
        for _ in range(2):
            until(lambda: (place.server.job("preempted")["progress"] or {}).get("step"))
            attempt = place.server.job("preempted")["attempt"]
            os.kill(place.server.job("preempted")["pid"], signal.SIGUSR1)
            until(lambda: (job := place.server.job("preempted"))["attempt"] > attempt or job["ended_ms"] is not None)
            until(lambda: (job := place.server.job("preempted"))["state"] in ("RUNNING", "FAILED"))
        place.ends("numerics", "NUMERICS", 1)
        place.ends("diverged", "DIVERGED", 1)
        place.ends("time", "TIME_LIMIT", 124)
        place.ends("preempted", "PREEMPTED", 75)
    finally:
        place.stop()


def causes_of_the_surroundings():
    compiler = support.folder() + "/cc"
    with open(os.open(compiler, os.O_WRONLY | os.O_CREAT, 0o755), "w") as f:
        f.write("#!/bin/sh\ncase $* in *--version*) exec cc --version;; esac\nexit 1\n")
    place = Place(environment={"CSE_CC": compiler})
    other = configuration(5).replace("hidden_sizes: [32]", "hidden_sizes: [33]").replace(support.COMPILED, "compiled")
    try:
        place.put("compile", other)
        place.put("compile-only", other, compile_only=True)
        place.ends("compile", "COMPILE", 1)
        place.ends("compile-only", "COMPILE", 1)
    finally:
        place.stop()
    place = Place(environment={"CSENGINE_EXECUTABLE": "/nowhere/csengine"})
    try:
        place.put("worker")
        place.ends("worker", "PEER_LOST", 69)
    finally:
        place.stop()


def what_cannot_be_is_refused_when_it_is_asked_for():
    place = Place()
    try:
        text = configuration(5).replace("backend: {", "backend: { cluster_config: { hosts: [a, b] },")
        for answer in (place.server.request("PUT", f"{API}/jobs/hosts", {"config": text}),
                       place.server.request("PUT", f"{API}/jobs/hosts", {"config": configuration(5), "overrides": {
                           "backend.cluster_config.hosts": "[a, b]"}})):
            equal(answer.status, 422, answer.body)
            check("on this host alone" in answer.json()["errors"][0]["message"], answer.body)
        place.put("first", configuration(5))
        place.server.wait_for("first", "SUCCEEDED")
        other = configuration(5).replace("hidden_sizes: [32]", "hidden_sizes: [33]")
        place.put("from", other, resume_from={"job": "first"})
        until(lambda: place.server.job("from")["ended_ms"] is not None)
        job = place.server.job("from")
        equal((job["state"], job["retryable"], job["attempt"]), ("FAILED", False, 1), job["message"])
        check(job["reason"] in ("CONFIG", "DATA"), job)
    finally:
        place.stop()


def each_reason_is_reached():
    # A process that is killed is started again whatever its policy: jobs_test.py.
    equal(set(REASONS) - REACHED, {"INTERRUPTED"})


if __name__ == "__main__":
    support.main([each_status_has_its_reason, causes_before_a_run_has_a_store, causes_in_a_run, causes_of_the_surroundings,
                  what_cannot_be_is_refused_when_it_is_asked_for, each_reason_is_reached])
