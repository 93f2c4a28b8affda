"""A run as one history: the steps that it shares with the run it was forked from, once; its own; and
those that a later start did again, beside them. Each against the points in the run stores."""
import os
import shutil
import sqlite3
import subprocess
import time

from support import *

STEPS = 80


def connect(root, job):
    return sqlite3.connect(os.path.join(root, job, "run.db"))


def points(root, job, table="points"):
    db = connect(root, job)
    rows = db.execute(
        f"SELECT step, value FROM {table} WHERE series = (SELECT id FROM series WHERE name = 'loss') "
        "ORDER BY step"
    ).fetchall()
    db.close()
    return rows


def submit(server, id, **more):
    config = configuration(STEPS, checkpoint=20)
    submitted = server.request("PUT", f"{API}/jobs/{id}", {"config": config, **more})
    equal(submitted.status, 201, submitted.body)
    server.wait_for(id, "SUCCEEDED", seconds=120)


def losses(server, id, query="history=true"):
    answer = server.get(f"{API}/jobs/{id}/metrics?names=loss&max_points=5000&{query}")
    equal(answer.status, 200, answer.body)
    return answer.json()["series"]


def rows_of(one):
    return list(zip(one["step"], one["value"], strict=True))


def same_rows(one, wanted, *what):
    got = rows_of(one)
    equal([step for step, _ in got], [step for step, _ in wanted], what)
    for (step, value), (_, other) in zip(got, wanted, strict=True):
        check(abs(value - other) <= 1e-12 * max(1, abs(other)), *what, step, value, other)


def forks_of_jobs(root, server):
    """b goes on from step 40 of a, c from step 60 of b: none has the points before its own."""
    a, b, c = (points(root, job) for job in "abc")
    equal((a[0][0], b[0][0], c[0][0]), (1, 41, 61), "first steps")
    equal(server.job("a")["fork"], None, "a began by itself")
    equal(
        server.job("b")["fork"],
        {"job": "a", "model_dir": None, "step": 40, "copied": False},
        "fork of b",
    )
    equal(server.job("c")["fork"]["step"], 60, "the newest checkpoint at or below the step")
    series = losses(server, "c")
    equal([one.get("past", {}).get("job") for one in series], ["a", "b", None], "whose parts")
    equal([one.get("past", {}).get("last") for one in series], [40, 60, None], "until where")
    same_rows(series[0], [row for row in a if row[0] <= 40], "the part of a")
    same_rows(series[1], [row for row in b if row[0] <= 60], "the part of b")
    same_rows(series[2], c, "its own")
    steps = [step for one in series for step in one["step"]]
    equal(steps, list(range(1, 60 + STEPS + 1)), "each step once")
    part = losses(server, "c", "history=true&from=39&to=62")
    equal([one["step"] for one in part], [[39, 40], list(range(41, 61)), [61, 62]], "a range")
    equal([one.get("past") for one in losses(server, "c", "")], [None], "without history")


def history(server):
    answer = server.get(f"{API}/jobs/b/history").json()
    got = [(run["id"], run["depth"], run["from"], run["at"]) for run in answer["runs"]]
    equal(got, [("a", 0, None, None), ("b", 1, "a", 40), ("c", 2, "b", 60)], "the tree")
    equal(answer["runs"][0]["last_step"], STEPS, "last step")
    equal(server.get(f"{API}/jobs/c/history").json()["runs"], answer["runs"], "from any of them")
    equal(
        answer["attempts"],
        [
            {
                "attempt": 1,
                "first_step": 41,
                "last_step": 40 + STEPS,
                "replaced_first": None,
                "replaced_last": None,
            }
        ],
        "starts of b",
    )
    equal(server.get(f"{API}/jobs/nobody/history").status, 404, "no job")


def fork_by_command(root, server):
    """It has the shared points itself, and they are the other run's."""
    to = os.path.join(root, "forked")
    command = [EXECUTABLE, "fork", f"{root}/a", "--at", "20", "--model_dir", to, "--no_start"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    equal(done.returncode, 0, done.stderr)
    # As the store of a job: it stands in for one that was trained on.
    db = sqlite3.connect(os.path.join(to, "run.db"))
    keys = dict(db.execute("SELECT key, value FROM run WHERE key LIKE 'forked%'"))
    equal(keys, {"forked_from": os.path.realpath(f"{root}/a"), "forked_at": "20"}, "keys")
    source = "(SELECT id FROM series WHERE name = 'loss')"
    db.execute(f"INSERT INTO points SELECT series, 2, step + 20, time_ms, value + 1 FROM points "
               f"WHERE series = {source}")
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    server.stop()
    time.sleep(1.2)  # what was written a moment ago is not kept
    shutil.copyfile(os.path.join(to, "run.db"), os.path.join(root, "d", "run.db.new"))
    os.rename(os.path.join(root, "d", "run.db.new"), os.path.join(root, "d", "run.db"))
    server.start()
    series = losses(server, "d")
    equal([one.get("past", {}).get("job") for one in series], ["a", None], "whose parts")
    same_rows(series[0], points(root, "a")[:20], "the shared part")
    equal(series[1]["step"], list(range(21, 41)), "its own")
    runs = server.get(f"{API}/jobs/d/history").json()["runs"]
    equal(
        [(run["id"], run["depth"], run["at"]) for run in runs],
        [("a", 0, None), ("d", 1, 20), ("b", 1, 40), ("c", 2, 60)],
        "the tree with it",
    )


def replaced_steps(root, server):
    """Steps that a later start did again are beside the others, and no figure has them."""
    before = server.get(f"{API}/experiments?runs=a&columns=max(loss),min(loss),loss").json()
    db = connect(root, "a")
    db.execute(
        "INSERT INTO superseded SELECT series, attempt, step, time_ms, 1e6 FROM points WHERE series "
        "= (SELECT id FROM series WHERE name = 'loss') AND step > 50"
    )
    db.commit()
    db.close()
    own, replaced = losses(server, "a")
    check("replaced" not in own, own)
    equal(replaced["replaced"], True, "replaced")
    same_rows(own, points(root, "a"), "what counts")
    same_rows(replaced, points(root, "a", "superseded"), "what was done again")
    merged = server.get(f"{API}/jobs/a/metrics?names=loss&max_points=7&history=true").json()
    own, few = merged["series"]
    check(own["count"] == STEPS and few["count"] == 30, own["count"], few["count"])
    check(len(few["step"]) <= 7 and few["maximum"] == [1e6] * len(few["step"]), few)
    equal(len(losses(server, "a", "")), 1, "asked for alone")
    attempt = server.get(f"{API}/jobs/a/history").json()["attempts"][0]
    equal((attempt["replaced_first"], attempt["replaced_last"]), (51, STEPS), "starts of a")
    after = server.get(f"{API}/experiments?runs=a&columns=max(loss),min(loss),loss").json()
    equal(after["rows"][0]["values"], before["rows"][0]["values"], "figures")


def one_history():
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    try:
        submit(server, "a")
        submit(server, "b", resume_from={"job": "a", "step": 40})
        submit(server, "c", resume_from={"job": "b", "step": 60})
        submit(server, "d")
        forks_of_jobs(root, server)
        history(server)
        fork_by_command(root, server)
        replaced_steps(root, server)
    finally:
        server.stop()


if __name__ == "__main__":
    main([one_history])
