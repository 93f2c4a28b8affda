"""Tensors of past steps of a job: what the route answers is what `csengine inspect` shows; one replay is
at a time, its progress is seen, it can be ended, and nothing of it stays."""
import io
import json
import math
import os
import struct
import subprocess
import urllib.parse
import zipfile

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


def part(server, what, tensor=None, step=33, **query):
    if tensor is not None:
        query["tensor"] = tensor
    text = urllib.parse.urlencode({name: str(value) for name, value in query.items()}, safe=",-")
    return server.get(f"{API}/jobs/a/steps/{step}/{what}?{text}")


def cells(server, tensor, **query):
    answer = part(server, "values", tensor, **query)
    equal((answer.status, answer.headers["Content-Type"]), (200, "application/octet-stream"), answer.body)
    return list(struct.unpack(f"<{len(answer.body) // 4}f", answer.body))


def array_of(npy):
    """Shape and values of an array of NumPy, without NumPy."""
    equal(npy[:8], b"\x93NUMPY\x01\x00")
    size = struct.unpack("<H", npy[8:10])[0]
    head = eval(npy[10 : 10 + size], {"__builtins__": {}})
    equal((head["descr"], head["fortran_order"]), ("<f4", False))
    data = npy[10 + size :]
    return head["shape"], list(struct.unpack(f"<{len(data) // 4}f", data))


def largest(values):
    return next((v for v in values if math.isnan(v)), max(values, key=abs))


def kept_values_are_read_in_parts():
    root = support.folder()
    server = Server("--root", root)
    try:
        submit(server, "a", STEPS, checkpoint=20)
        equal(server.get(f"{API}/jobs/a/steps").json(), {"last_step": STEPS, "replays": []})
        equal(part(server, "values", "last_layer.bias").status, 404)
        equal(ask(server, "a", 33, {"keep": True}).status, 202)
        value = found(server, "a", 33)
        check(value["state"] == "done" and value["kept"] > 1000, value)
        tensors = {one["name"]: one for one in value["answer"]["tensors"]}
        roles = {one["role"] for one in tensors.values()}
        check({"state", "value", "gradient"} <= roles, roles)
        equal(len(value["answer"]["samples"]), 64)
        equal(value["answer"]["microbatches"], 4)
        relu = tensors["model.fc_layers.0.relu"]
        equal((relu["shape"], relu["rows"], relu["op"]), ([64, 32], "samples", "relu"))
        listed = server.get(f"{API}/jobs/a/steps")
        description = server.get("/openapi.json").json()
        equal(fits(description, description["components"]["schemas"]["StepList"], listed.json()), [])
        equal([one["kept"] for one in listed.json()["replays"]], [value["kept"]])
        # It is one file, which has no name any more.
        until(lambda: not replays_of(root))

        # The values are those of inspect.
        for name in ("model.fc_layers.0.weight", "model.fc_layers.0.relu", "model.last_layer.weight.gradient"):
            local = inspect(f"{root}/a", "--step", "33", "--tensor", name, "--values", "100000")
            rounded = [float(f"{v:.9g}") for v in cells(server, name)]
            equal(rounded, [float(f"{v:.9g}") for v in local["tensors"][0]["values"]], name)
        whole = cells(server, "model.fc_layers.0.relu")
        sample = value["answer"]["samples"][9]
        local = inspect(f"{root}/a", "--step", "33", "--tensor", "fc_layers.0.relu", "--sample", str(sample),
                        "--values", "32")
        got = [float(f"{v:.9g}") for v in cells(server, "model.fc_layers.0.relu", at="9,-1")]
        equal(got, [float(f"{v:.9g}") for v in local["tensors"][0]["values"]])
        # Another shape, a column, a window, fewer cells.
        by_head = cells(server, "model.fc_layers.0.relu", shape="64,4,8", at="-1,2,-1")
        equal(by_head, [whole[32 * row + 16 + c] for row in range(64) for c in range(8)])
        equal(cells(server, "model.fc_layers.0.relu", at="-1,5"), [whole[32 * row + 5] for row in range(64)])
        window = cells(server, "model.fc_layers.0.relu", row=3, rows=2, column=30, columns=2)
        equal(window, [whole[32 * row + c] for row in (3, 4) for c in (30, 31)])
        coarse = cells(server, "model.fc_layers.0.relu", most_rows=10, most_columns=5)
        equal(len(coarse), 10 * 5)
        equal(coarse[5 * 9 + 4], largest([whole[32 * r + c] for r in range(63, 64) for c in range(28, 32)]))
        equal(coarse[0], largest([whole[32 * r + c] for r in range(7) for c in range(7)]))
        # As files.
        answer = part(server, "values", "model.fc_layers.0.relu", at="-1,5", format="npy")
        equal(array_of(answer.body), ((64,), [whole[32 * row + 5] for row in range(64)]))
        check("model.fc_layers.0.relu_33.npy" in answer.headers["Content-Disposition"], answer.headers)
        archive = zipfile.ZipFile(io.BytesIO(part(server, "values", format="npz").body))
        equal(set(archive.namelist()), {f"{name}.npy" for name in tensors})
        equal(array_of(archive.read("model.fc_layers.0.relu.npy")), ((64, 32), whole))
        # In figures.
        answer = part(server, "histogram", "model.last_layer.weight")
        shown = answer.json()
        equal(fits(description, description["components"]["schemas"]["StepHistogram"], shown), [])
        weight = cells(server, "model.last_layer.weight")
        equal((shown["elements"], shown["shape"], sum(shown["bins"])), (128, [4, 32], 128))
        equal((float(f"{shown['min']:.7g}"), float(f"{shown['max']:.7g}")),
              (float(f"{min(weight):.7g}"), float(f"{max(weight):.7g}")))
        for sign, counts in ((-1, shown["negative"]), (1, shown["positive"])):
            for i, count in enumerate(counts):
                low = 2.0 ** (shown["lowest"] + i)
                equal(count, sum(low <= sign * v < 2 * low for v in weight), low)
        # What cannot be.
        for query, status in (({"at": "1"}, 400), ({"at": "64,0"}, 400), ({"at": "-2,0"}, 400),
                              ({"shape": "5,5"}, 400), ({"shape": "9223372036854775807,3"}, 400),
                              ({"shape": "0,0"}, 400), ({"row": 65}, 400), ({"rows": 65}, 400),
                              ({"row": 1, "rows": 9223372036854775807}, 400), ({"most_rows": 0}, 400),
                              ({"at": "a"}, 400), ({"shape": "1,1,1,1,1,1,1,64,32"}, 400),
                              ({"format": "h5"}, 400)):
            equal(part(server, "values", "model.fc_layers.0.relu", **query).status, status, query)
        equal(part(server, "values").status, 400)
        equal(part(server, "values", "../../etc/passwd").status, 404)
        equal(part(server, "histogram", "model.fc_layers.0.relu", step=34).status, 404)
        equal(part(server, "histogram", "nothing").status, 404)
        # A pattern of states alone, and what leaves no values.
        equal(ask(server, "a", 34, {"keep": True, "tensor": "last_layer.weight"}).status, 202)
        names = [one["name"] for one in found(server, "a", 34)["answer"]["tensors"]]
        equal(names, ["model.last_layer.weight"])
        equal(ask(server, "a", 35, {"keep": True, "microbatch": 1}).status, 202)
        value = found(server, "a", 35)
        equal((value["state"], value["kept"]), ("failed", None))
        check("--all" in value["message"], value)
        equal(server.request("DELETE", f"{API}/jobs/a/steps/33/tensors").status, 204)
        until(lambda: part(server, "values", "model.fc_layers.0.relu").status == 404)
    finally:
        server.stop()


