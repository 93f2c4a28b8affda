"""Jobs from their creation to their end: the queue, the commands, and what happens when a job, or the
server itself, is killed."""
import fcntl
import glob
import http.client
import json
import os
import signal
import subprocess
import threading
import time

import support
from support import API, EXECUTABLE, LONG, Failure, Server, as_long, check, configuration, end_jobs, equal

CONFIGS = os.path.join(os.environ.get("top_srcdir", "."), "configs")
YAML = {"Content-Type": "application/yaml"}


def root_server(*arguments, root=None):
    return Server("--root", root or support.folder() + "/root", *arguments)


def put(server, id, steps=LONG, **more):
    answer = server.request("PUT", f"{API}/jobs/{id}", {"config": configuration(steps), **more})
    check(answer.status == 201, answer.body)
    return answer.json()


def act(server, id, command, body=None, status=202):
    answer = server.request("POST", f"{API}/jobs/{id}/{command}", body)
    equal(answer.status, status, f"{command} {id}: {answer.body}")
    return answer.json()


def history(server, id):
    return [t["to"] for t in server.get(f"{API}/jobs/{id}/transitions").json()["transitions"]]


def coordinator_of(server, id):
    """The process that holds the run: as the run store says."""
    import sqlite3

    path = server.job(id)["model_dir"] + "/run.db"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return int(db.execute("SELECT value FROM run WHERE key = 'pid'").fetchone()[0])


def lose(server, id):
    kill_both(server.job(id)["pid"], coordinator_of(server, id))


def kill_both(supervisor, coordinator):
    """Kills a run for good: the supervisor would start another coordinator, and the coordinator would
    end in good order when the supervisor is gone."""
    os.kill(coordinator, signal.SIGSTOP)
    os.kill(supervisor, signal.SIGKILL)
    os.kill(coordinator, signal.SIGKILL)


def a_job_from_creation_to_removal():
    server = root_server()
    try:
        job = put(server, "first", steps=2000, name="a name", labels={"team": "x"}, priority="p1")
        equal((job["state"], job["name"], job["labels"], job["priority"]), ("QUEUED", "a name", {"team": "x"}, "p1"))
        job = server.wait_for("first", "SUCCEEDED")
        states = history(server, "first")
        equal([states[0], states[-1]], ["QUEUED", "SUCCEEDED"])
        check(states.index("COMPILING") < states.index("RUNNING"), states)
        until = time.monotonic() + 20
        while (job := server.job("first"))["ended_ms"] is None and time.monotonic() < until:
            time.sleep(0.05)
        equal((job["exit_code"], job["progress"]["step"], job["attempt"]), (0, 2000, 1))
        equal(server.get(f"{API}/jobs/first/metrics?names=loss&max_points=20000").json()["series"][0]["step"],
              list(range(1, 2001)))
        graph = server.get(f"{API}/jobs/first/graph").json()
        check(len(graph["nodes"]) > 10, "the graph")
        equal(server.get(f"{API}/jobs/first/config").json()["submitted"], configuration(2000))
        directory = job["model_dir"]
        check(os.path.exists(directory + "/run.db"), directory)
        # Only with the tag that was read, and only what has ended.
        equal(server.request("DELETE", f"{API}/jobs/first").status, 428)
        equal(server.request("DELETE", f"{API}/jobs/first", headers={"If-Match": '"v9.x"'}).status, 412)
        tag = server.get(f"{API}/jobs/first").headers["ETag"]
        equal(server.request("DELETE", f"{API}/jobs/first", headers={"If-Match": tag}).status, 204)
        check(not os.path.exists(directory), "the files stay behind")
        equal(server.get(f"{API}/jobs/first").status, 404)
    finally:
        end_jobs(server)
        server.stop()


def the_same_call_twice_is_one_job():
    server = root_server()
    try:
        body = {"config": configuration(50)}
        equal(server.request("PUT", f"{API}/jobs/a", body).status, 201)
        equal(server.request("PUT", f"{API}/jobs/a", body).status, 200)
        equal(server.request("PUT", f"{API}/jobs/a", {**body, "name": "other"}).status, 409)
        key = {"Idempotency-Key": "k1"}
        first = server.request("POST", f"{API}/jobs", body, key)
        equal(first.status, 201)
        equal(first.headers["Location"], f"{API}/jobs/{first.json()['id']}")
        again = server.request("POST", f"{API}/jobs", body, key)
        equal((again.status, again.json()["id"]), (201, first.json()["id"]))
        equal(server.request("POST", f"{API}/jobs", {**body, "name": "n"}, key).status, 409)
        equal(server.get(f"{API}/jobs").json()["total"], 2)
        # The name chosen by the client is a directory: nothing but a plain word.
        equal(server.request("PUT", f"{API}/jobs/jobs.db", body).status, 409)
        paths = [e["path"] for e in server.get(f"{API}/audit").json()["entries"]]
        equal(paths.count(f"{API}/jobs"), 3)
    finally:
        end_jobs(server)
        server.stop()


