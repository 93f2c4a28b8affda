"""What the server shows of sweeps, against their files: of one in the queue, of one that is trained in
its folder, while it runs, after kill -9 of it, and of folders and files that are damaged or hostile."""
import json
import os
import signal
import subprocess

from support import *

GRID = """name: grid
config: {config}
method: grid
metric: loss
settings: [loop.num_steps=6]
parameters:
  optimizer.SGD.lr: [0.1, 0.01, 0.001]
  model.hidden_sizes: [[8], [0]]
"""
HALVING = """name: {name}
config: {config}
method: halving
trials: 4
seed: 5
metric: loss
steps: {{min: {steps}, max: {most}, eta: 2}}
parameters:
  optimizer.SGD.lr: {{log_uniform: [1e-5, 0.1]}}
  seed: {{int: [1, 3]}}
"""


def start(root, document, *arguments):
    """A sweep's command, as a process; its files are beside the root."""
    place = os.path.dirname(root)
    config = os.path.join(place, "config.yaml")
    with open(config, "w") as f:
        f.write(configuration(6))
    path = os.path.join(place, "sweep.yaml")
    with open(path, "w") as f:
        f.write(document.replace("{config}", config))
    return subprocess.Popen(
        [EXECUTABLE, "sweep", path, "--quiet", "--format", "json", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=place,
    )


def ended(process):
    out, error = process.communicate(timeout=120 * SLOW)
    check(b"Sanitizer" not in error and b"runtime error" not in error, error)
    return process.returncode, out, error.decode()


def lines(root, name):
    with open(os.path.join(root, "sweeps", name, "trials.jsonl")) as f:
        whole = f.read().rpartition("\n")[0]
    return [one for line in whole.split("\n") if line for one in [json.loads(line)] if "trial" in one]


def same_number(a, b):
    return a == b or (a is not None and b is not None and abs(a - b) <= 1e-14 * abs(b))


def last_results(told):
    return {line["trial"]: line for line in told}


def compare(sweep, told):
    """The answer against the lines of the file."""
    equal(len(sweep["history"]), len(told), "results")
    for point, line in zip(sweep["history"], told):
        equal((point["trial"], point["rung"], point["failed"]),
              (line["trial"], line["rung"], line["failed"]), "a result")
        check(same_number(point["value"], line["value"]), point, line)
        equal(point["time_ms"], line["time_ms"], "time")
    last = last_results(told)
    for trial in sweep["trials"]:
        line = last.get(trial["trial"])
        equal(trial["rung"], line and line["rung"], trial)
        check(same_number(trial["value"], line and line["value"]), trial, line)
        equal(trial["message"], line["message"] if line and line["failed"] else None, trial)
    equal(sweep["tried"], len(last), "tried")
    equal(sweep["failed"], sum(line["failed"] for line in last.values()), "failed")


def get(server, name):
    answer = server.get(f"{API}/sweeps/{name}")
    equal(answer.status, 200, answer.body)
    document = server.get("/openapi.json").json()
    schema = document["components"]["schemas"]["Sweep"]
    equal(fits(document, schema, answer.json()), [], "schema")
    return answer.json()


def listed(server):
    answer = server.get(f"{API}/sweeps").json()
    document = server.get("/openapi.json").json()
    equal(fits(document, document["components"]["schemas"]["SweepList"], answer), [], "schema")
    return answer


def a_sweep_in_the_queue():
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    try:
        equal(listed(server), {"total": 0, "sweeps": [], "unreadable": []}, "none")
        code, out, error = ended(start(root, GRID, "--server", root))
        equal(code, 0, error)
        table = json.loads(out)
        sweep = get(server, "grid")
        compare(sweep, lines(root, "grid"))
        equal([one["trial"] for one in sweep["trials"]], [one["trial"] for one in table["trials"]],
              "the order of the command")
        equal((sweep["state"], sweep["best"], sweep["rung"], sweep["next"]),
              ("complete", table["best"], None, None), "what it is at")
        paths = [one["path"] for one in sweep["parameters"]]
        for mine, its in zip(sweep["trials"], table["trials"]):
            equal(dict(zip(paths, mine["settings"])), its["parameters"], "settings")
            equal(mine["state"], "failed" if its["failed"] else "done", mine)
            # Those that the server has refused are no jobs.
            wanted = None if its["failed"] else f"grid-{mine['trial']:04d}-0"
            equal(mine["job"], wanted, "its job")
        # What was best after each result.
        best = None
        for point in sweep["history"]:
            if point["value"] is not None and (best is None or point["value"] < best[0]):
                best = point["value"], point["trial"]
            equal(point["best"], best and best[1], point)
        (summary,) = listed(server)["sweeps"]
        equal({name: sweep[name] for name in summary}, summary, "the summary")
        # Jobs of that id that the sweep does not own are not its own.
        answer = server.request("PATCH", f"{API}/jobs/grid-0001-0", {"labels": {"sweep": "other"}},
                                {"If-Match": "*"})
        equal(answer.status, 200, answer.body)
        jobs = {one["trial"]: one["job"] for one in get(server, "grid")["trials"]}
        equal(jobs[1], None, "a job without the label")
        answer = server.request("PUT", f"{API}/jobs/sweeps", {"config": configuration(6)})
        check(400 <= answer.status < 500 and b"folder of sweeps" in answer.body, answer.body)
    finally:
        server.stop()


def decided(sweep, told):
    """Who went on and who was stopped, by the values of the file."""
    values = {}
    for line in told:
        values.setdefault(line["rung"], {})[line["trial"]] = line["value"]
    for rung, about in enumerate(sweep["rungs"][:-1]):
        best = sorted(values[rung], key=values[rung].get)[: sweep["rungs"][rung + 1]["planned"]]
        equal(sorted(best), sweep["rungs"][rung + 1]["trials"], f"rung {rung + 1}")
        equal(about["tried"], len(about["trials"]), "a complete rung")
    last = last_results(told)
    for trial in sweep["trials"]:
        is_last = last[trial["trial"]]["rung"] == len(sweep["rungs"]) - 1
        equal(trial["state"], "done" if is_last else "stopped", trial)


def while_it_runs_and_after_its_kill():
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    steps = as_long(1000)
    document = HALVING.replace("{name}", "local").format(
        config="{config}", steps=steps, most=2 * steps)
    place = os.path.join(root, "sweeps", "local")
    try:
        process = start(root, document, "--folder", place)
        until(lambda: os.path.exists(os.path.join(place, "trials.jsonl"))
              and server.get(f"{API}/sweeps/local").status == 200)
        running = set()

        def some_are_known():
            before = lines(root, "local")
            sweep = get(server, "local")
            after = lines(root, "local")
            check(len(before) <= len(sweep["history"]) <= len(after), before, after)
            compare(sweep, after[: len(sweep["history"])])
            now = [one["trial"] for one in sweep["trials"] if one["state"] == "running"]
            check(len(now) <= 1, "one after another", now)
            running.update(now)
            if sweep["state"] == "running" and sweep["rung"] == 0 and sweep["next"] is not None:
                open_trials = {1, 2, 3, 4} - set(now) - {one["trial"] for one in sweep["history"]}
                check(sweep["next"] == min(open_trials), "next", sweep["next"], open_trials)
            return len(sweep["history"]) >= 2 and running

        until(some_are_known)
        # A second command does not train it beside the first.
        code, _, error = ended(start(root, document, "--folder", place))
        check(code != 0 and "another process trains this sweep" in error, code, error)
        equal(get(server, "local")["state"], "running")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        sweep = get(server, "local")
        check(sweep["rung"] is None or sweep["state"] == "stopped", sweep)
        compare(sweep, lines(root, "local"))
        # A line that was cut off is not there.
        with open(os.path.join(place, "trials.jsonl"), "a") as f:
            f.write('{"trial": 3, "rung')
        compare(get(server, "local"), lines(root, "local"))
        code, out, error = ended(start(root, document, "--folder", place))
        equal(code, 0, error)
    finally:
        server.stop()
    # The next server shows the same; the line that was cut off is told.
    server = Server("--root", root)
    try:
        with open(os.path.join(place, "trials.jsonl")) as f:
            told = [json.loads(line) for line in f if line.strip() and line.endswith("}\n")][1:]
        sweep = get(server, "local")
        compare(sweep, told)
        decided(sweep, told)
        equal((sweep["state"], sweep["unreadable"]), ("complete", 1), "its state")
        equal(json.loads(out)["best"], sweep["best"], "the best")
    finally:
        server.stop()


PLAN = "{name: x, config: c.yaml, method: halving, trials: 4, metric: loss, " \
       "steps: {min: 1, max: 4, eta: 2}, parameters: {seed: {int: [1, 9]}}}"
ODD_LINES = [
    '{"trial": 1, "rung": 1000000, "failed": false, "value": 1}',
    '{"trial": 1, "rung": -1, "failed": false, "value": 1}',
    '{"trial": 99, "rung": 0, "failed": false, "value": 1}',
    '{"trial": -5, "rung": 0}', '{"trial": "1", "rung": "0"}', '{"trial": 1e300, "rung": 0}',
    '{"trial": 1}', "[]", "[" * 3000, "{", '"text"', "\x00\x01", "\ud800".encode("utf-8", "surrogatepass"),
    '{"trial": 9223372036854775807, "rung": 0}', '{"trial": 1, "rung": 0, "value": 1e999}',
]


def write(root, name, content, file="trials.jsonl"):
    path = os.path.join(root, "sweeps", name)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, file), "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())