def code_of(root, job):
    """The compiled steps that a job's replays have left: {folder: number of its step.so, or of step.plan}."""
    folders = [name for name in os.listdir(f"{root}/.replay_code") if name.rpartition(".")[0] == job]
    check(len(folders) <= 1, folders)
    kept = {}
    for folder in folders:
        for name in os.listdir(f"{root}/.replay_code/{folder}"):
            place = f"{root}/.replay_code/{folder}/{name}"
            kept[place] = os.stat(f"{place}/step.plan").st_ino
    return kept


def a_second_question_compiles_nothing():
    root = support.folder()
    server = Server("--root", root)
    try:
        submit(server, "a", STEPS, checkpoint=20)
        submit(server, "b", STEPS, checkpoint=20)
        equal(ask(server, "a", 33, {"keep": True}).status, 202)
        answer = found(server, "a", 33)["answer"]
        equal((answer["bits"], answer["from"], answer["from_kept"]), ("same", 20, False))
        first = code_of(root, "a")
        equal(len(first), 1)
        equal(ask(server, "a", 37, {"keep": True, "values": 2}).status, 202)
        answer = found(server, "a", 37)["answer"]
        equal((answer["bits"], answer["from"], answer["from_kept"]), ("same", 33, True))
        local = inspect(f"{root}/a", "--step", "37", "--all", "--values", "2", "--kept_states", "0")
        equal((local["from"], local["from_kept"]), (20, False))
        for begun in "from", "from_kept", "words", "run":
            del answer[begun], local[begun]
        equal(answer, local)
        equal(os.path.exists(f"{root}/a/replayed"), False)
        equal(code_of(root, "a"), first)
        run = {name: os.stat(f"{support.COMPILED}/{name}").st_mtime_ns for name in os.listdir(support.COMPILED)}
        # It is read: one that is damaged is compiled again. What else lies there goes.
        (place,) = first
        with open(f"{place}/step.plan", "ab") as f:
            f.write(b"x")
        outside = f"{support.folder()}/kept"
        with open(outside, "w") as f:
            f.write("kept")
        os.symlink(os.path.dirname(outside), f"{os.path.dirname(place)}/link")
        equal(ask(server, "a", 48, {"keep": True}).status, 202)
        equal(found(server, "a", 48)["answer"]["bits"], "same")
        again = code_of(root, "a")
        equal(list(again), list(first))
        check(again != first, again)
        check(os.path.exists(outside), outside)
        # No job compiles to it, each has its own, the run's are as they were, and it ends with the job.
        there = configuration(STEPS).replace(support.COMPILED, os.path.dirname(place))
        answer = server.request("PUT", f"{API}/jobs/c", {"config": there})
        equal(answer.status, 422, answer.body)
        check(b"compile_dir" in answer.body, answer.body)
        equal(ask(server, "b", 33, {"keep": True}).status, 202)
        equal(found(server, "b", 33)["answer"]["bits"], "same")
        equal(len(code_of(root, "b")), 1)
        check(not set(code_of(root, "b")) & set(again), code_of(root, "b"))
        equal({name: os.stat(f"{support.COMPILED}/{name}").st_mtime_ns for name in os.listdir(support.COMPILED)}, run)
        server.stop()
        server.start()
        equal(code_of(root, "a"), again)
        equal(server.request("DELETE", f"{API}/jobs/a", headers={"If-Match": "*"}).status, 204)
        equal(code_of(root, "a"), {})
        equal([name[0] for name in os.listdir(f"{root}/.replay_states")], ["b"])
        equal(len(code_of(root, "b")), 1)
    finally:
        server.stop()


if __name__ == "__main__":
    support.main([kept_values_are_read_in_parts, the_answer_is_that_of_inspect, one_is_at_a_time_and_can_be_ended,
                  a_second_question_compiles_nothing])
