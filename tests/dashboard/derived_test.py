"""What the server keeps of ended runs (derived.db): it is there without a question, the next server
takes it from there, and what has changed, is damaged or of another run is read anew."""
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time

from support import *

COUNT = 12
MANY = os.path.join(os.environ.get("top_srcdir", "."), "tests", "support", "many_runs.py")
FACTS, VALUES = 0, 1


def derived(root):
    return os.path.join(root, "derived.db")


def entries(root):
    """(job, kind): (source, content), of an entry whose digest is right."""
    with sqlite3.connect(f"file:{derived(root)}?mode=ro", uri=True) as db:
        rows = db.execute("SELECT job, kind, source, content, digest FROM derived").fetchall()
    for job, kind, source, content, digest in rows:
        equal(digest, digest_of(job, kind, source, content), "digest")
    return {(job, kind): (source, content) for job, kind, source, content, _ in rows}


def digest_of(*parts):
    text = b"".join(str(part).encode() + b"\0" for part in parts)
    return hashlib.blake2b(text, digest_size=32).digest()


def wait_for_entries(root, count):
    until(lambda: os.path.exists(derived(root)) and len(entries(root)) == count)


def rewrite(root, job, kind, change, whole=True):
    """Changes the content of an entry; without `whole` its digest is no longer right."""
    source, content = entries(root)[job, kind]
    content = json.dumps(change(json.loads(content)))
    digest = digest_of(job, kind, source, content) if whole else b"0" * 32
    with sqlite3.connect(derived(root)) as db:
        db.execute(
            "UPDATE derived SET content = ?, digest = ? WHERE job = ? AND kind = ?",
            (content, digest, job, kind),
        )
    db.close()


def losses(server):
    answer = server.get(f"{API}/experiments?columns=last(loss)").json()
    return {row["id"]: row["values"][0] for row in answer["rows"]}


def with_loss(value):
    def change(values):
        values["metrics"]["loss"]["last"] = value
        return values

    return change


def change_store(root, job, value):
    """As a run that somebody went on with elsewhere: its file is written to."""
    with sqlite3.connect(os.path.join(root, job, "run.db")) as db:
        db.execute(
            "UPDATE points SET value = ? WHERE series = (SELECT id FROM series WHERE name = 'loss') "
            "AND step = (SELECT max(step) FROM points)",
            (value,),
        )
        db.execute("DELETE FROM buckets")
    db.close()


def make_root():
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    # Each setting that many_runs.py changes stands on a line of its own.
    config = configuration(8).replace("{ SGD: { lr: 0.01 } }", "\n      SGD:\n        lr: 0.01")
    submitted = server.request("PUT", f"{API}/jobs/seed", {"config": config})
    equal(submitted.status, 201, submitted.body)
    server.wait_for("seed", "SUCCEEDED", seconds=120)
    wait_for_entries(root, 2)  # nobody has asked for its values
    server.stop()
    subprocess.run([sys.executable, MANY, root, "seed", str(COUNT)], check=True)
    time.sleep(1.2)  # what was written a moment ago is not kept
    return root