def damaged_and_hostile():
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    head = json.dumps({"sweep": PLAN}) + "\n"
    wrong = {
        "empty": "", "text": "nothing\n", "cut": head[:-5], "binary": bytes(range(256)) * 50,
        "other": '{"sweep": 3}\n', "noplan": '{"sweep": "{name: a}"}\n', "list": "[1]\n",
        "bomb": json.dumps({"sweep": PLAN.replace("trials: 4", "trials: 99999999999")}) + "\n",
        "deep": json.dumps({"sweep": "[" * 100000}) + "\n",
    }
    try:
        for name, content in wrong.items():
            write(root, name, content)
        odd = [line if isinstance(line, bytes) else line.encode() for line in ODD_LINES]
        sound = b'{"trial": 2, "rung": 0, "failed": false, "value": 0.5, "message": "<b>\\u0007"}'
        write(root, "odd", head.encode() + b"\n".join(odd + [sound]) + b"\n")
        sweeps = os.path.join(root, "sweeps")
        os.makedirs(os.path.join(sweeps, "isfolder", "trials.jsonl"))
        os.makedirs(os.path.join(sweeps, "nothing"))
        os.makedirs(os.path.join(sweeps, "pipe"))
        os.mkfifo(os.path.join(sweeps, "pipe", "trials.jsonl"))
        os.makedirs(os.path.join(sweeps, "link"))
        os.symlink(os.path.join(sweeps, "odd", "trials.jsonl"), os.path.join(sweeps, "link", "trials.jsonl"))
        os.symlink(os.path.join(sweeps, "odd"), os.path.join(sweeps, "linked"))
        write(root, "-bad name\n", head)
        os.makedirs(os.path.join(sweeps.encode(), b"\xff\xfe"))
        outside = os.path.join(os.path.dirname(root), "outside")
        os.makedirs(outside)
        with open(os.path.join(outside, "trials.jsonl"), "w") as f:
            f.write(head)

        found = listed(server)
        equal([one["name"] for one in found["sweeps"]], ["odd"], "the one that can be read")
        told = {one["name"]: one["message"] for one in found["unreadable"]}
        bad = set(wrong) | {"isfolder", "nothing", "pipe", "link", "linked", "-bad name\n", None}
        equal(set(told), bad, "the others are told")
        check(all(told.values()), told)
        equal(found["total"], len(bad) + 1, "folders")
        for name in [*wrong, "isfolder", "pipe", "link", "linked"]:
            answer = server.get(f"{API}/sweeps/{name}")
            equal(answer.status, 409, name)
            check("cannot be read" in answer.json()["detail"], answer.body)
        sweep = get(server, "odd")
        equal((sweep["unreadable"], len(sweep["history"]), sweep["best"]), (len(odd), 1, 2), "odd lines")
        for name in ["none", "nothing"]:
            equal(server.get(f"{API}/sweeps/{name}").status, 404, name)
        for name in ["..", "%2e%2e", "..%2foutside", "%2fetc", "a%2fb", "a/b", ".", "%00", "a%0ab", "-x", "x" * 129,
                     "%ff", "outside/../odd"]:
            status = server.get(f"{API}/sweeps/{name}").status
            check(status in (400, 404), name, status)
        equal(server.get("/healthz").status, 200)
    finally:
        server.stop()