def faults_have_their_place():
    server = root_server()
    text = configuration(50)
    wrong = text.replace("loop: { num_steps: 50 }", "loop: { num_stesp: 50 }")
    line = next(i for i, l in enumerate(wrong.splitlines(), 1) if "num_stesp" in l)
    column = wrong.splitlines()[line - 1].index("num_stesp") + 1
    try:
        for answer in (server.request("POST", f"{API}/jobs", {"config": wrong}),
                       server.request("POST", f"{API}/jobs", wrong.encode(), YAML)):
            equal(answer.status, 422)
            fault = answer.json()["errors"][0]
            equal((fault["line"], fault["column"]), (line, column), fault)
            check("num_steps" in fault["hint"], fault)
        # Every fault is told at once, those of members as well, and again by a job's refusal.
        many = wrong.replace("hidden_sizes", "hiden_sizes").replace("batch_size: 64", "batch_size: lots")
        many = many.replace("lr: 0.01", "lr: 0.01, momentom: 0.9").replace("    seed: 1", "    loggers: [{NoSuchLogger: {}}]\n    seed: 1")
        places = set()
        for word in ("num_stesp", "hiden_sizes", "momentom", "NoSuchLogger", "lots"):
            line = next(i for i, l in enumerate(many.splitlines(), 1) if word in l)
            places.add((line, many.splitlines()[line - 1].index(word) + 1))
        result = server.request("POST", f"{API}/config:validate", {"config": many}).json()
        equal({(d["line"], d["column"]) for d in result["diagnostics"]}, places, result)
        refusal = server.request("POST", f"{API}/jobs", {"config": many})
        equal((refusal.status, {(d["line"], d["column"]) for d in refusal.json()["errors"]}), (422, places), refusal.body)
        # An override is checked like the text, and may mend it.
        for value, valid in (("{num_steps: 5}", True), ("{num_stesp: 5}", False)):
            body = {"config": wrong, "overrides": {"loop": value}, "depth": "settings"}
            result = server.request("POST", f"{API}/config:validate", body).json()
            equal((result["valid"], len(result["diagnostics"])), (valid, 0 if valid else 1), result)
        # What the model's settings are is found as well.
        deep = text.replace("hidden_sizes", "hiden_sizes")
        line = next(i for i, l in enumerate(deep.splitlines(), 1) if "hiden" in l)
        result = server.request("POST", f"{API}/config:validate", {"config": deep}).json()
        equal((result["valid"], result["diagnostics"][0]["line"]), (False, line), result)
        check(server.request("POST", f"{API}/config:validate", text.encode(), YAML).json()["valid"], "a good one")
        strange = text.replace("    seed: 1", "    loggers: [{NoSuchLogger: {}}]\n    seed: 1")
        check(strange != text, "the configuration has a place for loggers")
        result = server.request("POST", f"{API}/config:validate", {"config": strange, "depth": "settings"}).json()
        check(not result["valid"] and "NoSuchLogger" in result["diagnostics"][0]["message"], "unknown logger", result)
        result = server.request("POST", f"{API}/config:validate", {"config": "a: [", "depth": "settings"}).json()
        equal(result["valid"], False)
        schema = server.get(f"{API}/config-schema").json()
        trainer = schema["properties"]["trainer"]["properties"]
        init = trainer["init"]["properties"]
        equal((init["seed"]["type"], init["seed"]["default"]), ("integer", 1))
        # Plugins stand in the sections that name them, each with its own settings.
        momentum = init["optimizer"]["properties"]["SGD"]["properties"]["momentum"]
        equal((momentum["type"], momentum["default"]), ("number", 0))
        models = {m["properties"]["name"].get("const"): m["properties"] for m in init["model"]["anyOf"]}
        check("hidden_sizes" in models["fc_mnist"] and "num_layers" not in models["fc_mnist"], "models", models)
        loaders = [m for m in trainer["fit"]["properties"]["train_dataloader"]["anyOf"] if "properties" in m]
        for loader in loaders:  # a user's input function has a library, and settings that it knows alone
            needed = {"data_processor", "batch_size"} - ({"batch_size"} if "library" in loader["required"] else set())
            check(needed <= set(loader["required"]), "data loaders", loader)
        equal(server.get(f"{API}/jobs").json()["total"], 0)
    finally:
        server.stop()


