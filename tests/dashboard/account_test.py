"""The account of cores and memory: what a job takes, what is refused and what waits, for the server and
for each token; and that what a validation refuses no way into the queue takes."""
import os
import subprocess

import support
from support import API, EXECUTABLE, LONG, Server, check, configuration, end_jobs, equal, until

YAML = {"Content-Type": "application/yaml"}
CLUSTER = "backend.cluster_config."
MANY = {"fit.train_dataloader.batch_size": 256, "fit.train_dataloader.micro_batch_size": 2}


def root_server(*arguments, root=None):
    return Server("--root", root or support.folder() + "/root", *arguments)


def layers(text):
    return f"""trainer:
  init:
    model:
      name: layers
      input_shape: [16]
      layers:
        - {text}
        - linear: {{out: 2}}
    optimizer: {{SGD: {{lr: 0.1}}}}
    loop: {{num_steps: 2}}
  fit:
    train_dataloader: {{data_processor: synthetic, batch_size: 4}}
"""


def put(server, id, overrides=None, steps=LONG, headers=None, **more):
    body = {"config": configuration(steps), "overrides": overrides or {}, **more}
    return server.request("PUT", f"{API}/jobs/{id}", body, headers)


def taken(answer):
    equal(answer.status, 201, answer.body)
    return answer.json()


def errors(answer, status=422):
    equal(answer.status, status, answer.body)
    return answer.json()["errors"]


def what_a_validation_refuses_no_way_takes():
    server = root_server()
    try:
        wrong = [(layers("repeat: {count: 1000000, layers: [linear: {out: 16}]}"), {}),
                 (layers("conv2d: {out: 4}"), {}),
                 (layers("linear: {out: 0}"), {}),
                 (configuration(2), {"fit.train_dataloader.micro_batch_size": 7}),
                 (configuration(2), {CLUSTER + "num_csx": 0}),
                 (configuration(2), {"fit.train_dataloader.data_dir": "/nowhere/x.csv"})]
        for text, overrides in wrong:
            body = {"config": text, "overrides": overrides}
            found = server.request("POST", f"{API}/config:validate", body).json()
            check(not found["valid"], text, found)
            ways = [server.request("PUT", f"{API}/jobs/a", body), server.request("POST", f"{API}/jobs", body),
                    server.request("PUT", f"{API}/jobs/b", {**body, "validate_only": True, "name": "b"})]
            if not overrides:
                ways.append(server.request("POST", f"{API}/jobs", text.encode(), YAML))
            for answer in ways:
                equal(errors(answer), found["diagnostics"], text)
        equal(server.get(f"{API}/jobs").json()["total"], 0)
        right = server.request("POST", f"{API}/config:validate", {"config": configuration(2)}).json()
        equal(right["takes"], taken(put(server, "right", steps=2))["resources"])
    finally:
        end_jobs(server)
        server.stop()


def cores_are_those_of_the_processes():
    server = root_server("--cores", "4")
    try:
        for overrides, cores in (({"num_csx": 2}, 2), ({"num_workers_per_csx": 3}, 3),
                                 ({"num_csx": 2, "num_workers_per_csx": 2}, 4), ({"max_wgt_servers": 3}, 4),
                                 ({"num_csx": 2, "max_wgt_servers": 2}, 4)):
            body = {"config": configuration(2), "overrides": {CLUSTER + k: v for k, v in overrides.items()}}
            equal(server.request("POST", f"{API}/config:validate", body).json()["takes"]["cores"], cores, overrides)
        for overrides, word in (({"num_workers_per_csx": 64}, "64 cores (1 replica with 64 input workers each)"),
                                ({"num_csx": 64}, "64 cores (64 replicas with 1 input worker each)"),
                                ({"max_wgt_servers": 4}, "5 cores (1 replica with 1 input worker each and 4 weight servers)")):
            fault = errors(put(server, "many", {**MANY, **{CLUSTER + k: v for k, v in overrides.items()}}))[0]
            check(word in fault["message"] and "this server gives at most 4" in fault["message"], fault)
            check("--cores N" in fault["hint"], fault)
        # Of a file's own setting the place is told; replicas beyond the microbatches do not exist.
        text = configuration(2).replace("backend: {", "backend: { cluster_config: { num_workers_per_csx: 9 },")
        fault = errors(server.request("PUT", f"{API}/jobs/placed", {"config": text}))[0]
        line = text.splitlines()[fault["line"] - 1]
        check(line[fault["column"] - 1:].startswith("9"), fault, line)
        equal(taken(put(server, "few", {**MANY, "fit.train_dataloader.micro_batch_size": 128, CLUSTER + "num_csx": 64},
                        steps=2))["resources"]["cores"], 2)
        # A statement may be more than is counted, and no less.
        equal(taken(put(server, "states", steps=2, resources={"cores": 3}))["resources"]["cores"], 3)
        fault = errors(put(server, "less", {CLUSTER + "num_csx": 2}, resources={"cores": 1}))[0]
        equal(fault["pointer"], "/resources/cores")
        check("takes 2 cores" in fault["message"] and "states 1" in fault["message"], fault)
        fault = errors(put(server, "too-many", resources={"cores": 5}))[0]
        equal(fault["pointer"], "/resources/cores")
    finally:
        end_jobs(server)
        server.stop()


