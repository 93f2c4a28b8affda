"""What happened to a run, and at which step: replaced processes, pauses, other settings at a resume. The step is
that of the curves at the time."""
import os
import signal
import sqlite3
import subprocess

from support import *


def points(root, job):
    """(attempt, step, time_ms) of the loss, with those that a later attempt did again."""
    with sqlite3.connect(f"file:{root}/{job}/run.db?mode=ro", uri=True) as db:
        return db.execute(
            "SELECT attempt, step, time_ms FROM (SELECT * FROM points UNION ALL SELECT * FROM superseded)"
            " WHERE series = (SELECT id FROM series WHERE name = 'loss')"
        ).fetchall()


def step_by(rows, time_ms):
    """The last step until then: of the newest attempt that had begun."""
    attempts = {attempt for attempt, _, time in rows if time <= time_ms}
    steps = [step for attempt, step, time in rows if time <= time_ms and attempt == max(attempts)]
    return max(steps) if steps else None


def read(server, job, what):
    answer = server.get(f"{API}/jobs/{job}/{what}")
    equal(answer.status, 200, answer.body)
    return answer.json()[what]


def replica_of(server, job):
    samples = server.get(f"{API}/jobs/{job}/topology?samples=1").json()["samples"]
    found = [p for s in samples for p in s["processes"] if p["role"] == "replica" and p["pid"]]
    return found[0] if found else None


def a_run_with_a_history():
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    server.request("PUT", f"{API}/jobs/a", {"config": configuration(as_long(LONG), checkpoint=1000)})
    server.wait_for("a", "RUNNING")
    replica = until(lambda: replica_of(server, "a"))
    os.kill(replica["pid"], signal.SIGKILL)
    lost = until(lambda: read(server, "a", "membership"))
    equal(len(lost), 1, lost)
    equal((lost[0]["what"], lost[0]["name"], lost[0]["change"]), ("process", replica["name"], "replaced"))
    check("signal 9" in lost[0]["reason"] or "ended" in lost[0]["reason"], lost[0])
    check(lost[0]["milliseconds"] >= 0, lost[0])
    server.wait_for("a", "RUNNING")
    server.request("POST", f"{API}/jobs/a/pause", {"message": "lunch"})
    server.wait_for("a", "PAUSED")
    server.request("POST", f"{API}/jobs/a/resume", {})
    server.wait_for("a", "RUNNING")
    server.request("POST", f"{API}/jobs/a/cancel", {})
    done = server.wait_for("a", "CANCELLED")["progress"]["step"]
    until(lambda: not server.job("a")["alive"])

    # Somebody goes on with it, with another rate and for some steps more.
    submitted = os.path.join(root, "a", "submitted.yaml")
    started = subprocess.run(
        [EXECUTABLE, "start", submitted, "--model_dir", os.path.join(root, "a"), "--set",
         "trainer.init.optimizer.SGD.lr=0.02", "--set", f"trainer.init.loop.num_steps={done + 40}"],
        capture_output=True, text=True, timeout=120 * SLOW,
    )
    equal(started.returncode, 0, started.stdout + started.stderr)
    rows = points(root, "a")
    transitions = read(server, "a", "transitions")
    for one in transitions + read(server, "a", "membership"):
        equal(one["step"], step_by(rows, one["time_ms"]), one)
    paused = [t for t in transitions if t["to"] == "PAUSED"]
    check(len(paused) == 1 and 0 < paused[0]["step"] <= done, paused)
    again = [t for t in transitions if t["origin"] == "run" and t["to"] == "COMPILING" and t["attempt"] > 1]
    equal(len(again), 1, transitions)
    check(again[0]["message"].startswith("settings changed: "), again)
    check("optimizer.SGD.lr: 0.01 -> 0.02" in again[0]["message"], again)
    check("loop.num_steps: " in again[0]["message"], again)
    equal(again[0]["message"].count("->"), 2, again)
    server.stop()


def an_undisturbed_run():
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    server.request("PUT", f"{API}/jobs/a", {"config": configuration(8)})
    server.wait_for("a", "SUCCEEDED")
    equal(read(server, "a", "membership"), [])
    transitions = read(server, "a", "transitions")
    equal(transitions[0]["step"], None, transitions)
    equal(transitions[-1]["step"], 8, transitions)
    check(not [t for t in transitions if "settings" in t["message"]], transitions)
    server.stop()


if __name__ == "__main__":
    main([a_run_with_a_history, an_undisturbed_run])