def settings_without_effect_are_told():
    """By the check, by the answer to a job's creation, and in the log of its run; the job takes place."""
    server = root_server()
    text = configuration(50).replace("    loop:", "    schedulers: [{ ConstantLR: { learning_rate: 0.02 } }]\n    loop:")
    said = "optimizer.SGD.lr is not used: schedulers sets it"
    line = next(i for i, l in enumerate(text.splitlines(), 1) if "SGD" in l)
    try:
        for depth in ("settings", "step"):
            result = server.request("POST", f"{API}/config:validate", {"config": text, "depth": depth}).json()
            equal((result["valid"], result["diagnostics"], len(result["warnings"])), (True, [], 1), result)
            warning = result["warnings"][0]
            equal((warning["severity"], warning["line"], warning["message"]), ("warning", line, said), warning)
            good = server.request("POST", f"{API}/config:validate", {"config": configuration(50), "depth": depth}).json()
            equal((good["valid"], good["warnings"]), (True, []), good)
            hints = {"backend.backend_type": "CSX", "backend.cluster_config.mgmt_address": "host:9000",
                     "backend.cluster_config.max_act_per_csx": "null", "backend.csx": "{debug: {drop_data: true}}"}
            result = server.request("POST", f"{API}/config:validate",
                                    {"config": configuration(50), "overrides": hints, "depth": depth}).json()
            equal((result["valid"], sorted(w["message"].split(" is not")[0].split(" ")[-1] for w in result["warnings"])),
                  (True, ["backend.backend_type", "backend.cluster_config.mgmt_address", "backend.csx.debug.drop_data"]), result)
        # The value that the schedule begins with needs no warning.
        other = {"config": text, "overrides": {"optimizer.SGD.lr": 0.02}}
        equal(server.request("POST", f"{API}/config:validate", {**other, "depth": "settings"}).json()["warnings"], [])
        answer = server.request("PUT", f"{API}/jobs/idle", {"config": text})
        equal((answer.status, [w["message"] for w in answer.json()["warnings"]]), (201, [said]), answer.body)
        server.wait_for("idle", "SUCCEEDED")
        log = server.get(f"{API}/jobs/idle/logs?level=warning").body.splitlines()
        lines = [json.loads(line)["message"] for line in log]
        equal(len([entry for entry in lines if said in entry]), 1, lines)
        answer = server.request("PUT", f"{API}/jobs/good", {"config": configuration(50)})
        equal((answer.status, answer.json()["warnings"]), (201, []), answer.body)
        wrong = server.request("POST", f"{API}/config:validate", {"config": text.replace("seed", "sed")}).json()
        equal((wrong["valid"], wrong["diagnostics"][0]["severity"]), (False, "error"), wrong)
    finally:
        end_jobs(server)
        server.stop()


def a_restarted_job_goes_on_from_its_own_checkpoint():
    """Whatever its configuration starts from: nothing, or a named checkpoint."""
    server = root_server()
    text = configuration(LONG, checkpoint=200)
    try:
        put(server, "first", steps=50)
        job = server.wait_for("first", "SUCCEEDED")
        origin = job["model_dir"] + "/checkpoint_50.mdl"
        for name, start in (("null", "null"), ("named", origin)):
            config = text.replace("  fit:", f"  fit:\n    ckpt_path: {start}")
            answer = server.request("PUT", f"{API}/jobs/{name}", {"config": config, "restart_policy": {"max_num_restarts": 2}})
            equal(answer.status, 201, answer.body)
            server.wait_for(name, "RUNNING")
            until = time.monotonic() + 60 * support.SLOW
            folder = server.job(name)["model_dir"]
            while not glob.glob(folder + "/checkpoint_*.mdl") and time.monotonic() < until:
                time.sleep(0.02)
            lose(server, name)
            while server.job(name)["attempt"] < 2 and time.monotonic() < until:
                time.sleep(0.02)
            server.wait_for(name, "RUNNING")
            with open(folder + "/start.log") as log:
                text_of_log = log.read()
            check("loaded checkpoint " + folder + "/checkpoint_" in text_of_log, name, text_of_log)
            act(server, name, "cancel", {"save": False})
            server.wait_for(name, "CANCELLED")
    finally:
        end_jobs(server)
        server.stop()


def templates_pass_the_check():
    server = root_server()
    try:
        shipped = sorted(n for n in os.listdir(CONFIGS) if n.endswith(".yaml"))
        templates = server.get(f"{API}/templates").json()["templates"]
        equal([t["name"] + ".yaml" for t in templates], shipped)
        for template in templates:
            with open(f"{CONFIGS}/{template['name']}.yaml", encoding="utf-8") as file:
                equal(template["config"], file.read())
            check(20 < len(template["summary"]) < 300, "a summary", template["summary"])
            result = server.request("POST", f"{API}/config:validate", {"config": template["config"]}).json()
            check(result["valid"], template["name"], result)
    finally:
        server.stop()


