"""A full disk: a job continues to train, and clients are told which data are missing; the server
refuses requests that it could not store, and continues to serve the others."""
import errno
import json
import os
import resource
import sqlite3
import subprocess
import time

import support
from support import API, LONG, Failure, Server, Stream, check, configuration, end_jobs, equal, fits

SMALL_DISK = os.environ.get("CSE_SMALL_DISK") == "yes"
PATCH = {"Content-Type": "application/merge-patch+json", "If-Match": "*"}
DISK_MIB = 96  # readiness wants 64 MiB of free space


def wait(what, ask, seconds=90):
    """What `ask` gives once it gives something."""
    until = time.monotonic() + seconds * support.SLOW
    while time.monotonic() < until:
        got = ask()
        if got:
            return got
        time.sleep(0.1)
    raise Failure("never:", what)


class Limit:
    """No room for what a process writes behind the first `bytes` of any file."""

    def __init__(self, pid, bytes):
        self.pid, self.before = pid, resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (bytes, self.before[1]))

    def free(self):
        try:
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, self.before)
        except ProcessLookupError:
            pass


class Disk:
    """A small file system, and a file in it that takes all of its room."""

    def __init__(self, path):
        self.path = path
        os.makedirs(path)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "none", path], check=True)

    def fill(self):
        with open(self.path + "/ballast", "ab", buffering=0) as ballast:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        ballast.write(b"x" * size)
                except OSError as error:
                    equal(error.errno, errno.ENOSPC)

    def free(self):
        if os.path.exists(self.path + "/ballast"):
            os.unlink(self.path + "/ballast")

    def remove(self):
        subprocess.run(["umount", "-l", self.path], check=False)


def put(server, id, steps=LONG, checkpoint=1000000):
    answer = server.request("PUT", f"{API}/jobs/{id}", {"config": configuration(steps, checkpoint)})
    equal(answer.status, 201, answer.body)


def act(server, id, command, body=None):
    answer = server.request("POST", f"{API}/jobs/{id}/{command}", body)
    equal(answer.status, 202, f"{command}: {answer.body}")


def of_store(server, id, sql):
    path = server.job(id)["model_dir"] + "/run.db"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return db.execute(sql).fetchone()[0]


def coordinator_of(server, id):
    return int(of_store(server, id, "SELECT value FROM run WHERE key = 'pid'"))


def running(server, id):
    server.wait_for(id, "RUNNING", seconds=120)
    return wait("steps are taken", lambda: (server.job(id)["progress"]["step"] or 0) > 10)


def failing(server, id):
    return wait("the job says that its store cannot be written", lambda: server.job(id)["store_failure"])


def goes_on(server, id):
    """Steps are taken that the store knows nothing of."""
    stored = int(of_store(server, id, "SELECT value FROM run WHERE key = 'last_step'"))
    for _ in range(2):
        before = server.job(id)["progress"]["step"]
        wait("training goes on", lambda: server.job(id)["progress"]["step"] > max(before, stored))
    job = server.job(id)
    check(job["alive"] and job["progress"]["loss"] is not None, job)
    check(job["progress"]["minimum_loss"] <= job["progress"]["loss"], job["progress"])
    return job


def told_live(server, id):
    """Points of steps that are not in the store come with the events, and what is between is said to
    be missing."""
    stored = int(of_store(server, id, "SELECT max(step) FROM points"))
    stream = Stream(server, f"{API}/jobs/{id}/events?types=metric", timeout=60)
    equal(stream.status, 200)
    gaps = []
    for _ in range(1000):
        event = stream.next()
        if event[1] == "gap":
            gaps.append(event[2]["payload"])
        elif max(point[0] for point in event[2]["payload"]["series"].get("loss", [[0]])) > stored:
            break
    else:
        raise Failure("no live event is newer than the store")
    stream.close()
    check(len(gaps) == 1 and gaps[0]["from"] <= gaps[0]["to"], gaps)


def nothing_is_lost_unsaid(server, id):
    """Each step has its point, but for those that an event `gap` counts."""
    last = server.job(id)["progress"]["step"]
    points = of_store(server, id, "SELECT count(DISTINCT step) FROM points JOIN series ON id = series"
                                  " WHERE name = 'loss'")
    told = of_store(server, id, "SELECT coalesce(sum(json_extract(payload, '$.points')), 0) FROM events"
                                " WHERE type = 'gap'")
    check(0 <= last - points <= told, f"{last} steps, {points} points, {told} said to be lost")


def a_job_without_room_trains_on_and_says_so():
    server = Server("--root", support.folder() + "/root")
    try:
        document = server.get("/openapi.json").json()
        put(server, "runs")
        running(server, "runs")
        equal(server.job("runs")["store_failure"], None)
        begin_ms = time.time() * 1000
        # The block beside the store is within the limit; no page of the database is.
        limit = Limit(coordinator_of(server, "runs"), 4096)
        failure = failing(server, "runs")
        check(begin_ms - 1000 < failure["since_ms"] <= time.time() * 1000, failure)
        check(failure["message"], failure)
        job = goes_on(server, "runs")
        equal(fits(document, document["components"]["schemas"]["Job"], job), [])
        told_live(server, "runs")
        shown = subprocess.run([support.EXECUTABLE, "get", "job", "runs", *server.named], capture_output=True,
                               timeout=60 * support.SLOW)
        check(b"not recorded since" in shown.stdout, shown)
        check('csengine_job_store_failing{job="runs",name="runs"} 1' in server.get("/metrics").body.decode(), "figures")
        topology = server.get(f"{API}/jobs/runs/topology").json()
        check("cannot be written" in topology["missing"], topology)
        # Its state is known although no transition finds room.
        act(server, "runs", "pause")
        server.wait_for("runs", "PAUSED")
        act(server, "runs", "resume")
        server.wait_for("runs", "RUNNING")
        goes_on(server, "runs")
        limit.free()
        wait("the store is written again", lambda: server.job("runs")["store_failure"] is None)
        check('csengine_job_store_failing{job="runs",name="runs"} 0' in server.get("/metrics").body.decode(), "figures")
        act(server, "runs", "cancel")
        server.wait_for("runs", "CANCELLED")
        wait("its end", lambda: server.job("runs")["ended_ms"])
        states = [t["to"] for t in server.get(f"{API}/jobs/runs/transitions").json()["transitions"]]
        check("PAUSED" in states and states[-1] == "CANCELLED", states)
        nothing_is_lost_unsaid(server, "runs")
        check(not os.path.exists(server.job("runs")["model_dir"] + "/run.behind"), "the block stays behind")
    finally:
        end_jobs(server)
        server.stop()