def kept_values():
    root = make_root()
    everything = 2 * (COUNT + 1)
    server = Server("--root", root)
    wait_for_entries(root, everything)
    before = losses(server)
    equal(len(before), COUNT + 1, "rows")
    server.stop()

    # The next server takes them from the file; a damaged entry and that of a changed run it does not.
    rewrite(root, "run-0001", VALUES, with_loss(1234.5))
    rewrite(root, "run-0002", VALUES, with_loss(1234.5), whole=False)
    change_store(root, "run-0003", 4321.5)
    time.sleep(1.2)
    server = Server("--root", root)
    now = losses(server)
    equal(now["run-0001"], 1234.5, "a kept entry")
    equal(now["run-0002"], before["run-0002"], "a damaged entry")
    equal(now["run-0003"], 4321.5, "the entry of a changed run")
    equal(now["run-0004"], before["run-0004"], "another one")
    wait_for_entries(root, everything)

    # While the server runs: a run is written to, and one is replaced by another's store.
    change_store(root, "run-0004", 77.5)
    equal(losses(server)["run-0004"], 77.5, "written to while the server runs")
    store = os.path.join(root, "run-0005", "run.db")
    shutil.copyfile(os.path.join(root, "run-0003", "run.db"), store + ".new")
    os.rename(store + ".new", store)
    equal(losses(server)["run-0005"], 4321.5, "replaced while the server runs")

    # A job that is removed leaves nothing.
    revision = server.get(f"{API}/jobs/run-0006").headers["ETag"]
    answer = server.request("DELETE", f"{API}/jobs/run-0006", headers={"If-Match": revision})
    equal(answer.status, 204, answer.body)
    check(not [key for key in entries(root) if key[0] == "run-0006"], "entries of a removed job")
    server.stop()

    # A file that is no database, and one that cannot be made: the table is the same.
    for damage in ("text", "cut", "folder"):
        path = derived(root)
        if damage == "text":
            with open(path, "w") as f:
                f.write("this is not a database, but long enough to look like one\n" * 100)
        elif damage == "cut":
            os.truncate(path, os.path.getsize(path) // 2 + 100)
        else:
            for end in ("", "-wal", "-shm"):
                if os.path.exists(path + end):
                    os.remove(path + end)
            os.makedirs(os.path.join(path, "held"))
        server = Server("--root", root)
        now = losses(server)
        equal(len(now), COUNT, f"{damage}: rows")
        equal(now["run-0007"], before["run-0007"], damage)
        if damage != "folder":
            wait_for_entries(root, 2 * COUNT)
        server.stop()


def transitions(server, job):
    return [(t["from"], t["to"]) for t in
            server.get(f"{API}/jobs/{job}/transitions").json()["transitions"]]


def known_of(job):
    """What stays known of a run: not what follows from the folder itself."""
    return {name: job[name] for name in ("state", "reason", "phase", "alive", "model", "progress",
                                         "started_ms", "ended_ms", "ran_ms", "health")}


def removed_folders():
    """A job whose folder was removed is what it was: for the server that saw it, and for the next."""
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    for job, steps in (("done", 8), ("ended", as_long(LONG)), ("whole", 8)):
        submitted = server.request("PUT", f"{API}/jobs/{job}", {"config": configuration(steps)})
        equal(submitted.status, 201, submitted.body)
    server.wait_for("ended", "RUNNING")
    equal(server.request("POST", f"{API}/jobs/ended/cancel", {}).status, 202)
    server.wait_for("ended", "CANCELLED")
    server.wait_for("done", "SUCCEEDED")
    server.wait_for("whole", "SUCCEEDED")
    wait_for_entries(root, 6)
    before = {job: known_of(server.job(job)) for job in ("done", "ended", "whole")}
    check(not server.job("done")["folder_gone"], "a folder that is there")
    check("resume" in server.job("ended")["capabilities"], "what is there can be resumed")
    table = losses(server)
    for job in ("done", "ended"):
        shutil.rmtree(os.path.join(root, job))

    for again in (False, True, True):
        if again:
            server.stop()
            server = Server("--root", root)
        for job, end in (("done", "SUCCEEDED"), ("ended", "CANCELLED")):
            now = server.job(job)
            equal(known_of(now), before[job], f"{job}, {again}")
            check(now["folder_gone"], "its folder is gone")
            check("resume" not in now["capabilities"], now["capabilities"])
            if again:
                equal(transitions(server, job)[-1][1], end, transitions(server, job))
                answer = server.get(f"{API}/jobs/{job}/metrics")
                equal(answer.status, 404)
                check("was removed" in answer.json()["detail"], answer.body)
        equal(losses(server), table, "the table of runs")
        equal(known_of(server.job("whole")), before["whole"])
    answer = server.request("POST", f"{API}/jobs/ended/resume", {})
    equal(answer.status, 409, answer.body)
    check("was removed" in answer.json()["detail"], answer.body)
    found = server.request("DELETE", f"{API}/jobs/done", headers={"If-Match": "*"})
    equal(found.status, 204, found.body)
    server.stop()


def removed_while_no_server_was_there():
    """It ended, nobody knows how: it has failed, and is not started again without its configuration."""
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    submitted = server.request("PUT", f"{API}/jobs/lost", {"config": configuration(as_long(LONG))})
    equal(submitted.status, 201, submitted.body)
    server.wait_for("lost", "RUNNING")
    pid = server.job("lost")["pid"]
    server.kill()
    os.kill(pid, signal.SIGTERM)
    until(lambda: not os.path.exists(f"/proc/{pid}"))
    shutil.rmtree(os.path.join(root, "lost"))
    server = Server("--root", root)
    time.sleep(1.5)  # an attempt to start it again would come after a second
    job = server.job("lost")
    equal((job["state"], job["phase"], job["attempt"], job["alive"]), ("FAILED", None, 1, False))
    check("how the run ended is not known" in job["message"], job["message"])
    equal(transitions(server, "lost")[-1][1], "FAILED")
    server.stop()


if __name__ == "__main__":
    main([kept_values, removed_folders, removed_while_no_server_was_there])