def a_checkpoint_in_use_is_kept():
    server = root_server("--cores", "1")
    try:
        text = configuration(300, checkpoint=100)
        server.request("PUT", f"{API}/jobs/source", {"config": text})
        server.wait_for("source", "SUCCEEDED")
        put(server, "long", resources={"cores": 1})
        server.wait_for("long", "RUNNING")
        for id, origin in (("first", {"job": "source", "step": 100}), ("newest", {"job": "source"})):
            put(server, id, resume_from=origin, resources={"cores": 1})
        for step, user in ((100, "first"), (300, "newest")):
            answer = server.request("DELETE", f"{API}/jobs/source/checkpoints/{step}")
            equal(answer.status, 409, answer.body)
            check(f'"{user}"' in answer.json()["detail"], "the job that needs it is named", answer.body)
        equal(server.request("DELETE", f"{API}/jobs/source/checkpoints/200").status, 204)
        act(server, "first", "cancel")
        server.wait_for("first", "CANCELLED")
        equal(server.request("DELETE", f"{API}/jobs/source/checkpoints/100").status, 204)
    finally:
        end_jobs(server)
        server.stop()


def a_configuration_has_a_priority_and_a_limit():
    server = root_server("--cores", "2")
    text = configuration(300).replace("backend: {", "backend: { cluster_config: { job_priority: p3 },")
    try:
        # job_priority of the configuration, unless the request has one.
        for name, asked, expected in (("third", {}, "p3"), ("second", {"priority": "p2"}, "p2")):
            spec = {"config": text, "validate_only": True, **asked}
            answer = server.request("PUT", f"{API}/jobs/{name}", spec)
            equal((answer.status, answer.json()["priority"]), (201, expected), answer.body)
            server.wait_for(name, "SUCCEEDED")
        # A limit of time is the end, whatever restarts a job has.
        put(server, "limited", steps=2000000000, restart_policy={"max_num_restarts": 3},
            overrides={"backend.cluster_config.job_time_sec": 1})
        job = server.wait_for("limited", "FAILED")
        for _ in range(100):
            if job["exit_code"] is not None:
                break
            time.sleep(0.1)
            job = server.request("GET", f"{API}/jobs/limited").json()
        equal((job["reason"], job["exit_code"], job["restarts"]), ("TIME_LIMIT", 124, 0), job)
    finally:
        end_jobs(server)
        server.stop()


def what_is_asked_for_reaches_the_run():
    """Labels, overrides, compile_only, validate_only, resume_from."""
    import sqlite3

    server = root_server("--cores", "2")
    text = configuration(300, checkpoint=100).replace("backend: {", "backend: { cluster_config: { job_labels: [from=file, a=b] },")
    try:
        answer = server.request("PUT", f"{API}/jobs/one", {"config": text, "name": "One", "labels": {"a": "x.y-2"}})
        equal((answer.status, answer.json()["labels"]), (201, {"from": "file", "a": "x.y-2"}), answer.body)
        job = server.wait_for("one", "SUCCEEDED")
        with sqlite3.connect(f"file:{job['model_dir']}/run.db?mode=ro", uri=True) as db:
            facts = dict(db.execute("SELECT key, value FROM run"))
        equal(sorted(json.loads(facts["labels"])), ["a=x.y-2", "from=file"])
        equal(facts["name"], "One")
        put(server, "other", steps=50, resume_from={"job": "one", "step": 200}, overrides={"loop.num_steps": 30, "seed": 7})
        job = server.wait_for("other", "SUCCEEDED")
        equal((job["progress"]["step"], job["seed"]), (230, 7))
        # A source that is not there is refused at once, and what there is is named.
        for origin, named in (({"job": "one", "step": 250}, ("no checkpoint of step 250", "100", "200", "300")),
                              ({"job": "onee"}, ("no job \"onee\"", "did you mean \"one\"?", "other"))):
            for method, path in (("PUT", f"{API}/jobs/nowhere"), ("POST", f"{API}/jobs")):
                answer = server.request(method, path, {"config": text, "resume_from": origin})
                equal((answer.status, answer.headers["content-type"]), (422, "application/problem+json"), answer.body)
                problem = answer.json()
                equal([e["pointer"] for e in problem["errors"]], ["/resume_from"], problem)
                for word in named:
                    check(word in problem["detail"], word, problem)
        equal(server.request("GET", f"{API}/jobs/nowhere").status, 404)
        equal(server.get(f"{API}/jobs").json()["total"], 2)
        # A checkpoint whose file is gone is none; of those that are left the newest is meant.
        os.unlink(sorted(glob.glob(server.job("one")["model_dir"] + "/checkpoint_*"))[-1])
        equal(server.request("POST", f"{API}/jobs", {"config": text, "resume_from": {"job": "one", "step": 300}}).status, 422)
        put(server, "newest", steps=50, resume_from={"job": "one"}, overrides={"loop.num_steps": 10})
        equal(server.wait_for("newest", "SUCCEEDED")["progress"]["step"], 210)
        for word in ("compile_only", "validate_only"):
            put(server, word, **{word: True})
            equal(server.wait_for(word, "SUCCEEDED")["progress"]["step"], None, word)
    finally:
        end_jobs(server)
        server.stop()


