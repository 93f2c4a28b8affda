"""Forks of a run as jobs of the queue: the shared steps are the run's, to the bit, what differs is
what was asked for, and what cannot be forked is refused with the reason."""
import os
import sqlite3
import subprocess

from support import *

STEPS = 50
LR = "trainer.init.optimizer.SGD.lr"


def submit(server, id, config=None):
    config = config or configuration(STEPS, checkpoint=20)
    submitted = server.request("PUT", f"{API}/jobs/{id}", {"config": config})
    equal(submitted.status, 201, submitted.body)
    server.wait_for(id, "SUCCEEDED", seconds=120)


def fork(server, id, body, status=201):
    answer = server.request("POST", f"{API}/jobs/{id}/forks", body)
    equal(answer.status, status, answer.body)
    return answer.json()


def bisect(root, a, b):
    command = [EXECUTABLE, "bisect", f"{root}/{a}", f"{root}/{b}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100 * SLOW)
    return done.stdout + done.stderr


def points(root, job):
    db = sqlite3.connect(os.path.join(root, job, "run.db"))
    rows = db.execute(
        "SELECT step, value FROM points WHERE series = (SELECT id FROM series WHERE name = 'loss') "
        "ORDER BY step"
    ).fetchall()
    db.close()
    return rows


def unchanged(root, server):
    """From a step without a checkpoint, which is done again: the whole run's bits."""
    made = fork(server, "a", {"step": 30, "name": "the same"})
    equal(made["name"], "the same", "name")
    equal(made["fork"], {"job": "a", "model_dir": None, "step": 30, "copied": False}, "queued")
    ended = server.wait_for(made["id"], "SUCCEEDED", seconds=120)
    equal((ended["fork"]["step"], ended["fork"]["copied"]), (30, True), "fork")
    equal(points(root, made["id"]), points(root, "a"), "losses")
    check("equal: the digests" in bisect(root, "a", made["id"]), bisect(root, "a", made["id"]))
    saved = server.get(f"{API}/jobs/{made['id']}/checkpoints").json()["checkpoints"]
    check({20, 40} <= {one["step"] for one in saved}, saved)
    one, other = (os.stat(f"{root}/{job}/checkpoint_20.mdl").st_ino for job in ("a", made["id"]))
    equal(one, other, "one file")
    check(not os.path.exists(f"{root}/a/replayed"), "states were left in the run's folder")
    return made["id"]


def changed(root, server):
    """The learning rate from step 21 on: a branch of the history with its shared curve."""
    made = fork(server, "a", {"step": 20, "overrides": {LR: 0.05}})
    server.wait_for(made["id"], "SUCCEEDED", seconds=120)
    own, of_a = points(root, made["id"]), points(root, "a")
    equal(own[:20], of_a[:20], "the shared losses")
    check(own[21:] != of_a[21:], "the change has no effect")
    check("step 21 is the first that differs" in bisect(root, "a", made["id"]), "bisect")
    query = "names=loss&max_points=5000&history=true"
    series = server.get(f"{API}/jobs/{made['id']}/metrics?{query}").json()["series"]
    equal([one.get("past", {}).get("job") for one in series], ["a", None], "whose parts")
    equal([one["step"][-1] for one in series], [20, STEPS], "until where")
    runs = server.get(f"{API}/jobs/a/history").json()["runs"]
    check((made["id"], 1, "a", 20) in [(r["id"], r["depth"], r["from"], r["at"]) for r in runs], runs)
    spec = server.get(f"{API}/jobs/{made['id']}/config").json()["spec"]
    equal(spec["fork_from"], {"job": "a", "step": 20}, "what was asked for")
    return made["id"]


def of_a_fork(root, server, id):
    """Its own past is that of both."""
    made = fork(server, id, {"step": 40})
    server.wait_for(made["id"], "SUCCEEDED", seconds=120)
    check("equal: the digests" in bisect(root, id, made["id"]), "bisect of a fork of a fork")


def without_samples(root, server):
    """The process finds the step: that before the first use of sample 70 is the first batch."""
    made = fork(server, "a", {"without": [70]})
    ended = server.wait_for(made["id"], "SUCCEEDED", seconds=120)
    equal(ended["fork"]["step"], 1, "the last step without the sample")
    refused = fork(server, "a", {"without": [70], "step": 5})
    failed = server.wait_for(refused["id"], "FAILED", seconds=120)
    check("sample 70 was used in step 2 already" in failed["message"], failed["message"])


def unmade(root, server):
    """What a process had linked that was killed before the store was there is made anew."""
    blocked = fork(server, "a", {"step": 20, "resources": {"cores": 0}, "name": "cut"})
    server.wait_for(blocked["id"], "SUCCEEDED", seconds=120)
    folder = f"{root}/{blocked['id']}"
    os.remove(f"{folder}/run.db")
    os.makedirs(f"{folder}/forking")
    server.stop()
    db = sqlite3.connect(f"{root}/jobs.db")
    db.execute("UPDATE jobs SET state = 'QUEUED', ended_ms = 0 WHERE id = ?", (blocked["id"],))
    db.commit()
    db.close()
    server.start()
    until(lambda: os.path.exists(f"{folder}/run.db"), 60)
    server.wait_for(blocked["id"], "SUCCEEDED", seconds=120)
    equal(points(root, blocked["id"]), points(root, "a"), "losses")
    check(not os.path.exists(f"{folder}/forking"), "the folder of the store that was made")


def refusals(root, server):
    cases = [
        ("a", {"step": STEPS + 1}, 422, f"has done the steps 1 to {STEPS}, and not step 51"),
        ("a", {}, 422, "give step"),
        ("a", {"step": 0}, 422, "step"),
        ("a", {"step": 20, "stepp": 1}, 422, "stepp"),
        ("a", {"step": 20, "overrides": {"trainer.init.optimizer.SGD.lrr": 1}}, 422, "lrr"),
        ("nobody", {"step": 20}, 404, "nobody"),
        ("plain", {"step": 20}, 422, "keeps no digests of this step"),
    ]
    for id, body, status, words in cases:
        answer = fork(server, id, body, status)
        check(words in json.dumps(answer), id, body, answer)
    spec = {"config": configuration(STEPS), "fork_from": {"job": "nobody", "step": 3}}
    answer = server.request("POST", f"{API}/jobs", spec)
    equal(answer.status, 422, answer.body)
    check("fork_from: there is no job" in answer.json()["detail"], answer.body)
    spec["fork_from"]["job"] = "a"
    answer = server.request("POST", f"{API}/jobs", {**spec, "resume_from": {"job": "a"}})
    equal(answer.status, 422, answer.body)
    check("leave out resume_from" in answer.json()["detail"], answer.body)


def one_queue():
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    try:
        submit(server, "a")
        submit(server, "plain", configuration(STEPS, checkpoint=20).replace(
            "    seed: 1\n", "    seed: 1\n    step_digests: false\n"))
        unchanged(root, server)
        of_a_fork(root, server, changed(root, server))
        without_samples(root, server)
        refusals(root, server)
        unmade(root, server)
    finally:
        server.stop()
    alone = Server("--run", f"{root}/a")
    try:
        id = alone.get(f"{API}/jobs").json()["jobs"][0]["id"]
        answer = fork(alone, id, {"step": 20}, 501)
        check("has no queue" in answer["detail"] and "csengine fork" in answer["detail"], answer)
    finally:
        alone.stop()


def whose_run():
    """A fork shares files with the run: only who may change the run may fork it."""
    place = folder()
    tokens = os.path.join(place, "tokens")
    words = {name: f"{name}-0123456789abcdef" for name in ("operator", "ann", "bob")}
    with open(os.open(tokens, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write(f"{words['operator']}\n{words['ann']} name=ann\n{words['bob']} name=bob\n")
    server = Server("--root", os.path.join(place, "owned"), "--token_file", tokens)

    def ask(name, method, path, body):
        return server.request(method, path, body, {"Authorization": f"Bearer {words[name]}"})

    try:
        config = configuration(20, checkpoint=10)
        equal(ask("ann", "PUT", f"{API}/jobs/hers", {"config": config}).status, 201, "hers")
        server.wait_for("hers", "SUCCEEDED", seconds=120)
        refused = ask("bob", "POST", f"{API}/jobs/hers/forks", {"step": 10})
        equal(refused.status, 403, refused.body)
        spec = {"config": config, "fork_from": {"job": "hers", "step": 10}}
        refused = ask("bob", "POST", f"{API}/jobs", spec)
        equal(refused.status, 403, refused.body)
        check("a fork shares its files" in refused.json()["detail"], refused.body)
        made = ask("ann", "POST", f"{API}/jobs/hers/forks", {"step": 10})
        equal(made.status, 201, made.body)
        server.wait_for(made.json()["id"], "SUCCEEDED", seconds=120)
    finally:
        server.stop()


if __name__ == "__main__":
    main([one_queue, whose_run])
