"""What a run does in its state: a validation is a phase of RUNNING that can be paused, saved and
cancelled like training, with the same bits; and what the loss of a process leaves behind."""
import functools
import os
import signal
import subprocess
import time

import support
from jobs_test import act, history, root_server
from support import API, EXECUTABLE, SLOW, Failure, Server, Stream, as_long, check, configuration, end_jobs, equal

STEPS = 60
VALIDATION = """    val_dataloader:
      data_processor: synthetic
      features: [16]
      classes: 4
      samples: {samples}
      batch_size: 64
      micro_batch_size: 16
"""
BATCHES = as_long(40000)


def validated(batches=BATCHES):
    """Two segments of training, each with a validation that is long enough to be met."""
    text = configuration(STEPS).replace("num_steps: 60", "num_steps: 60, eval_frequency: 30")
    return text + VALIDATION.format(samples=64 * batches)


def start(server, id, config):
    answer = server.request("PUT", f"{API}/jobs/{id}", {"config": config})
    check(answer.status == 201, answer.body)


def wait_until(server, id, what, holds, seconds=60):
    until = time.monotonic() + seconds * SLOW
    while time.monotonic() < until:
        job = server.job(id)
        if holds(job):
            return job
        check(job["state"] not in ("FAILED", "CANCELLED", "SUCCEEDED"), what, job)
        time.sleep(0.01)
    raise Failure(f"{id}: {what} did not come within {seconds} s: {server.job(id)}")


def validating(server, id):
    return wait_until(server, id, "a validation", lambda j: j["phase"] == "validate" and j["phase_steps"])


def digest(server, id):
    """Of the weights at the end, as the run store keeps it."""
    import sqlite3

    with sqlite3.connect(f"file:{server.job(id)['model_dir']}/run.db?mode=ro", uri=True) as db:
        return db.execute("SELECT value FROM run WHERE key = 'weights_digest'").fetchone()[0]


def saved_steps(server, id):
    """(step, time) of each checkpoint; one that is written again has another time."""
    found = server.get(f"{API}/jobs/{id}/checkpoints").json()["checkpoints"]
    return [(c["step"], c["time_ms"]) for c in found]


def shown(server, id):
    """`csengine get job` as text."""
    return subprocess.run(
        [EXECUTABLE, "get", "job", id, *server.named], capture_output=True, text=True, check=True
    ).stdout


@functools.cache
def undisturbed():
    """The digest of a run that nothing happens to."""
    server = root_server()
    try:
        start(server, "plain", validated())
        server.wait_for("plain", "SUCCEEDED")
        return digest(server, "plain")
    finally:
        end_jobs(server)
        server.stop()


def events_of(server, id):
    stream = Stream(server, f"{API}/jobs/{id}/events?types=state,phase&after=0")
    events = []
    while True:
        event = stream.next()
        if event is None or event[1] == "end":
            stream.close()
            return events
        events.append(event)


def a_validation_is_a_phase():
    server = root_server()
    try:
        start(server, "a", validated())
        events = events_of(server, "a")
        states = [e["payload"]["to_state"] for _, kind, e in events if kind == "state"]
        equal(
            [s for s in states if s != "QUEUED"][-4:],
            ["COMPILING", "STARTING", "RUNNING", "SUCCEEDED"],
            "no state of its own",
        )
        phases = [e["payload"] for _, kind, e in events if kind == "phase"]
        names = [p["phase"] for p in phases]
        once = [n for i, n in enumerate(names) if i == 0 or n != names[i - 1]]
        equal(
            once,
            ["compile", "start", "train", "save", "train", "validate", "train", "save", "train", "validate", None],
            "phases in order",
        )
        ids = [id for id, _, _ in events if id]
        equal(ids, sorted(ids), "events in order")
        steps = [(p["step"], p["steps"]) for p in phases if p["phase"] == "validate"]
        check((BATCHES, BATCHES) in steps, "all batches are told", steps)
        check(all(p["steps"] is None for p in phases if p["phase"] == "train"), "of a validation alone")
        times = [p["since_ms"] for p in phases]
        equal(times, sorted(times), "each phase begins after the one before")
    finally:
        end_jobs(server)
        server.stop()