def verbs_take_effect():
    server = root_server()
    try:
        put(server, "v")
        server.wait_for("v", "RUNNING")
        act(server, "v", "pause", {"message": "lunch"})
        server.wait_for("v", "PAUSED")
        step = server.job("v")["progress"]["step"]
        act(server, "v", "pause")  # again: no failure
        act(server, "v", "checkpoint")
        until = time.monotonic() + 20
        while not (saved := server.get(f"{API}/jobs/v/checkpoints").json()["checkpoints"]):
            check(time.monotonic() < until, "no checkpoint")
            time.sleep(0.05)
        check(abs(saved[0]["step"] - step) <= 5000, saved, step)
        time.sleep(0.3)
        equal(server.get(f"{API}/jobs/v/checkpoints").json()["checkpoints"][-1]["step"], saved[0]["step"])
        act(server, "v", "resume")
        server.wait_for("v", "RUNNING")
        reasons = [t["message"] + str(t["reason"]) for t in
                   server.get(f"{API}/jobs/v/transitions").json()["transitions"]]
        check(any("lunch" in r for r in reasons), reasons)
        until = time.monotonic() + 60
        while server.job("v")["progress"]["step"] <= saved[0]["step"]:
            check(time.monotonic() < until, "no further step")
            time.sleep(0.05)
        act(server, "v", "cancel", {"save": True})
        server.wait_for("v", "CANCELLED")
        last = server.get(f"{API}/jobs/v/checkpoints").json()["checkpoints"][-1]["step"]
        check(last > saved[0]["step"], "no checkpoint at the end")
        act(server, "v", "cancel")  # has ended: still no failure
        act(server, "v", "pause", status=409)
        act(server, "nobody", "pause", status=404)
        # An ended job goes on from its last checkpoint, once its process has ended.
        until = time.monotonic() + 60
        while "resume" not in server.job("v")["capabilities"]:
            check(time.monotonic() < until, "the job's process does not end")
            time.sleep(0.05)
        act(server, "v", "resume")
        server.wait_for("v", "RUNNING")
        job = server.job("v")
        equal(job["attempt"], 2)
        series = server.get(f"{API}/jobs/v/metrics?names=loss&attempt=2&max_points=100").json()["series"]
        check(not series or series[0]["step"][0] == last + 1, "the second attempt begins behind", last)
        act(server, "v", "kill")
        server.wait_for("v", "CANCELLED", "FAILED")
    finally:
        end_jobs(server)
        server.stop()


def a_finished_job_is_not_started_again():
    """There is no step left to do: it is told, and every point, the kernels' times, progress, begin and end stay."""
    server = root_server()
    try:
        put(server, "done", steps=3000)
        server.wait_for("done", "SUCCEEDED")
        support.until(lambda: not server.job("done")["alive"])
        before = server.job("done")
        path = f"{API}/jobs/done"
        read = ["/metrics?max_points=20000&names=loss,lr/0,samples_per_second", "/kernels", "/trace", "/checkpoints",
                "/graph", "/precision"]
        had = {name: server.get(path + name).json() for name in read}
        check(had["/kernels"]["step"] is not None, "kernels were timed")
        check("resume" not in before["capabilities"], before["capabilities"])
        answer = server.request("POST", f"{path}/resume")
        equal(answer.status, 409)
        check("all 3000 steps are done" in answer.json()["detail"], answer.json())
        after = server.job("done")
        for name in ("started_ms", "ended_ms", "progress", "exit_code"):
            equal(after[name], before[name], name)
        for name in read:
            has = server.get(path + name).json()
            for part in ("last_event_id", "attempts"):
                has.pop(part, None), had[name].pop(part, None)
            equal(has, had[name], name)
        # The same of the run's own directory.
        alone = support.Server("--run", f"{before['model_dir']}")
        try:
            job = alone.get(f"{API}/jobs").json()["jobs"][0]
            equal((job["ended_ms"], job["progress"]), (before["ended_ms"], before["progress"]))
        finally:
            alone.stop()
    finally:
        end_jobs(server)
        server.stop()