def the_operator_permits_more_than_there_is():
    cores = min(os.cpu_count() + 2, 64)
    server = root_server("--cores", str(cores))
    try:
        equal(taken(put(server, "many", {CLUSTER + "num_workers_per_csx": cores}, steps=2))["resources"]["cores"], cores)
        server.wait_for("many", "SUCCEEDED")
    finally:
        end_jobs(server)
        server.stop()


def memory_is_promised_once():
    server = root_server("--memory_mib", "400", "--cores", "8")
    try:
        first = taken(put(server, "first"))
        check(100 << 20 < first["resources"]["memory_bytes"] < 400 << 20, first["resources"])
        taken(put(server, "second", steps=2))
        server.wait_for("first", "RUNNING")
        until(lambda: "MiB of memory" in (server.job("second")["waiting_for"] or ""))
        equal(server.job("second")["state"], "QUEUED")
        server.request("POST", f"{API}/jobs/first/kill")
        server.wait_for("second", "SUCCEEDED")
        fault = errors(put(server, "large", {"model.hidden_sizes": "[6000, 6000]"}))[0]
        check("this server gives at most 400" in fault["message"] and "--memory_mib N" in fault["hint"], fault)
        fault = errors(put(server, "states", resources={"memory_bytes": 1 << 20}))[0]
        equal(fault["pointer"], "/resources/memory_bytes")
    finally:
        end_jobs(server)
        server.stop()