def a_server_of_one_run_has_none():
    place = folder()
    with open(f"{place}/config.yaml", "w") as f:
        f.write(configuration(6))
    done = subprocess.run(
        [EXECUTABLE, "start", f"{place}/config.yaml", "--model_dir", f"{place}/run", "--no_dashboard"],
        capture_output=True, timeout=120 * SLOW)
    equal(done.returncode, 0, done.stderr)
    server = Server("--run", f"{place}/run")
    try:
        equal(listed(server)["total"], 0)
        equal(server.get(f"{API}/sweeps/x").status, 404)
        equal(server.request("POST", f"{API}/sweeps/x/cancel").status, 501)
    finally:
        server.stop()


def spec(name, least=20, **more):
    return {"name": name, "config": configuration(6), "method": "halving", "trials": 4, "seed": 5, "metric": "loss",
            "steps": {"min": least, "max": 2 * least, "eta": 2},
            "parameters": {"optimizer.SGD.lr": {"log_uniform": [1e-5, 0.1]}, "seed": {"int": [1, 3]}}, **more}


def post(server, body, **headers):
    return server.request("POST", f"{API}/sweeps", body, headers or None)


def complete(server, name):
    return until(lambda: (sweep := get(server, name))["state"] == "complete" and not sweep["wanted"] and sweep)