def a_job_scales_also_beyond_its_start():
    """Fewer replicas while it runs; more by a new attempt from a checkpoint, whose losses are those
    of a run that was left alone."""
    steps = as_long(40000)
    last = steps * 39 // 40
    server = root_server("--cores", "4")
    try:
        put(server, "alone", steps=steps)
        put(server, "scaled", steps=steps)
        server.wait_for("scaled", "RUNNING")
        detail = act(server, "scaled", "scale", {"num_csx": 3})["detail"]
        check("3 replicas" in detail, detail)
        for id in ("scaled", "alone"):
            server.wait_for(id, "SUCCEEDED")
        job = server.job("scaled")
        equal((job["attempt"], job["num_csx"], job["progress"]["step"]), (2, 3, steps))
        series = server.get(f"{API}/jobs/scaled/metrics?names=loss&attempt=2&max_points=20000&from={last}").json()["series"][0]
        alone = server.get(f"{API}/jobs/alone/metrics?names=loss&max_points=20000&from={last}").json()["series"][0]
        equal((series["step"], series["value"]), (alone["step"], alone["value"]), "the same bits")
    finally:
        end_jobs(server)
        server.stop()


def the_queue_has_an_order():
    server = root_server("--cores", "2")
    try:
        put(server, "runs", resources={"cores": 2})
        server.wait_for("runs", "RUNNING")
        put(server, "low", steps=50, priority="p3")
        put(server, "high", steps=50, priority="p0", resources={"cores": 2})
        put(server, "middle", steps=50)
        time.sleep(0.6)
        waits = {id: server.job(id)["waiting_for"] for id in ("low", "high", "middle")}
        check("2 of 2 are taken, by runs" in waits["high"], waits)
        check("high" in waits["low"] and "high" in waits["middle"], waits)
        # A lower number goes first; changed words need the tag that was read.
        equal(server.request("PATCH", f"{API}/jobs/low", {"priority": "p0"}).status, 428)
        tag = server.get(f"{API}/jobs/low").headers["ETag"]
        answer = server.request("PATCH", f"{API}/jobs/low", {"priority": "p0", "labels": {"a": "b"}}, {"If-Match": tag})
        equal((answer.status, answer.json()["priority"], answer.json()["labels"]), (200, "p0", {"a": "b"}))
        equal(server.request("PATCH", f"{API}/jobs/low", {"priority": "p1"}, {"If-Match": tag}).status, 412)
        act(server, "middle", "cancel")
        equal(server.job("middle")["state"], "CANCELLED")
        act(server, "runs", "cancel", {"save": False})
        server.wait_for("low", "SUCCEEDED")
        server.wait_for("high", "SUCCEEDED")
        check(server.job("low")["started_ms"] <= server.job("high")["started_ms"], "the order")
        found = server.get(f"{API}/jobs?label=a=b").json()
        equal(([j["id"] for j in found["jobs"]], found["total"]), (["low"], 1))
        # Pages.
        seen, token = [], ""
        while token is not None:
            page = server.get(f"{API}/jobs?limit=2&page_token={token}").json()
            seen += [j["id"] for j in page["jobs"]]
            token = page["next_page_token"]
        equal(sorted(seen), ["high", "low", "middle", "runs"])
        equal(server.get(f"{API}/jobs?page_token=abc").status, 400)
    finally:
        end_jobs(server)
        server.stop()


def last_digest(server, id):
    checkpoints = server.get(f"{API}/jobs/{id}/checkpoints").json()["checkpoints"]
    return max(checkpoints, key=lambda checkpoint: checkpoint["step"])["digest"]


def kill_unseen(server, id):
    pid, folder = server.job(id)["pid"], server.job(id)["model_dir"]
    server.process.send_signal(signal.SIGSTOP)
    try:
        os.kill(pid, signal.SIGKILL)
        support.until(lambda: not is_locked(f"{folder}/run.lock"))
    finally:
        server.process.send_signal(signal.SIGCONT)


