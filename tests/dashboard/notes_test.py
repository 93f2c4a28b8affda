"""Notes that users write about a run: by the API and by the command, who may, what is refused, where
they are shown, and what damage leaves of them."""
import fcntl
import json
import os
import subprocess

from support import *

OPERATOR, ALICE, BOB = "operator-0123456789", "alice-0123456789abc", "bob-0123456789abcde"
HOSTILE = "<img src=x onerror=alert(1)> & \"quoted\"\nsecond line \u2713"


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def token_file():
    path = os.path.join(folder(), "tokens")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as f:
        f.write(f"{OPERATOR}\n{ALICE} name=alice\n{BOB} name=bob\n")
    return path


def add(server, job, text, status=201, token=None, **more):
    answer = server.request(
        "POST", f"{API}/jobs/{job}/notes", {"text": text, **more}, bearer(token) if token else None
    )
    equal(answer.status, status, (text[:60], answer.body))
    return answer.json()


def remove(server, job, note, status=204, token=None):
    headers = bearer(token) if token else None
    answer = server.request("DELETE", f"{API}/jobs/{job}/notes/{note}", headers=headers)
    equal(answer.status, status, answer.body)


def listed(server, job):
    return server.get(f"{API}/jobs/{job}/notes").json()["notes"]


def by_the_api(server):
    equal(listed(server, "run"), [], "before any")
    first = add(server, "run", HOSTILE, step=7)
    second = add(server, "run", "of the whole", token=ALICE)
    equal((first["id"], first["step"], first["text"], first["author"]), (1, 7, HOSTILE, None))
    equal((second["id"], second["step"], second["author"]), (2, None, "alice"))
    equal(listed(server, "run"), [first, second], "the list")
    job = server.job("run")
    equal((job["notes"], job["note"]), (2, "of the whole"), "of the job")
    rows = server.get(f"{API}/experiments?columns=note,notes&where=note~whole").json()["rows"]
    equal([(row["id"], row["values"]) for row in rows], [("run", ["of the whole", 2])], "the table")
    remove(server, "run", 2)
    equal(listed(server, "run"), [first], "one is removed")
    equal(add(server, "run", "later")["id"], 3, "a number is given once")


def refusals(server):
    add(server, "run", "bob's", status=403, token=BOB)
    remove(server, "run", 1, status=403, token=BOB)
    for text in ("", "   \n", "x" * 2001, "\u2713" * 700, "bell \u0007", "escape \u001b[31m"):
        answer = server.request("POST", f"{API}/jobs/run/notes", {"text": text})
        check(answer.status in (400, 422), text[:20], answer.status, answer.body)
    for body in ({}, {"text": 5}, {"text": "a", "step": -1}, {"text": "a", "step": 1.5}):
        answer = server.request("POST", f"{API}/jobs/run/notes", body)
        check(answer.status in (400, 422), body, answer.status, answer.body)
    answer = server.request("POST", f"{API}/jobs/run/notes", {"text": "a"}, {"Authorization": "no"})
    equal(answer.status, 401, "without a token")
    add(server, "nobody", "a", status=404)
    remove(server, "run", 99, status=404)
    equal([note["id"] for note in listed(server, "run")], [1, 3], "nothing has changed")
    entries = server.get(f"{API}/audit?limit=1000").json()["entries"]
    of_notes = {(e["method"], e["status"], e["token"]) for e in entries if "/notes" in e["path"]}
    wanted = {("POST", 201, "alice"), ("POST", 201, None), ("POST", 403, "bob"), ("DELETE", 204, None)}
    check(wanted <= of_notes, "the audit", of_notes)


def command(*words, code=0):
    done = subprocess.run([EXECUTABLE, "notes", *words], capture_output=True, text=True, timeout=60)
    equal(done.returncode, code, (words, done.stdout, done.stderr))
    return done.stdout + done.stderr


def by_the_command(server, root):
    said = command("run", "by the command", "--step", "12", *server.named)
    check("step 12" in said and "by the command" in said, said)
    model_dir = os.path.join(root, "run")
    check("by the command" in command(model_dir), "the folder has it")
    said = command(model_dir, "by\x1b[31m folder", code=64)
    check("control character" in said, said)
    command(model_dir, "by the folder")
    equal([note["text"] for note in listed(server, "run")][-2:], ["by the command", "by the folder"])
    command(model_dir, "--remove", "5")
    check("no note 5" in command(model_dir, "--remove", "5", code=66), "it was removed")
    got = json.loads(command("run", "--json", *server.named))
    equal(got["notes"], listed(server, "run"), "as JSON")
    check("--step is the step" in command("run", "--step", "3", *server.named, code=64), "no text")
    check("not both" in command(model_dir, "a", "--remove", "1", code=64), "both")


def damage(server, root):
    """A line that was cut off, and lines of others, are no notes; the next one stands on its own."""
    path = os.path.join(root, "run", "notes.jsonl")
    before = listed(server, "run")
    with open(path, "a") as f:
        f.write('nothing\n{"id": "x"}\n[]\n{"id": 77, "time_ms": 1, "te')
    equal(listed(server, "run"), before, "damaged lines")
    after = add(server, "run", "behind")
    equal(listed(server, "run"), [*before, after], "behind them")
    with open(path) as held:  # by a program that never lets go
        fcntl.flock(held, fcntl.LOCK_EX)
        detail = add(server, "run", "locked", status=503)["detail"]
        check("locked" in detail, detail)
    equal(listed(server, "run"), [*before, after], "beside a lock")
    os.rename(path, path + ".kept")
    os.symlink(path + ".kept", path)
    answer = server.get(f"{API}/jobs/run/notes")
    check(answer.status >= 400 and b"symbolic link" in answer.body, answer.status, answer.body)
    equal(server.job("run")["notes"], 0, "the job is shown all the same")
    os.remove(path)
    line = '{"id": %d, "time_ms": 1, "step": null, "text": "a", "author": null}\n'
    with open(path, "w") as f:
        f.writelines(line % (i + 1) for i in range(1000))
    detail = add(server, "run", "one too many", status=409)["detail"]
    check("1000 notes" in detail, detail)


def notes():
    root = os.path.join(folder(), "root")
    server = Server("--root", root, "--token_file", token_file())
    try:
        sent = server.request("PUT", f"{API}/jobs/run", {"config": configuration(20)}, bearer(ALICE))
        equal(sent.status, 201, sent.body)
        server.wait_for("run", "SUCCEEDED", seconds=120)
        by_the_api(server)
        refusals(server)
        by_the_command(server, root)
        damage(server, root)
    finally:
        server.stop()


if __name__ == "__main__":
    main([notes])