def started_by_the_server():
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    try:
        answer = post(server, spec("rates"))
        equal((answer.status, answer.headers["Location"]), (201, f"{API}/sweeps/rates"), answer.body)
        document = server.get("/openapi.json").json()
        equal(fits(document, document["components"]["schemas"]["Sweep"], answer.json()), [], "schema")
        check(answer.json()["by_server"] and answer.json()["wanted"], answer.body)
        sweep = complete(server, "rates")
        told = lines(root, "rates")
        compare(sweep, told)
        decided(sweep, told)
        equal((len(told), sweep["message"]), (6, None), "trials of two rungs")
        labels = server.job("rates-0001-0")["labels"]
        equal(labels, {"sweep": "rates", "trial": "1"}, "labels")
        # The same values as the command has.
        code, out, error = ended(start(root, json.dumps({**spec("rates"), "config": "{config}"}), "--folder",
                                       os.path.join(os.path.dirname(root), "alone")))
        equal(code, 0, error)
        alone = {one["trial"]: one["value"] for one in json.loads(out)["trials"]}
        for trial in sweep["trials"]:
            check(same_number(trial["value"], alone[trial["trial"]]), trial, alone)
        # Once more.
        equal(post(server, spec("rates")).status, 200)
        equal(len(lines(root, "rates")), 6, "nothing is trained again")
        for change in ({"seed": 6}, {"config": configuration(7)}):
            answer = post(server, spec("rates", **change))
            equal(answer.status, 409, answer.body)
            check("asked for differently" in answer.json()["detail"], answer.body)
        # One of a command is not the server's.
        os.makedirs(os.path.join(root, "sweeps", "mine"))
        equal(post(server, spec("mine")).status, 409)
        write(root, "mine", json.dumps({"sweep": PLAN}) + "\n")
        answer = server.request("POST", f"{API}/sweeps/mine/cancel")
        check(answer.status == 409 and "end its command" in answer.json()["detail"], answer.body)
        equal(server.request("POST", f"{API}/sweeps/none/cancel").status, 404)
        # Wrong in itself: nothing is left.
        parameters = [{"seed": {"uniform": [2, 1]}}, {"seed": 3}, {"seed": {"of": [1, 2]}}, {"seed": []}]
        for wrong in [*({"parameters": one} for one in parameters), {"method": "grid"}, {"trials": None},
                      {"steps": {"min": 5, "max": 2}}, {"name": "../x"}, {"name": ""}, {"config": 3}, {"of": 1}]:
            answer = post(server, {**spec("wrong"), **wrong})
            check(answer.status in (400, 422), wrong, answer.status, answer.body)
        equal(post(server, {**spec("wrong"), "parameters": {"seed": {"uniform": [2, 1]}}}).status, 422)
        equal(sorted(os.listdir(os.path.join(root, "sweeps"))), ["mine", "rates"], "what is left")
        # A trial that is refused is a failure of its own; where all are, the reason is told.
        answer = post(server, spec("odd", parameters={"model.hidden_sizes": [[0]]}))
        equal(answer.status, 201, answer.body)
        sweep = until(lambda: (one := get(server, "odd"))["message"] and one)
        equal((sweep["failed"], sweep["wanted"]), (4, False), sweep)
        check("no trial has a value of loss" in sweep["message"], sweep["message"])
    finally:
        server.stop()