def is_locked(path):
    with open(path) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def a_job_whose_process_is_killed_goes_on():
    """Nobody asked for its end: it needs no restart policy, and does each step once."""
    import sqlite3

    steps = as_long(60000)
    server = root_server("--cores", "2")
    try:
        put(server, "undisturbed", steps=steps)
        server.wait_for("undisturbed", "SUCCEEDED")
        digest = last_digest(server, "undisturbed")
        for id in ("alone", "both", "late"):
            put(server, id, steps=steps)
            server.wait_for(id, "RUNNING")
            time.sleep(0.3)
            if id == "both":
                act(server, id, "checkpoint")
                support.until(lambda: server.get(f"{API}/jobs/{id}/checkpoints").json()["checkpoints"])
                lose(server, id)
            elif id == "late":  # what is left of the run has ended when the server looks
                kill_unseen(server, id)
            else:
                os.kill(server.job(id)["pid"], signal.SIGKILL)
            job = server.wait_for(id, "SUCCEEDED")
            equal((job["attempt"], job["restarts"], last_digest(server, id)), (2, 0, digest), id)
            check(set(history(server, id)) & {"RECOVERING", "QUEUED"}, id, history(server, id))
        # Alone: its coordinator saved the step that it had reached.
        folder = server.job("alone")["model_dir"]
        with sqlite3.connect(f"file:{folder}/run.db?mode=ro", uri=True) as db:
            rows = db.execute("select count(*), count(distinct step) from points p join series s on "
                              "s.id = p.series where s.name = 'loss'").fetchone()
        equal(rows, (steps, steps))
    finally:
        end_jobs(server)
        server.stop()


def a_wrong_configuration_is_never_taken():
    """Though its settings by themselves are right: the step is traced, as to validate it."""
    root = support.folder() + "/root"
    server = root_server("--cores", "2", root=root)
    body = {"config": configuration(50), "overrides": {"fit.train_dataloader.micro_batch_size": 7}}
    try:
        found = server.request("POST", f"{API}/config:validate", body).json()["diagnostics"]
        for answer in (server.request("PUT", f"{API}/jobs/wrong", body), server.request("POST", f"{API}/jobs", body)):
            equal((answer.status, answer.json()["errors"]), (422, found), answer.body)
        check("micro_batch_size" in found[0]["message"], found)
        equal(server.get(f"{API}/jobs").json()["total"], 0)
        equal([name for name in os.listdir(root) if name.startswith("wrong")], [], "a folder stays")
    finally:
        end_jobs(server)
        server.stop()


def a_job_cannot_have_others_killed():
    """The processes that a job's run store names are its own words."""
    import sqlite3

    server = root_server()
    others = [subprocess.Popen(["sleep", "1000"]) for _ in range(2)]
    try:
        put(server, "forger")
        server.wait_for("forger", "RUNNING")
        with sqlite3.connect(server.job("forger")["model_dir"] + "/run.db", timeout=30) as db:
            for key, other in zip(("pid", "first_pid"), others):
                db.execute("UPDATE run SET value = ? WHERE key = ?", (str(other.pid), key))
        act(server, "forger", "kill")
        server.wait_for("forger", "CANCELLED", "FAILED")
        equal([other.poll() for other in others], [None, None], "processes of others")
    finally:
        for other in others:
            other.kill()
            other.wait()
        end_jobs(server)
        server.stop()


def jobs_outlive_a_killed_server():
    root = support.folder() + "/root"
    server = root_server("--cores", "2", root=root)
    stop = threading.Event()

    def ask(method, path, body=None):
        while not stop.is_set():
            try:
                server.request(method, path, body)
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)

    askers = []
    try:
        put(server, "runs")
        put(server, "short", steps=3000)
        for id in ("runs",):
            server.wait_for(id, "RUNNING")
        put(server, "waits", steps=50, resources={"cores": 2})
        for arguments in (("GET", f"{API}/jobs"), ("GET", f"{API}/jobs/runs/metrics"),
                          ("POST", f"{API}/jobs/runs/checkpoint"), ("POST", f"{API}/jobs/waits/pause")):
            askers.append(threading.Thread(target=ask, args=arguments))
            askers[-1].start()
        time.sleep(0.3)
        pid = coordinator_of(server, "runs")
        for _ in range(3):  # at any moment of any request
            server.kill()
            os.kill(pid, 0)  # it is there
            server.start()
            time.sleep(0.2)
        stop.set()
        for asker in askers:
            asker.join()
        job = server.job("runs")
        equal((job["state"], job["alive"], job["attempt"]), ("RUNNING", True, 1))
        equal(coordinator_of(server, "runs"), pid)
        server.wait_for("short", "SUCCEEDED")
        equal(server.job("waits")["state"], "QUEUED")
        # What ended while no server was there is found in its store.
        server.kill()
        os.kill(pid, signal.SIGINT)
        until = time.monotonic() + 30
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
            time.sleep(0.05)
        server.start()
        equal(server.wait_for("runs", "CANCELLED", seconds=20)["state"], "CANCELLED")
        server.wait_for("waits", "SUCCEEDED")
    finally:
        stop.set()
        end_jobs(server)
        server.stop()


