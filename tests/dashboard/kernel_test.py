"""One kernel of a run: its C is its own function of the generated file, its work is that of its shapes, and the
machine's limit is never below what was counted; what is missing is said."""
import glob
import os
import re
import shutil
import subprocess

import support
from support import API, Server, check, equal

STEPS = 12
PARTS = ["none", "replica", "weights", "update"]


def train(folder, *more):
    with open(f"{folder}/config.yaml", "w") as f:
        f.write(support.configuration(STEPS))
    result = subprocess.run(
        [support.EXECUTABLE, "start", f"{folder}/config.yaml", "--model_dir", f"{folder}/run1", "--no_dashboard",
         f"--compile_dir={folder}/compiled", *more],
        capture_output=True, timeout=240 * support.SLOW,
    )
    equal(result.returncode, 0, result.stderr.decode())


def functions_of(folder):
    """The text of each function of step.c with the groups that its heading names, in their order."""
    (path,) = glob.glob(f"{folder}/compiled/*/step.c") or [None]
    with open(path) as f:
        text = f.read()
    parts = re.split(r"^(?=/\* \w+; the first of these groups:$)", text, flags=re.M)[1:]
    return [part.split("\n/* Functions that a kind of groups does not have are 0. */")[0] for part in parts]


def element_count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def product_flop(graph, group):
    """A multiplication and an addition for each term, of products of two matrices alone."""
    flop = 0
    for index in group["nodes"]:
        node = graph["nodes"][index]
        if node["op"] == "matmul":
            terms = [graph["nodes"][i]["shape"] for i in node["inputs"]]
            result = element_count(node["shape"])
            inner = (element_count(terms[0]) * element_count(terms[1]) / result) ** 0.5
            flop += 2 * result * inner
    return flop


def a_kernel_is_its_own_function_and_work():
    folder = support.folder()
    train(folder)
    functions = functions_of(folder)
    server = Server("--run", f"{folder}/run1")
    try:
        path = f"{API}/jobs/run1"
        graph = server.get(path + "/graph").json()
        shown = set()
        products = 0
        for kernel, group in enumerate(graph["groups"]):
            answer = server.get(f"{path}/kernels/{kernel}").json()
            equal(answer["part"], PARTS[group["part"]])
            equal(answer["source"].strip(), functions[answer["function"]].strip(), f"kernel {kernel}")
            check(answer["source"].count("the first of these groups:") == 1, "one function", kernel)
            shown.add(answer["function"])
            if all(graph["nodes"][i]["op"] in ("matmul", "add", "broadcast_to", "reshape") for i in group["nodes"]):
                wanted = product_flop(graph, group)
                if len(graph["nodes"][group["nodes"][0]]["shape"]) == 2 and wanted > 0:
                    products += 1
                    check(abs(answer["work"]["product_flop"] - wanted) <= 1e-6 * wanted, kernel, answer["work"], wanted)
            check(answer["work"]["bytes"] >= 0 and (answer["limit"] is None) == (answer["limit_missing"] is not None), answer)
        check(products > 0, "a product was compared")
        equal(shown, set(range(len(functions))), "every function is some kernel's")
        equal(server.get(f"{path}/kernels/{len(graph['groups'])}").status, 404)
        equal(server.get(f"{path}/kernels/-1").status, 400)
    finally:
        server.stop()


def whole_texts():
    """The C of the run is that of the file; the plan has each kernel in its order and each state's place."""
    folder = support.folder()
    train(folder)
    server = Server("--run", f"{folder}/run1")
    try:
        path = f"{API}/jobs/run1"
        graph = server.get(f"{path}/graph").json()
        (file,) = glob.glob(f"{folder}/compiled/*/step.c")
        with open(file) as f:
            equal(server.get(f"{path}/compiled").json(), {"text": f.read(), "missing": None})
        plan = server.get(f"{path}/compiled?part=plan").json()["text"].splitlines()
        kernels = [line for line in plan if re.match("(replica|weights|update)[:,]", line)]
        equal([re.sub("[:,].*", "", line) for line in kernels], [PARTS[group["part"]] for group in graph["groups"]])
        for line, group in zip(kernels, graph["groups"]):
            equal(re.sub("  #.*", "", line).split(": ")[1].split(), [graph["nodes"][i]["op"] for i in group["nodes"]])
        for state in graph["states"]:
            check(any(line.startswith(f"state {state['name']}: ") and line.endswith(f" at state+{state['offset']}")
                      for line in plan), state, plan)
        equal(server.get(f"{path}/compiled?part=objects").status, 400)
    finally:
        server.stop()


def a_limit_is_measured_when_it_is_asked_for():
    folder = support.folder()
    train(folder)
    server = Server("--run", f"{folder}/run1")
    try:
        path = f"{API}/jobs/run1/kernels"
        before = server.get(f"{path}/0").json()
        check(before["limit"] is None and "measuring takes a second of one core" in before["limit_missing"], before)
        after = server.get(f"{path}/0?measure=true").json()
        limit, work = after["limit"], after["work"]
        check(limit is not None and after["limit_missing"] is None, after)
        by_bytes = work["bytes"] / limit["gb_per_second"]
        check(limit["nanoseconds"] >= by_bytes * (1 - 1e-9) or limit["by_operations"], limit, by_bytes)
        check(limit["gflop_per_second"] > 0 and limit["gb_per_second"] > 0, limit)
        kept = server.get(f"{path}/0").json()
        equal(kept["limit"], limit, "it is kept")
    finally:
        server.stop()


def what_is_gone_is_said():
    folder = support.folder()
    train(folder)
    shutil.rmtree(f"{folder}/compiled")
    server = Server("--run", f"{folder}/run1")
    try:
        path = f"{API}/jobs/run1"
        answer = server.get(f"{path}/kernels/0").json()
        check(answer["source"] is None and "compiled" in answer["source_missing"], answer)
        check(answer["work"]["bytes"] > 0, "the work is still known", answer)
        answer = server.get(f"{path}/compiled").json()
        check(answer["text"] is None and "compiled" in answer["missing"], answer)
        check("matmul" in server.get(f"{path}/compiled?part=plan").json()["text"], "the plan is still there")
        os.symlink("/etc", f"{folder}/compiled")
        answer = server.get(f"{path}/kernels/0").json()
        check(answer["source"] is None, "no other folder is read", answer)
        equal(server.get(f"{path}/compiled").json()["text"], None, "not by the whole text either")
    finally:
        server.stop()


if __name__ == "__main__":
    support.main([
        a_kernel_is_its_own_function_and_work, whole_texts, a_limit_is_measured_when_it_is_asked_for, what_is_gone_is_said,
    ])