def cancelled_and_killed():
    root = os.path.join(folder(), "root")
    server = Server("--root", root, "--cores", "1")

    def under_way():
        return [one["job"] for one in get(server, "long")["trials"] if one["state"] == "running"]

    try:
        equal(post(server, spec("long", LONG)).status, 201)
        until(under_way)
        # Its command ends with the server, also one that is killed; the job goes on, and so does the next server.
        server.kill()
        sweeps = os.path.join(root, "sweeps")
        os.makedirs(os.path.join(sweeps, ".new-left"))
        server.start()
        check(not os.path.exists(os.path.join(sweeps, ".new-left")), "what was left half made")
        until(under_way)
        until(lambda: get(server, "long")["state"] == "running")
        answer = server.request("POST", f"{API}/sweeps/long/cancel")
        equal(answer.status, 202, answer.body)
        until(lambda: all(not one["alive"] and one["state"] == "CANCELLED"
                          for one in server.get(f"{API}/jobs").json()["jobs"]))
        sweep = until(lambda: (one := get(server, "long"))["state"] == "stopped" and one)
        equal((sweep["wanted"], sweep["message"]), (False, "cancelled"), sweep)
        equal(server.request("POST", f"{API}/sweeps/long/cancel").status, 202)
        server.stop()
        server.start()
        equal(post(server, spec("short")).status, 201)
        # A sweep goes on after a server that was killed at any time.
        until(lambda: len(lines(root, "short")) >= 1)
        server.kill()
        server.start()
        sweep = complete(server, "short")
        compare(sweep, lines(root, "short"))
        equal(len(lines(root, "short")), 6, "no trial twice")
        equal(get(server, "long")["state"], "stopped")
    finally:
        end_jobs(server)
        server.stop()


def a_named_token_starts_none():
    place = folder()
    tokens = os.path.join(place, "tokens")
    with open(tokens, "w") as f:
        f.write("a" * 43 + " name=bob\n" + "b" * 43 + " name=alice cores=1\n")
    os.chmod(tokens, 0o600)
    server = Server("--root", os.path.join(place, "root"), "--token_file", tokens)
    try:
        answer = post(server, spec("hers"), Authorization="Bearer " + "b" * 43)
        equal(answer.status, 403, answer.body)
        check("alice" in answer.json()["detail"], answer.body)
        equal(post(server, spec("hers"), Authorization="Bearer wrong").status, 401)
        equal(listed(server)["total"], 0)
        answer = server.request("POST", f"{API}/sweeps/his/cancel", headers={"Authorization": "Bearer " + "b" * 43})
        equal(answer.status, 403, answer.body)
    finally:
        server.stop()


if __name__ == "__main__":
    main([a_sweep_in_the_queue, while_it_runs_and_after_its_kill, damaged_and_hostile, a_server_of_one_run_has_none,
          started_by_the_server, cancelled_and_killed, a_named_token_starts_none])