def missed_checkpoints(server, id):
    """Training goes on past checkpoints that find no room, whoever asked for them, and says so."""
    act(server, id, "checkpoint")
    begin = server.job(id)["progress"]["step"]
    wait("checkpoints are passed", lambda: server.job(id)["progress"]["step"] > begin + 10000, 180)
    stream = Stream(server, f"{API}/jobs/{id}/events?types=log", timeout=60)
    for _ in range(1000):
        line = stream.next()[2]["payload"]
        if "message" in line and "goes on without it" in line["message"]:
            break
    else:
        raise Failure("no line about a missed checkpoint")
    equal(line["level"], "warning")
    stream.close()


def refused(server, method, path, body=None, headers=None):
    answer = server.request(method, path, body, headers)
    equal(answer.status, 503, f"{method} {path}: {answer.body}")
    equal(answer.headers["Content-Type"], "application/problem+json")
    check("room" in answer.json()["detail"], answer.body)


def reads_go_on(server):
    for path in (f"{API}/jobs", f"{API}/jobs/runs", f"{API}/jobs/ended", f"{API}/jobs/runs/transitions",
                 f"{API}/jobs/runs/metrics", f"{API}/jobs/runs/logs", f"{API}/jobs/runs/topology",
                 f"{API}/jobs/runs/config", f"{API}/jobs/runs/graph", f"{API}/jobs/runs/checkpoints",
                 f"{API}/audit", f"{API}/cluster", f"{API}/version", "/healthz", "/metrics", "/openapi.json"):
        equal(server.get(path).status, 200, path)
    ready = server.get("/readyz")
    equal(ready.status, 503)
    equal({c["name"]: c["ok"] for c in ready.json()["checks"]}["database"], False, ready.body)


def the_server_refuses_what_it_could_not_keep():
    root = support.folder() + "/disk"
    disk = Disk(root) if SMALL_DISK else None
    server = Server("--root", root, "--cores", "1")
    try:
        put(server, "ended")
        running(server, "ended")
        act(server, "ended", "cancel")
        wait("the job's process ends", lambda: "resume" in server.job("ended")["capabilities"])
        put(server, "runs", checkpoint=5000)
        running(server, "runs")
        put(server, "waits", steps=50)
        tag = server.get(f"{API}/jobs/ended").headers["ETag"]
        before = sorted(os.listdir(root))
        if disk:
            disk.fill()
        else:
            limits = [Limit(coordinator_of(server, "runs"), 4096), Limit(server.process.pid, 0)]
        failing(server, "runs")
        if disk:
            disk.fill()  # the room that the run kept for its end, too
            failing(server, "runs")
        body = {"config": configuration(50)}
        refused(server, "POST", f"{API}/jobs", body)
        refused(server, "PUT", f"{API}/jobs/new", body)
        refused(server, "PATCH", f"{API}/jobs/waits", {"name": "other"}, PATCH)
        refused(server, "POST", f"{API}/jobs/waits/cancel")
        refused(server, "POST", f"{API}/jobs/ended/resume")
        waits = server.job("waits")
        equal((waits["state"], waits["name"], server.job("ended")["state"]), ("QUEUED", "waits", "CANCELLED"))
        equal([n for n in sorted(os.listdir(root)) if n != "ballast"], before)
        reads_go_on(server)
        goes_on(server, "runs")
        missed_checkpoints(server, "runs")
        # What the job itself can do needs no room of the server's.
        act(server, "runs", "pause")
        server.wait_for("runs", "PAUSED")
        act(server, "runs", "resume")
        server.wait_for("runs", "RUNNING")
        if disk:
            answer = server.request("DELETE", f"{API}/jobs/ended", headers={"If-Match": tag})
            equal(answer.status, 204, answer.body)
            disk.free()
        else:
            for limit in limits:
                limit.free()
        wait("the store is written again", lambda: server.job("runs")["store_failure"] is None)
        equal({c["name"]: c["ok"] for c in server.get("/readyz").json()["checks"]}["database"], True)
        equal(server.request("POST", f"{API}/jobs", body).status, 201)
        act(server, "runs", "cancel")
        server.wait_for("runs", "CANCELLED")
        server.wait_for("waits", "SUCCEEDED")
        # And so it is written.
        server.kill()
        server.start()
        states = {j["id"]: j["state"] for j in server.get(f"{API}/jobs").json()["jobs"]}
        equal((states["runs"], states["waits"], "ended" in states), ("CANCELLED", "SUCCEEDED", not disk))
        nothing_is_lost_unsaid(server, "runs")
    finally:
        if disk:
            disk.free()
        end_jobs(server)
        server.stop()
        if disk:
            disk.remove()


if __name__ == "__main__":
    support.main([a_job_without_room_trains_on_and_says_so, the_server_refuses_what_it_could_not_keep])