def a_validation_can_be_paused():
    """Paused, saved and resumed: the same bits, and the job says what it does all the time."""
    server = root_server()
    batches = 3 * BATCHES  # time for the first of them to be told, and for the pause
    try:
        wanted = undisturbed()
        start(server, "a", validated(batches))
        before = wait_until(server, "a", "a batch", lambda j: j["phase"] == "validate" and j["phase_step"])
        equal(before["state"], "RUNNING", "the state of a validation")
        equal(before["phase_steps"], batches, "batches")
        check(before["progress"]["eta_seconds"] is None, "no time left in a validation")
        for command in ("pause", "checkpoint", "cancel", "scale"):
            check(command in before["capabilities"], command)
        check("validate, batch" in shown(server, "a"), shown(server, "a"))
        act(server, "a", "pause")
        paused = server.wait_for("a", "PAUSED")
        paused = wait_until(server, "a", "the phase", lambda j: j["phase"] == "paused")
        check(0 < paused["phase_step"] < batches, "paused in the midst of it", paused["phase_step"])
        equal(paused["phase_steps"], batches, "what is paused is known")
        equal(paused["phase_since_ms"], paused["state_since_ms"], "since the pause")
        check(paused["progress"]["eta_seconds"] is None, "no time left while paused")
        text = shown(server, "a")
        check("paused, in a validation, batch" in text and "before" in text, text)
        time.sleep(0.5)
        equal(server.job("a")["phase_step"], paused["phase_step"], "it stands still")
        saved = saved_steps(server, "a")
        act(server, "a", "checkpoint")
        until = time.monotonic() + 20 * SLOW
        while saved_steps(server, "a") == saved and time.monotonic() < until:
            time.sleep(0.05)
        step = server.job("a")["progress"]["step"]
        fresh = [c[0] for c in saved_steps(server, "a") if c not in saved]
        equal(fresh, [step], "a checkpoint of the last step of training")
        act(server, "a", "resume")
        validating(server, "a")
        server.wait_for("a", "SUCCEEDED")
        equal(digest(server, "a"), wanted, "the same bits")
        ended = server.job("a")
        equal((ended["phase"], ended["phase_since_ms"], ended["phase_steps"]), (None, None, None), "ended")
    finally:
        end_jobs(server)
        server.stop()


def a_validation_can_be_cancelled():
    """The last step of training is saved, and the job goes on from it."""
    server = root_server()
    try:
        wanted = undisturbed()
        start(server, "a", validated())
        step = validating(server, "a")["progress"]["step"]
        act(server, "a", "cancel", {"save": True})
        server.wait_for("a", "CANCELLED")
        check(step in [c[0] for c in saved_steps(server, "a")], "saved", step)
        wait_until_ended(server, "a")
        act(server, "a", "resume")
        server.wait_for("a", "SUCCEEDED")
        equal(digest(server, "a"), wanted, "the same bits")
    finally:
        end_jobs(server)
        server.stop()


def wait_until_ended(server, id):
    until = time.monotonic() + 20 * SLOW
    while server.job(id)["alive"] and time.monotonic() < until:
        time.sleep(0.05)


def process_of(server, id, name):
    until = time.monotonic() + 30 * SLOW
    while time.monotonic() < until:
        samples = server.get(f"{API}/jobs/{id}/topology?samples=1").json()["samples"]
        for process in samples[0]["processes"] if samples else []:
            if process["name"] == name and process["pid"] > 0:
                return process["pid"]
        time.sleep(0.05)
    raise Failure(f"no {name}")