def what_a_killed_server_left_half_done_is_no_obstacle():
    root = support.folder() + "/root"
    server = root_server(root=root)
    try:
        os.mkdir(root + "/half")
        with open(root + "/half/submitted.yaml.part", "w") as f:
            f.write("trainer")
        put(server, "half", steps=50)
        server.wait_for("half", "SUCCEEDED")
        os.mkdir(root + "/other")
        with open(root + "/other/precious", "w") as f:
            f.write("x")
        body = {"config": configuration(50)}
        equal(server.request("PUT", f"{API}/jobs/other", body).status, 409, "files that are not ours")
        check(os.path.exists(root + "/other/precious"), "a file is gone")
    finally:
        end_jobs(server)
        server.stop()


def a_run_that_vanished_is_shown_as_failed():
    folder = support.folder()
    with open(folder + "/c.yaml", "w") as f:
        f.write(configuration(LONG))
    run = subprocess.Popen([EXECUTABLE, "start", folder + "/c.yaml", "--model_dir", folder + "/r", "--no_dashboard"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30 * support.SLOW
        while not os.path.exists(folder + "/r/run.db") and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        server = Server("--run", folder + "/r")
        try:
            server.wait_for("r", "RUNNING")
            kill_both(run.pid, coordinator_of(server, "r"))
            run.wait(30)
            job = server.wait_for("r", "FAILED")
            equal((job["reason"], job["alive"], job["retryable"]), ("INTERRUPTED", False, True))
            equal(job["capabilities"], [])
            act(server, "r", "kill", status=409)
        finally:
            server.stop()
    finally:
        if run.poll() is None:
            run.terminate()
            run.wait()


def a_root_has_one_server():
    root = support.folder() + "/root"
    server = root_server(root=root)
    try:
        with open(root + "/server.json") as f:
            note = json.load(f)
        equal((note["url"], note["pid"], note["mode"]), (server.url, server.process.pid, "root"))
        result = subprocess.run([EXECUTABLE, "serve", "--root", root], capture_output=True, timeout=20 * support.SLOW)
        equal(result.returncode, 75)
        check(b"another server" in result.stderr, result.stderr)
    finally:
        server.stop()
    check(not os.path.exists(root + "/server.json"), "the note stays behind")


def a_run_started_by_hand_shows_itself():
    folder = support.folder()
    with open(folder + "/c.yaml", "w") as f:
        f.write(configuration(LONG))
    environment = {k: v for k, v in os.environ.items() if k != "CSE_DASHBOARD"}
    run = subprocess.Popen([EXECUTABLE, "start", folder + "/c.yaml", "--model_dir", folder + "/r", "--json"],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    try:
        note = json.loads(run.stdout.readline())
        while note["event"] != "listening":
            note = json.loads(run.stdout.readline())
        server = Server.__new__(Server)
        server.host, _, port = note["url"][7:].rpartition(":")
        server.port = int(port)
        server.authorization = support.authorization(note["token_file"])
        server.wait_for("r", "RUNNING")
        equal(server.request("POST", f"{API}/jobs", {"config": "a: 1"}).status, 501)
        act(server, "r", "cancel", {"save": False})
        run.wait(30 * support.SLOW)
        until = time.monotonic() + 10
        while os.path.exists(f"/proc/{note['pid']}") and time.monotonic() < until:
            time.sleep(0.05)
        check(not os.path.exists(f"/proc/{note['pid']}"), "the server stays behind")
    finally:
        if run.poll() is None:
            run.terminate()
            run.wait()
        run.stdout.close()


if __name__ == "__main__":
    support.main([
        the_same_call_twice_is_one_job, faults_have_their_place, settings_without_effect_are_told,
        a_restarted_job_goes_on_from_its_own_checkpoint, a_job_from_creation_to_removal,
        templates_pass_the_check, a_configuration_has_a_priority_and_a_limit,
        what_is_asked_for_reaches_the_run, verbs_take_effect,
        a_checkpoint_in_use_is_kept,
        a_finished_job_is_not_started_again,
        a_job_scales_also_beyond_its_start, the_queue_has_an_order, a_job_whose_process_is_killed_goes_on,
        a_wrong_configuration_is_never_taken,
        a_job_cannot_have_others_killed, jobs_outlive_a_killed_server,
        what_a_killed_server_left_half_done_is_no_obstacle,
        a_run_that_vanished_is_shown_as_failed, a_root_has_one_server, a_run_started_by_hand_shows_itself,
    ])