def a_plan_counts_what_processes_have():
    """The pages of a run's processes, each shared one once, are within what its plan says, and more than a third of it."""
    server = root_server("--cores", "8")
    try:
        overrides = {"model.hidden_sizes": "[3500, 3500]", CLUSTER + "num_csx": 2, CLUSTER + "num_workers_per_csx": 2,
                     "fit.train_dataloader.micro_batch_size": 32}
        job = taken(put(server, "large", overrides))
        server.wait_for("large", "RUNNING")
        until(lambda: (server.job("large")["progress"]["step"] or 0) > 0)
        session, bytes = server.job("large")["pid"], 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[3]) == session:
                    bytes += 1024 * sum(int(line.split()[1]) for line in open(f"/proc/{pid}/smaps_rollup")
                                        if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
            except OSError:
                pass
        plan = job["resources"]["memory_bytes"]
        check(plan / 3 < bytes <= plan, f"{bytes >> 20} MiB are there, the plan says {plan >> 20}")
    finally:
        end_jobs(server)
        server.stop()


def a_server_with_less_to_give_starts_no_more():
    root = support.folder() + "/root"
    server = root_server("--cores", "2", root=root)
    try:
        taken(put(server, "runs", {CLUSTER + "num_csx": 2}))
        server.wait_for("runs", "RUNNING")
        taken(put(server, "waits", {CLUSTER + "num_csx": 2}, steps=2))
        taken(put(server, "small", steps=2))
        server.stop()
        server = root_server("--cores", "1", root=root)
        server.request("POST", f"{API}/jobs/runs/kill")
        server.wait_for("small", "SUCCEEDED")  # not behind a job that cannot start
        job = server.job("waits")
        check(job["state"] == "QUEUED" and "gives at most 1 (csengine serve --cores N)" in job["waiting_for"], job)
        answer = server.request("POST", f"{API}/jobs/runs/resume")
        check(answer.status == 409 and "for ever" in answer.json()["detail"], answer.body)
        server.stop()
        server = root_server("--cores", "2", root=root)
        server.wait_for("waits", "SUCCEEDED")
    finally:
        end_jobs(server)
        server.stop()


def more_replicas_are_checked_like_a_new_job():
    server = root_server("--cores", "2")
    try:
        taken(put(server, "one"))
        server.wait_for("one", "RUNNING")
        answer = server.request("POST", f"{API}/jobs/one/scale", {"num_csx": 3})
        check(answer.status == 409 and "takes 2 cores" not in answer.json()["detail"], answer.body)
        check("gives at most 2" in answer.json()["detail"], answer.body)
        equal(server.job("one")["state"], "RUNNING")
    finally:
        end_jobs(server)
        server.stop()


# ---- tokens ----

OWN, VISION, SPEECH = "operator-0123456789", "vision-0123456789abc", "speech-0123456789abc"


def token_file(*lines):
    path = support.folder() + "/tokens"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as f:
        f.write("\n".join(lines) + "\n")
    return path


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def tokens_have_accounts_of_their_own():
    lines = (OWN, "", f"{VISION} name=vision cores=1 jobs=2", f"{SPEECH} name=speech memory_mib=300")
    server = root_server("--cores", "4", "--token_file", token_file(*lines))
    try:
        equal(taken(put(server, "v1", headers=bearer(VISION)))["token"], "vision")
        server.wait_for("v1", "RUNNING")
        taken(put(server, "v2", headers=bearer(VISION)))
        until(lambda: "1 of 1 of the token \"vision\" are taken, by v1" in (server.job("v2")["waiting_for"] or ""))
        # Neither the other token's jobs nor the operator's wait for that.
        taken(put(server, "s1", headers=bearer(SPEECH)))
        taken(put(server, "o1"))
        server.wait_for("s1", "RUNNING")
        server.wait_for("o1", "RUNNING")
        equal(server.job("o1")["token"], None)
        answer = put(server, "v3", headers=bearer(VISION))
        check(answer.status == 429 and "\"vision\" has 2 jobs" in answer.json()["detail"], answer.body)
        fault = errors(put(server, "v4", {CLUSTER + "num_csx": 2}, headers=bearer(VISION)))[0]
        check("the token \"vision\" gives at most 1" in fault["message"] and "cores=N in its line" in fault["hint"], fault)
        fault = errors(put(server, "s2", {"model.hidden_sizes": "[4000, 4000]"}, headers=bearer(SPEECH)))[0]
        check("the token \"speech\" gives at most 300" in fault["message"], fault)
        # Each steers its own jobs, and reads all.
        for method, path, body in (("POST", "v1/cancel", None), ("POST", "v1/kill", None), ("PATCH", "v1", {"name": "x"}),
                                   ("POST", "o1/cancel", None)):
            answer = server.request(method, f"{API}/jobs/{path}", body, {**bearer(SPEECH), "If-Match": "*"})
            check(answer.status == 403 and "speech" in answer.json()["detail"], answer.body)
        equal(server.request("GET", f"{API}/jobs/v1", headers=bearer(SPEECH)).status, 200)
        equal(server.request("POST", f"{API}/jobs/v2/cancel", headers=bearer(VISION)).status, 202)
        equal(server.request("POST", f"{API}/jobs/v1/kill").status, 202)  # the operator's token
        names = {(e["path"].split("/")[-1], e["token"]) for e in server.get(f"{API}/audit").json()["entries"]}
        check({("v1", "vision"), ("s1", "speech"), ("o1", None), ("kill", None)} <= names, names)
        # A page of a browser has the rights of the token that it was opened with.
        cookie = server.request("POST", "/session", {"token": SPEECH}, {"Authorization": ""}).headers["Set-Cookie"].split(";")[0]
        state = server.request("GET", "/session", headers={"Cookie": cookie}).json()
        equal(state["token"], {"name": "speech", "cores": None, "memory_bytes": 300 << 20, "jobs": None})
        equal(server.request("POST", f"{API}/jobs/o1/kill", headers={"Cookie": cookie}).status, 403)
        equal(server.request("GET", f"{API}/jobs", headers=bearer(SPEECH[:-1])).status, 401)
        # A key that is used again by another token is another call's.
        key = {"Idempotency-Key": "k"}
        body = {"config": configuration(2)}
        ids = {server.request("POST", f"{API}/jobs", body, {**bearer(t), **key}).json()["id"] for t in (OWN, VISION)}
        equal(len(ids), 2)
    finally:
        end_jobs(server)
        server.stop()


def a_wrong_token_file_is_refused():
    for lines, code, word in (((f"{VISION} cores=1",), 78, "limits need a name"), ((f"{VISION} name=a/b",), 78, "a name has"),
                              ((f"{VISION} name=a", f"{SPEECH} name=a"), 78, "tokens:2:1"), ((VISION, VISION), 78, "earlier line"),
                              ((f"{VISION} name=a cores=0",), 78, "cores=0"), ((f"{VISION} colour=1",), 78, "unknown word"),
                              (("short",), 65, "line 1"), ((), 65, "line 1")):
        command = [EXECUTABLE, "serve", "--root", support.folder() + "/root", "--token_file", token_file(*lines)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        equal(ended.returncode, code, ended.stderr)
        check(word in ended.stderr and VISION not in ended.stderr, word, ended.stderr)


if __name__ == "__main__":
    # A sanitizer's own memory is in no plan.
    measured = [a_plan_counts_what_processes_have] if support.SANITIZER == "no" else []
    support.main([
        what_a_validation_refuses_no_way_takes, cores_are_those_of_the_processes, the_operator_permits_more_than_there_is,
        memory_is_promised_once, *measured, a_server_with_less_to_give_starts_no_more,
        more_replicas_are_checked_like_a_new_job, tokens_have_accounts_of_their_own, a_wrong_token_file_is_refused,
    ])
