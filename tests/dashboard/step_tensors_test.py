"""Tensors of past steps of a job: what the route answers is what `csengine inspect` shows; one replay is
at a time, its progress is seen, it can be ended, and nothing of it stays."""
import json
import os
import subprocess

import support
from support import API, EXECUTABLE, Server, as_long, check, configuration, equal, fits, until

STEPS = 60


def submit(server, id, steps, checkpoint=1000000):
    answer = server.request("PUT", f"{API}/jobs/{id}", {"config": configuration(steps, checkpoint)})
    equal(answer.status, 201, answer.body)
    server.wait_for(id, "SUCCEEDED", seconds=120)


def ask(server, id, step, body=None):
    return server.request("POST", f"{API}/jobs/{id}/steps/{step}/tensors", body or {})


def shown(server, id, step):
    answer = server.get(f"{API}/jobs/{id}/steps/{step}/tensors")
    equal(answer.status, 200, answer.body)
    description = server.get("/openapi.json").json()
    faults = fits(description, description["components"]["schemas"]["StepTensors"], answer.json())
    equal(faults, [])
    return answer.json()


def found(server, id, step, seconds=120):
    def ended():
        value = shown(server, id, step)
        return value if value["state"] != "running" else None

    return until(ended, seconds)


def inspect(place, *options):
    done = subprocess.run([EXECUTABLE, "inspect", place, "--json", *options], capture_output=True, text=True)
    equal(done.returncode, 0, done.stderr)
    # The API writes 15 digits, of which float32 needs 9.
    return json.loads(done.stdout, parse_float=lambda text: float(f"{float(text):.15g}"))


def replays_of(root):
    place = f"{root}/.replays"
    return os.listdir(place) if os.path.isdir(place) else []


def processes_of(root):
    """Processes with the folder of replays in their arguments."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                if f"{root}/.replays" in f.read():
                    found.append(pid)
        except OSError:
            pass
    return found


def the_answer_is_that_of_inspect():
    root = support.folder()
    server = Server("--root", root)
    try:
        submit(server, "a", STEPS, checkpoint=20)
        equal(server.get(f"{API}/jobs/a/steps/33/tensors").status, 404)
        answer = ask(server, "a", 33, {"tensor": "last_layer.bias", "values": 4})
        equal(answer.status, 202, answer.body)
        equal(answer.headers["Location"], f"{API}/jobs/a/steps/33/tensors")
        value = found(server, "a", 33)
        equal(value["state"], "done", value)
        equal(value["answer"]["bits"], "same")
        equal(value["answer"]["from"], 20)
        local = inspect(f"{root}/a", "--step", "33", "--tensor", "last_layer.bias", "--values", "4")
        equal(len(local["tensors"]), 1)
        equal(value["answer"]["tensors"], local["tensors"])
        equal(value["answer"]["chain"], local["chain"])
        # It is kept, and another question of the step takes its place.
        equal(ask(server, "a", 33, {"tensor": "last_layer.bias", "values": 4}).status, 200)
        equal(ask(server, "a", 33, {"tensor": ".*gradient", "microbatch": 1}).status, 202)
        value = found(server, "a", 33)
        local = inspect(f"{root}/a", "--step", "33", "--tensor", ".*gradient", "--microbatch", "1")
        check(len(local["tensors"]) == 4, local)
        equal(value["answer"]["tensors"], local["tensors"])
        # What cannot be answered says why.
        equal(ask(server, "a", STEPS + 1).status, 404)
        equal(ask(server, "none", 3).status, 404)
        equal(ask(server, "a", 5, {"tensors": "bias"}).status, 422)
        equal(ask(server, "a", 5, {"tensor": "nothing"}).status, 202)
        value = found(server, "a", 5)
        equal(value["state"], "failed")
        check("nothing" in value["message"], value)
        equal(ask(server, "a", 40).status, 202)  # the states of a checkpoint: nothing is done again
        value = found(server, "a", 40)
        equal((value["answer"]["from"], value["answer"]["bits"]), (40, "same"))
        equal(server.request("DELETE", f"{API}/jobs/a/steps/40/tensors").status, 204)
        equal(server.get(f"{API}/jobs/a/steps/40/tensors").status, 404)
        until(lambda: not replays_of(root))
    finally:
        server.stop()


def one_is_at_a_time_and_can_be_ended():
    root = support.folder()
    server = Server("--root", root)
    try:
        steps = as_long(60000)
        submit(server, "a", STEPS, checkpoint=20)
        submit(server, "b", steps)
        equal(ask(server, "b", steps - 1).status, 202)
        until(lambda: (shown(server, "b", steps - 1)["last_step"] or 0) > 0)
        busy = ask(server, "a", 33)
        equal(busy.status, 503, busy.body)
        check("Retry-After" in busy.headers, busy.headers)
        equal(ask(server, "b", steps - 1, {"tensor": "last_layer.bias"}).status, 409)
        equal(ask(server, "b", steps - 1).status, 200)
        check(len(replays_of(root)) == 1 and processes_of(root), replays_of(root))
        equal(server.request("DELETE", f"{API}/jobs/b/steps/{steps - 1}/tensors").status, 204)
        equal(server.get(f"{API}/jobs/b/steps/{steps - 1}/tensors").status, 404)
        until(lambda: not replays_of(root) and not processes_of(root))
        equal(ask(server, "a", 33, {"tensor": "last_layer.bias"}).status, 202)
        equal(found(server, "a", 33)["state"], "done")
        # A server that ends, ends its replay; one that was killed leaves nothing to the next.
        equal(ask(server, "b", steps - 1).status, 202)
        until(lambda: processes_of(root))
        server.stop()
        equal((replays_of(root), processes_of(root)), ([], []))
        os.makedirs(f"{root}/.replays/csengine-step-left")
        server.start()
        equal(replays_of(root), [])
        equal(server.get(f"{API}/jobs/a/steps/33/tensors").status, 404)
        equal(server.job("a")["state"], "SUCCEEDED")
    finally:
        server.stop()


if __name__ == "__main__":
    support.main([the_answer_is_that_of_inspect, one_is_at_a_time_and_can_be_ended])