def a_lost_process_leaves_a_trace():
    """An input worker while it trains, a replica while it is paused: counted, with what they cost."""
    server = root_server()
    try:
        start(server, "a", configuration(support.LONG))
        server.wait_for("a", "RUNNING")
        equal(server.job("a")["recovery"], {"count": 0, "milliseconds": 0, "last": None}, "none yet")
        os.kill(process_of(server, "a", "input worker 0"), signal.SIGKILL)
        first = wait_until(server, "a", "a recovery", lambda j: j["recovery"]["count"] == 1)["recovery"]
        equal(first["last"]["process"], "input worker 0", "which process")
        check("signal 9" in first["last"]["reason"], first)
        check(0 < first["milliseconds"] == first["last"]["milliseconds"] < 60000, first)
        server.wait_for("a", "RUNNING")
        check("RECOVERING" in history(server, "a"), history(server, "a"))
        text = [
            t["message"]
            for t in server.get(f"{API}/jobs/a/transitions").json()["transitions"]
            if t["to"] == "RECOVERING"
        ]
        check("input worker 0 was killed" in text[0], text)
        check("recoveries" in shown(server, "a") and "input worker 0" in shown(server, "a"), shown(server, "a"))
        act(server, "a", "pause")
        server.wait_for("a", "PAUSED")
        os.kill(process_of(server, "a", "replica 0"), signal.SIGKILL)
        second = wait_until(server, "a", "the other", lambda j: j["recovery"]["count"] == 2)
        equal(second["state"], "PAUSED", "it stands still all the same")
        equal(second["recovery"]["last"]["process"], "replica 0", "which process")
        equal(
            second["recovery"]["milliseconds"],
            first["milliseconds"] + second["recovery"]["last"]["milliseconds"],
            "the costs add up",
        )
        act(server, "a", "resume")
        step = server.job("a")["progress"]["step"]
        wait_until(server, "a", "steps", lambda j: j["progress"]["step"] > step)
        act(server, "a", "cancel", {"save": True})
        server.wait_for("a", "CANCELLED")
        equal(server.job("a")["recovery"]["count"], 2, "known after the end")
    finally:
        end_jobs(server)
        server.stop()


def a_pause_at_the_last_step_stands_still():
    """A pause that comes with the last steps of a segment is not lost."""
    server = root_server()
    try:
        wanted = undisturbed()
        start(server, "a", validated())
        wait_until(server, "a", "training", lambda j: j["phase"] in ("train", "save"))
        act(server, "a", "pause")
        server.wait_for("a", "PAUSED")
        step = server.job("a")["progress"]["step"]
        time.sleep(0.3)
        job = server.job("a")
        equal((job["state"], job["progress"]["step"]), ("PAUSED", step), "it stands still")
        act(server, "a", "resume")
        server.wait_for("a", "SUCCEEDED")
        equal(digest(server, "a"), wanted, "the same bits")
    finally:
        end_jobs(server)
        server.stop()


def a_command_between_two_parts_is_not_lost():
    """While the next part of a run is compiled, here for longer than any request waits."""
    folder = support.folder()
    compiler = f"{folder}/cc"
    with open(compiler, "w") as file:
        file.write('#!/bin/sh\n[ "$1" = --version ] || sleep 4\nexec cc "$@"\n')
    os.chmod(compiler, 0o755)
    server = Server("--root", folder + "/root", environment={"CSE_CC": compiler})
    try:
        wanted = undisturbed()
        start(server, "a", validated())
        wait_until(server, "a", "the last step of the part", lambda j: j["progress"]["step"] == 30)
        act(server, "a", "pause")
        equal(server.job("a")["state"], "RUNNING", "answered while the next part is compiled")
        server.wait_for("a", "PAUSED")
        job = server.job("a")
        equal(job["progress"]["step"], 30, "before the validation's first batch")
        time.sleep(0.3)
        equal(server.job("a")["state"], "PAUSED", "it stands still")
        act(server, "a", "resume")
        server.wait_for("a", "SUCCEEDED")
        equal(digest(server, "a"), wanted, "the same bits")
    finally:
        end_jobs(server)
        server.stop()


if __name__ == "__main__":
    support.main(
        [
            a_validation_is_a_phase,
            a_validation_can_be_paused,
            a_validation_can_be_cancelled,
            a_lost_process_leaves_a_trace,
            a_pause_at_the_last_step_stands_still,
            a_command_between_two_parts_is_not_lost,
        ]
    )
