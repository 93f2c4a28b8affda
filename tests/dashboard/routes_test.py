"""Every route against the API's description: each response is described and matches its schema.

The requests are generated from the description, with valid and invalid values of each parameter and
body. This finds responses with 5xx, undescribed responses, and bodies that violate the schema."""
import json
import math
import random
import struct
import sys

import support
from support import API, Server, check, equal, fits

TOO_LONG = "x" * 40000  # for the head of a request
SEED = 20240501
ROUNDS = 12


def describe(server):
    answer = server.get("/openapi.json")
    equal(answer.status, 200)
    return answer.json()


def resolve(document, node):
    while "$ref" in node:
        target = document
        for word in node["$ref"].split("/")[1:]:
            target = target[word]
        node = target
    return node


def sample(rng, document, schema, depth=0):
    """A value that the schema accepts, most of the time; and sometimes one that it does not."""
    schema = resolve(document, schema)
    if rng.random() < 0.08:
        return rng.choice([None, -1, "", "\u00e9\u4e2d", [], {}, 1e300, True, "x" * 500])
    if "examples" in schema and rng.random() < 0.5:
        return schema["examples"][0]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type", "object")
    kind = rng.choice(kind) if isinstance(kind, list) else kind
    if kind == "integer":
        low = schema.get("minimum", -5)
        return rng.choice([low, low + 1, rng.randint(low, low + 1000), schema.get("maximum", 7), 2**53, float(low), low + 0.5])
    if kind == "number":
        return rng.choice([0, 0.5, 3, schema.get("maximum", 1e6), -1.5])
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "null":
        return None
    if kind == "array":
        return [sample(rng, document, schema.get("items", {}), depth + 1) for _ in range(rng.randint(0, 3))]
    if kind == "object":
        result = {}
        for name, member in schema.get("properties", {}).items():
            if name in schema.get("required", []) or rng.random() < 0.5:
                result[name] = sample(rng, document, member, depth + 1)
        if rng.random() < 0.1:
            result["unknown"] = 1
        return result
    return rng.choice(["a", "mnist-1", "trainer: {}\n", "p1", "x" * 65, "a b", "k=v", "\t", "%00"])


def build(rng, document, path, item, method, known):
    operation = item[method]
    target, query, headers = path, [], {}
    for parameter in operation.get("parameters", []):
        parameter = resolve(document, parameter)
        value = sample(rng, document, parameter["schema"])
        text = value if isinstance(value, str) else json.dumps(value)
        if parameter["in"] == "path":
            pick = known.get(parameter["name"])
            text = str(pick) if pick is not None and rng.random() < 0.8 else text
            target = target.replace("{%s}" % parameter["name"], quote(text) or "x")
        elif parameter["in"] == "query" and rng.random() < 0.4:
            if rng.random() < 0.01:
                value = text = TOO_LONG
            items = value if isinstance(value, list) else [text]
            query += [f"{parameter['name']}={quote(i if isinstance(i, str) else json.dumps(i))}" for i in items]
        elif parameter["in"] == "header" and rng.random() < 0.4:
            text = TOO_LONG if rng.random() < 0.01 else text
            if all(31 < ord(c) < 127 for c in text):
                headers[parameter["name"]] = text
    body = None
    content = operation.get("requestBody", {}).get("content")
    if content and rng.random() < 0.95:
        media = rng.choice(list(content))
        value = sample(rng, document, content[media]["schema"])
        body = json.dumps(value) if "json" in media else str(value)
        headers["Content-Type"] = media if rng.random() < 0.95 else "text/plain"
        body = body.encode()
        if rng.random() < 0.1:
            body = body[: rng.randint(0, len(body))]
    if rng.random() < 0.1:
        headers["Accept"] = rng.choice(["text/event-stream", "application/json", "*/*", "image/png"])
    return target + ("?" + "&".join(query) if query else ""), body, headers


def quote(text):
    import urllib.parse

    return urllib.parse.quote(text, safe="")


def judge(document, item, method, target, answer):
    """The answer is one of those described, with a body of the described form."""
    what = f"{method.upper()} {target} -> {answer.status} {answer.body[:300]!r}"
    check(answer.status < 500 or answer.status in (501, 503), what)
    described = item[method]["responses"]
    check(str(answer.status) in described, "not described:", what)
    response = resolve(document, described[str(answer.status)])
    content = response.get("content")
    if answer.status in (204, 304):
        equal(answer.body, b"", what)
        return
    media = answer.headers.get("Content-Type", "").split(";")[0]
    if answer.status in (414, 431):  # by the HTTP library, before anything was read
        return
    check(content is not None and media in content, "media type", media, what)
    for name in ("X-Content-Type-Options", "Content-Security-Policy", "Cache-Control"):
        check(name in answer.headers, "lacks", name, what)
    if media in ("application/json", "application/problem+json"):
        faults = fits(document, content[media]["schema"], answer.json())
        check(not faults, what, faults)
    if media == "application/x-ndjson":
        for line in answer.body.splitlines():
            faults = fits(document, content[media]["schema"], json.loads(line))
            check(not faults, what, faults)


def is_stream(target, headers):
    return "/events" in target or "event-stream" in headers.get("Accept", "")


def ask(server, method, target, body, headers):
    """Event streams are only begun: their first bytes tell the status."""
    if is_stream(target, headers):
        import http.client

        connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
        connection.request(method.upper(), target, body, {**server.authorization, **headers})
        response = connection.getresponse()
        stream = response.headers.get("Content-Type", "").startswith("text/event-stream")
        answer = support.Answer(response.status, response.headers, b"" if stream else response.read())
        connection.close()
        return answer
    return server.request(method.upper(), target, body, headers)


def ask_too_much(server, method, target, body=None, headers=None):
    """The server may close before all of it is sent; then the answer is lost now and then."""
    for _ in range(50):
        try:
            return ask(server, method, target, body, headers or {})
        except ConnectionError:
            pass
    raise support.Failure("no answer to", method, target[:100])


def run_rounds(server, known, skip=()):
    document = describe(server)
    rng = random.Random(SEED)
    seen = {}
    for _ in range(ROUNDS):
        for path, item in document["paths"].items():
            for method in item:
                if item[method]["operationId"] in skip:
                    continue
                target, body, headers = build(rng, document, path, item, method, known)
                too_much = TOO_LONG in target or TOO_LONG in headers.values()
                answer = (ask_too_much if too_much else ask)(server, method, target, body, headers)
                judge(document, item, method, target, answer)
                seen.setdefault(item[method]["operationId"], set()).add(answer.status)
    for operation, statuses in seen.items():
        check(statuses, operation)
    return seen


def finished_run(folder, more=""):
    """A short run with checkpoints, for servers to show; `more` is added to trainer.init."""
    import subprocess

    config = f"{folder}/config.yaml"
    with open(config, "w") as f:
        f.write(support.configuration(300, checkpoint=100).replace("    seed: 1\n", "    seed: 1\n" + more))
    result = subprocess.run(
        [support.EXECUTABLE, "start", config, "--model_dir", f"{folder}/run1", "--no_dashboard"],
        capture_output=True, timeout=120 * support.SLOW,
    )
    equal(result.returncode, 0, result.stderr.decode())
    return f"{folder}/run1"


def every_answer_of_a_run_is_described():
    run = finished_run(support.folder())
    server = Server("--run", run)
    try:
        # The plain questions are answered, not only refused as described.
        for name in ("", "/transitions", "/logs", "/metrics", "/closures", "/graph", "/precision",
                     "/topology", "/numerics", "/tensors", "/trace", "/kernels", "/config", "/checkpoints", "/goodput",
                     "/checkpoints/300", "/checkpoints/300/file"):
            equal(server.get(f"{API}/jobs/run1{name}").status, 200, name)
        # To JSON 2.0 is an integer; and what is too long has an answer of its own.
        equal([server.request("POST", f"{API}/jobs/run1/scale", {"num_csx": n}).status for n in (2, 2.0, 2.5)],
              [409, 409, 422])
        equal(ask_too_much(server, "get", f"{API}/jobs/run1/metrics?names={TOO_LONG}").status, 414)
        equal(ask_too_much(server, "get", f"{API}/jobs", headers={"If-None-Match": TOO_LONG}).status, 431)
        run_rounds(server, {"id": "run1", "step": 300})
    finally:
        server.stop()


def every_answer_of_a_root_is_described():
    server = Server("--root", support.folder() + "/root")
    try:
        run_rounds(server, {"id": "none", "step": 1}, skip=("validateConfig",))
    finally:
        support.end_jobs(server)
        server.stop()


def routes_and_description_agree():
    run = finished_run(support.folder())
    server = Server("--run", run)
    try:
        document = describe(server)
        methods = {"get", "put", "post", "delete", "patch"}
        for path, item in document["paths"].items():
            target = path.replace("{id}", "run1").replace("{step}", "300")
            for method in methods:
                if method in item or path.endswith("/events"):
                    continue
                answer = server.request(method.upper(), target)
                equal(answer.status, 405, f"{method} {target}")
                allowed = set(answer.headers["Allow"].lower().replace(" ", "").split(","))
                equal(allowed - {"head"}, set(item), f"Allow of {target}")
        for path in ("/api", "/api/v2/jobs", f"{API}/nothing", f"{API}/jobs/run1/nothing"):
            answer = server.request("POST", path)
            equal(answer.status, 404, path)
            equal(answer.headers["Content-Type"], "application/problem+json")
        equal(server.request("HEAD", f"{API}/version").status, 200)
        equal(server.request("HEAD", f"{API}/version").body, b"")
        equal(server.get(f"{API}/jobs?limti=3").json()["errors"][0]["hint"], "did you mean limit?")
    finally:
        server.stop()


def tags_spare_what_is_known():
    run = finished_run(support.folder())
    server = Server("--run", run)
    try:
        for path in ("/jobs/run1/graph", "/jobs/run1", "/version", "/jobs/run1/checkpoints/300/file",
                     "/jobs/run1/metrics"):
            first = server.get(API + path)
            tag = first.headers["ETag"]
            equal(server.get(API + path, If_None_Match=tag).status, 304, path)
            equal(server.get(API + path, If_None_Match=f'"x", W/{tag}').status, 304, path)
            equal(server.get(API + path, If_None_Match='"x"').status, 200, path)
    finally:
        server.stop()


def answers_are_packed_for_those_who_take_it():
    """By Accept-Encoding (RFC 9110, 12.5.3), with a strong tag for each form, and the same content."""
    import gzip

    run = finished_run(support.folder())
    server = Server("--run", run)
    path = f"{API}/jobs/run1/graph"
    try:
        plain = server.get(path, Accept_Encoding="identity")
        check("Content-Encoding" not in plain.headers, "identity")
        taken = {
            "gzip": True, "x-gzip": True, "deflate, gzip;q=0.5": True, "*": True, "GZIP": True,
            "gzip;q=1.0, identity; q=0.5": True, "br;q=1, *;q=0.1": True, "identity;q=0, *": True,
            "": False, "br": False, "gzip;q=0": False, "gzip; q=0.000, *": False, "*;q=0": False,
            "identity, gzip;q=0.5": False, "gzip;q=2": False, "gzip;q=x": False, "notgzip": False,
            "gzip-other": False,
        }
        for accepted, packed in taken.items():
            answer = server.get(path, Accept_Encoding=accepted)
            equal(answer.headers.get("Content-Encoding"), "gzip" if packed else None, accepted)
            check("Accept-Encoding" in answer.headers["Vary"], "Vary")
            body = gzip.decompress(answer.body) if packed else answer.body
            check(body == plain.body, "the same content", accepted)
        packed = server.get(path, Accept_Encoding="gzip")
        check(4 * len(packed.body) < len(plain.body), "smaller:", len(packed.body), len(plain.body))
        tags = {plain.headers["ETag"], packed.headers["ETag"]}
        equal(len(tags), 2, "a strong tag is of one form alone")
        for tag in tags:
            check(tag.startswith('"'), "strong", tag)
            for accepted in ("gzip", "identity"):
                known = server.get(path, If_None_Match=tag, Accept_Encoding=accepted)
                equal((known.status, known.headers["ETag"], known.body), (304, tag, b""), accepted)
        job = server.get(f"{API}/jobs/run1", Accept_Encoding="gzip")
        equal(job.headers.get("Content-Encoding"), "gzip", "a job")
        check(server.get(f"{API}/jobs/run1", If_None_Match=job.headers["ETag"]).status in (200, 304))
        # What is small, a stream, or the file of a checkpoint is sent as it is.
        small = server.get(f"{API}/version", Accept_Encoding="gzip")
        stream = server.get(f"{API}/jobs/run1/events?after=0", Accept_Encoding="gzip")
        for answer in (small, stream, server.get(f"{API}/jobs/run1/checkpoints/300/file", Accept_Encoding="gzip")):
            check("Content-Encoding" not in answer.headers, answer.headers)
        lines = server.get(f"{API}/jobs/run1/logs?limit=1000", Accept_Encoding="gzip")
        plain = server.get(f"{API}/jobs/run1/logs?limit=1000").body
        equal(lines.headers.get("Content-Encoding"), "gzip" if len(plain) >= 1024 else None, "lines of JSON")
        check((gzip.decompress(lines.body) if len(plain) >= 1024 else lines.body) == plain, "lines")
    finally:
        server.stop()


def a_packed_tag_allows_a_change():
    """If-Match takes the tag of either form."""
    server = Server("--root", support.folder() + "/root")
    try:
        config = support.configuration(10)
        made = server.request("POST", f"{API}/jobs", {"config": config, "validate_only": True, "name": "n" * 200})
        equal(made.status, 201, made.body)
        target = f"{API}/jobs/{made.json()['id']}"
        server.wait_for(made.json()["id"], "SUCCEEDED", seconds=120)
        for accepted in ("gzip", "identity"):
            tag = server.get(target, Accept_Encoding=accepted).headers["ETag"]
            equal("-gzip" in tag, accepted == "gzip", tag)
            changed = server.request("PATCH", target, {"name": accepted}, {"If-Match": tag})
            equal(changed.status, 200, changed.body)
            equal(server.request("PATCH", target, {"name": "x"}, {"If-Match": tag}).status, 412, "stale")
    finally:
        support.end_jobs(server)
        server.stop()


def parameters_and_errors_follow_their_standards():
    """Lists joined by commas or repeated; JSON pointers (RFC 6901) in problems (RFC 9457)."""
    import re

    server = Server("--root", support.folder() + "/root")
    try:
        for query in ("state=RUNNING,PAUSED", "state=RUNNING&state=PAUSED", "state=RUNNING%2CPAUSED&state=FAILED",
                      "label=a=b,c", "label=a%3Db&label=c", "state="):
            equal(server.get(f"{API}/jobs?{query}").status, 200, query)
        wrong = {
            "jobs?state=RUNNING,LOST": ("state", "/1"), "jobs?limit=x": ("limit", ""), "jobs?limit=0": ("limit", ""),
            "jobs?limt=3": ("limt", ""), "jobs?label=a,=b": ("label", "/1"), "jobs?limit=1&limit=2": ("limit", ""),
            "jobs/a%20b": ("id", ""), "jobs?%C3%A9=1": ("\u00e9", ""),
        }
        for target, (parameter, pointer) in wrong.items():
            problem = server.get(f"{API}/{target}").json()
            equal(problem["status"], 400, target)
            first = problem["errors"][0]
            equal((first["parameter"], first["pointer"]), (parameter, pointer), target)
            equal(problem["instance"], f"{API}/{target.split('?')[0]}", "a URI reference")
            check(re.match(r"[a-z]+:", problem["type"]), problem["type"])
        bodies = [({"config": 3}, "/config"), ({"config": "a", "labels": {"a/b": 1}}, "/labels/a~1b"),
                  ({"config": "a", "labels": {"m~n": "x y"}}, "/labels/m~0n"), ([], ""), ({}, "/config"),
                  ({"config": "a", "resources": {"cores": -1}}, "/resources/cores")]
        for body, pointer in bodies:
            problem = server.request("POST", f"{API}/jobs", body).json()
            equal(problem["status"], 422, body)
            pointers = [e["pointer"] for e in problem["errors"]]
            check(pointer in pointers, body, pointers)
            check(all("parameter" not in e for e in problem["errors"]), problem)
    finally:
        server.stop()


def families_of(text):
    """The families of Prometheus' text format 0.0.4 by name: (type, samples); strict about their form."""
    import re

    families, current, seen = {}, None, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ", 3)[2]
            check(current not in families, "a family is in one place", current)
            families[current] = [None, []]
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            equal(name, current, "TYPE follows HELP")
            check(families[name] == [None, []], "TYPE precedes all samples", name)
            families[name][0] = kind
            check(kind in ("gauge", "counter"), line)
            equal(kind == "counter", name.endswith("_total"), name)
        else:
            match = re.fullmatch(r'([a-z_]+)(\{([a-z]+="([^"\\\n]|\\[\\"n])*",?)+\})? ([0-9.e+-]+|NaN|[+-]Inf)', line)
            check(match, "no sample:", line)
            name, labels = match.group(1), match.group(2)
            equal(name, current, "a sample stands below its family's head")
            check(families[name][0], "a TYPE", name)
            check((name, labels) not in seen, "twice", line)
            seen.add((name, labels))
            families[name][1].append(labels)
    return families


def metrics_are_families():
    """Two running jobs, one with a name that must be escaped: HELP, TYPE, then all of a family's values."""
    server = Server("--root", support.folder() + "/root", "--cores", "8")
    try:
        for name in ("plain", 'a "quoted" \\ name'):
            made = server.request("POST", f"{API}/jobs", {"config": support.configuration(support.LONG), "name": name,
                                                          "resources": {"cores": 1}})
            equal(made.status, 201, made.body)
            server.wait_for(made.json()["id"], "RUNNING", seconds=120)

        def all_known():
            families = families_of(server.get("/metrics").body.decode())
            counts = {len(families[f"csengine_job_{name}"][1]) for name in ("step", "last_step", "loss", "samples_per_second", "steps_per_second")}
            return families if counts == {2} else None

        families = support.until(all_known)
        for name in ("step", "last_step", "samples_per_second", "steps_per_second", "loss", "store_failing"):
            kind, samples = families[f"csengine_job_{name}"]
            equal((kind, len(samples)), ("gauge", 2), name)
        check(families["csengine_http_requests_total"][0] == "counter")
    finally:
        support.end_jobs(server)
        server.stop()


def tensors_are_told_once():
    """The table of tensors is a path of its own; a record names its tensor by id."""
    folder = support.folder()
    run = finished_run(folder, "    numerics: { every: 100 }\n")
    server = Server("--run", run)
    path = f"{API}/jobs/run1"
    try:
        whole = server.get(f"{path}/tensors").json()
        check(len(whole["tensors"]) > 5 and whole["next_page_token"] is None and whole["missing"] is None, whole)
        paged, token = [], ""
        while token is not None:
            page = server.get(f"{path}/tensors?limit=3" + (f"&page_token={token}" if token else "")).json()
            check(len(page["tensors"]) <= 3, "a page")
            paged, token = paged + page["tensors"], page["next_page_token"]
        equal(paged, whole["tensors"])
        one = server.get(f"{path}/numerics?limit=1")
        check(len(one.body) < 4096, "one record is small:", len(one.body))
        check("tensors" not in one.json(), "records alone")
        every = server.get(f"{path}/numerics?limit=1000").json()["records"]
        equal({r["tensor"] for r in every}, {t["id"] for t in whole["tensors"]})
        bare = server.get(f"{path}/numerics?limit=1000&histograms=false").json()["records"]
        equal(bare, [{**r, "histogram": None} for r in every])
        check(any(r["histogram"] for r in every), "histograms")
        name = whole["tensors"][0]["name"]
        named = server.get(f"{path}/numerics?limit=1000&tensor={quote(name)}").json()["records"]
        equal({r["tensor"] for r in named}, {t["id"] for t in whole["tensors"] if name in t["name"]})
    finally:
        server.stop()


def every_event_is_described():
    """The events of a run that does all it can, live and from its store, against Event."""
    config = support.configuration(support.LONG, checkpoint=1000)
    config = config.replace("log_steps: 100000", "log_steps: 500").replace("    seed: 1\n", "    seed: 1\n    numerics: { every: 1000 }\n")
    server = Server("--root", support.folder() + "/root")
    try:
        document = describe(server)
        equal(server.request("PUT", f"{API}/jobs/all", {"config": config}).status, 201)
        stream = support.Stream(server, f"{API}/jobs/all/events?after=0", timeout=60)
        wanted = {"state", "metric", "closure", "checkpoint", "log", "topology", "numerics", "phase"}
        seen = {}

        def take(event):
            id, name, data = event
            faults = fits(document, {"$ref": "#/components/schemas/Event"}, data)
            check(not faults, data, faults)
            equal((data["id"], data["type"]), (id, name), "the same in the head")
            seen.setdefault(name, []).append(data)

        while not wanted <= set(seen):
            take(stream.next())
        for command in ("pause", "resume", "cancel"):
            equal(server.request("POST", f"{API}/jobs/all/{command}").status, 202, command)
            server.wait_for("all", {"pause": "PAUSED", "resume": "RUNNING", "cancel": "CANCELLED"}[command])
        for event in stream.all():
            take(event)
        stream.close()
        check("end" in seen, "the end")
        check({"PAUSED", "CANCELLED"} <= {e["payload"]["to_state"] for e in seen["state"]}, seen["state"])
        live, seen = seen, {}
        stored = support.Stream(server, f"{API}/jobs/all/events?after=0", timeout=60)
        for event in stored.all():
            take(event)
        stored.close()
        check(set(live) - {"gap"} <= set(seen) | {"gap"}, "stored:", set(seen), "live:", set(live))
        # A schema that takes anything would prove nothing.
        event = next(e for e in live["topology"])
        broken = [{**event, "type": "metric"}, {**event, "payload": {}}, {**event, "surplus": 1}, {**event, "id": "1"}]
        for one in broken:
            check(fits(document, {"$ref": "#/components/schemas/Event"}, one), "not refused:", one)
    finally:
        support.end_jobs(server)
        server.stop()


def no_answer_of_data_is_any_object():
    """Every object of an answer that the engine makes has members with types; what plugins and models make has none."""
    free = {"payload", "origins", "args", "links", "properties"}  # of a closure, a setting, a trace's event
    server = Server("--root", support.folder() + "/root")
    try:
        document = describe(server)

        def untyped(schema, place, seen):
            if "$ref" in schema:
                name = schema["$ref"].rsplit("/", 1)[1]
                return [] if name in seen else untyped(document["components"]["schemas"][name], name, seen | {name})
            found = [f for form in schema.get("oneOf", []) for f in untyped(form, place, seen)]
            kinds = schema.get("type", [])
            kinds = [kinds] if isinstance(kinds, str) else kinds
            if "object" in kinds and not schema.get("properties") and not isinstance(schema.get("additionalProperties"), dict):
                found.append(place)
            if not schema.get("type") and "oneOf" not in schema and "enum" not in schema:
                found.append(place)
            for name, member in schema.get("properties", {}).items():
                found += untyped(member, f"{place}.{name}", seen)
            for inner in (schema.get("items"), schema.get("additionalProperties")):
                if isinstance(inner, dict):
                    found += untyped(inner, place + "[]", seen)
            return found

        for name in ("Graph", "Precision", "Event", "Topology", "Numerics", "TensorList", "Metrics", "Kernels", "Job"):
            found = untyped({"$ref": f"#/components/schemas/{name}"}, name, frozenset())
            found = [f for f in found if f.rsplit(".", 1)[-1] not in free]
            equal(found, [], name)
    finally:
        server.stop()


def parts_of_a_checkpoint_make_the_whole():
    run = finished_run(support.folder())
    server = Server("--run", run)
    path = f"{API}/jobs/run1/checkpoints/200/file"
    try:
        with open(f"{run}/checkpoint_200.mdl", "rb") as f:
            whole = f.read()
        answer = server.get(path)
        check(answer.body == whole, "the file as it is")
        size = len(whole)
        for text, first, last in (("0-99", 0, 99), ("100-", 100, size - 1), (f"{size - 5}-{size + 5}", size - 5, size - 1),
                                  ("-7", size - 7, size - 1), (f"-{size + 1}", 0, size - 1)):
            part = server.get(path, Range=f"bytes={text}")
            equal(part.status, 206, text)
            equal(part.headers["Content-Range"], f"bytes {first}-{last}/{size}", text)
            check(part.body == whole[first:last + 1], text)
        for text in (f"{size}-", "9-3", "-0"):
            equal(server.get(path, Range=f"bytes={text}").status, 416, text)
        for text in ("bytes=0-1,5-6", "lines=1-2", "bytes=a-b"):
            equal(server.get(path, Range=text).status, 200, text)
        stale = server.get(path, Range="bytes=0-9", If_Range='"other"')
        equal(stale.status, 200, "If-Range of another file")
        fresh = server.get(path, Range="bytes=0-9", If_Range=answer.headers["ETag"])
        equal(fresh.status, 206, "If-Range of this file")
        equal(server.request("DELETE", f"{API}/jobs/run1/checkpoints/200").status, 204)
        gone = server.get(path)
        equal((gone.status, gone.headers["Content-Type"], gone.json()["type"]),
              (410, "application/problem+json", "urn:csengine:problem:gone"), gone.body)
        listed = {one["step"]: one for one in server.get(f"{API}/jobs/run1/checkpoints").json()["checkpoints"]}
        for step, one in listed.items():
            equal((one["deleted"], "file" in one["links"]), (step == 200, step != 200), one)
            check(step == 200 or str(step) in gone.json()["detail"], "what is left is named", gone.body)
        equal(server.get(f"{API}/jobs/run1/checkpoints/200").json(), listed[200])
        check(len(listed) > 1, "others are left", listed)
    finally:
        server.stop()


def tensors_of(path):
    """Names, types and elements of a checkpoint, by the lines at its end alone."""
    with open(path, "rb") as f:
        raw = f.read()
    lines = raw[-98 - int(raw[-98:][16:32], 16):-98].decode().splitlines()
    found = {}
    for line in (one for one in lines if one.startswith("tensor ")):
        head, _, name = line.partition("] ")
        _, offset, size, _, dtype, _ = head.split(" ", 5)
        data = raw[int(offset):int(offset) + int(size)]
        letter = {"float32": "f", "int32": "i"}.get(dtype)
        found[name] = (dtype, struct.unpack(f"<{len(data) // 4}{letter}", data) if letter else None, data)
    return found


def a_diff_tells_values():
    run = finished_run(support.folder())
    server = Server("--run", run)
    try:
        a, b = (tensors_of(f"{run}/checkpoint_{step}.mdl") for step in (100, 300))
        wanted = {}
        for name in a:
            if a[name][2] == b[name][2]:
                continue
            pairs, letter = list(zip(a[name][1], b[name][1])), {"float32": "f", "int32": "i"}[a[name][0]]
            wanted[name] = {
                "elements": len(pairs),
                "differing": sum(struct.pack(letter, x) != struct.pack(letter, y) for x, y in pairs),
                "max_absolute": max(abs(x - y) for x, y in pairs),
                "max_relative": max(abs(x - y) / max(abs(x), abs(y)) for x, y in pairs if x or y),
            }
        check(len(wanted) > 3, "training changes weights", wanted)
        path, got, token = f"{API}/jobs/run1/checkpoints/100/diff?with=300&limit=2", {}, ""
        while token is not None:
            page = server.get(path + (f"&page_token={token}" if token else "")).json()
            check(len(page["tensors"]) <= 2, "a page")
            equal((page["total"], page["differing"], page["same"]), (len(a), len(wanted), len(a) - len(wanted)))
            got.update({t["name"]: {key: t[key] for key in wanted[t["name"]]} for t in page["tensors"]})
            token = page["next_page_token"]
        equal(sorted(got), sorted(wanted))
        for name, values in wanted.items():  # JSON has 15 digits
            check(all(math.isclose(got[name][key], values[key], rel_tol=1e-13) for key in values), name, got, values)
        equal(server.get(f"{API}/jobs/run1/checkpoints/100/diff?with=100").json()["tensors"], [])
        equal(server.get(f"{API}/jobs/run1/checkpoints/100/diff?with=150").status, 404)
        equal(server.get(f"{API}/jobs/run1/checkpoints/100/diff").status, 400)
        equal(server.request("DELETE", f"{API}/jobs/run1/checkpoints/100").status, 204)
        equal(server.get(path).status, 410)
    finally:
        server.stop()


def bad_records_are_found_behind_many_good_ones():
    """However many records a run has, all bad ones come, page by page, in order."""
    import sqlite3

    run = finished_run(support.folder())
    steps, tensors = 3000, 100
    with sqlite3.connect(f"{run}/run.db") as db:
        db.execute("DELETE FROM numerics")
        db.execute("DELETE FROM tensors")
        db.executemany("INSERT INTO tensors VALUES(?, 1, 't' || ?, 's', 'add', 'observed', NULL, 'float16', 0, NULL, 0)",
                       [(t, t) for t in range(1, tensors + 1)])
        db.execute("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) "
                   "INSERT INTO numerics SELECT i % ? + 1, 1, i / ? + 1, 64, 0, 0, 0, 0, 0, 0, 1, -1, NULL, NULL FROM n",
                   (steps * tensors, tensors, tensors))
        # One at the beginning, then whole steps at the end: more of one step than a page has.
        db.execute("UPDATE numerics SET saturated = 2 WHERE step = 1 AND tensor = 7")
        db.execute("UPDATE numerics SET nan = 1 WHERE step = 2999 AND tensor <= 25")
        db.execute("UPDATE numerics SET inf = 1 WHERE step = 3000 AND tensor IN (3, 99)")
    db.close()
    wanted = [(1, 7)] + [(2999, t) for t in range(1, 26)] + [(3000, 3), (3000, 99)]
    server = Server("--run", run)
    try:
        got, token, pages = [], "", 0
        while token is not None and pages < 20:
            page = server.get(f"{API}/jobs/run1/numerics?bad=true&limit=10" + (f"&page_token={token}" if token else "")).json()
            check(len(page["records"]) <= 10, "a page is no longer than asked for")
            got += [(r["step"], r["tensor"]) for r in page["records"]]
            token, pages = page["next_page_token"], pages + 1
        equal(got, wanted)
        only = server.get(f"{API}/jobs/run1/numerics?bad=true&tensor=99&from=2").json()["records"]
        equal([(r["step"], r["tensor"], r["inf"]) for r in only], [(3000, 99, 1)])
    finally:
        server.stop()


def pages_are_served_and_kept():
    """The embedded pages, compressed or not, and a directory instead of them."""
    import gzip
    import os
    import re

    folder = support.folder()
    server = Server("--root", folder + "/root")
    try:
        for path in ("/", "/jobs", "/jobs/x/curves"):
            page = server.get(path, Accept="text/html")
            equal((page.status, page.headers["Content-Type"]), (200, "text/html; charset=utf-8"), path)
        for link in re.findall(r'(?:src|href)="(/assets/[^"]+)"', page.body.decode()):
            packed, plain = server.get(link, Accept_Encoding="gzip, br"), server.get(link)
            equal((packed.status, plain.status), (200, 200), link)
            equal(packed.headers["Content-Encoding"], "gzip", link)
            check("Content-Encoding" not in plain.headers, link)
            check(gzip.decompress(packed.body) == plain.body, link)
            check("immutable" in plain.headers["Cache-Control"], link)
            equal(server.get(link, If_None_Match=packed.headers["ETag"]).status, 304, link)
        equal(server.get("/assets/none.js").status, 404)
        equal(server.request("POST", "/").status, 404)
    finally:
        server.stop()
    os.makedirs(folder + "/web/assets")
    for name, text in (("web/index.html", "index"), ("web/assets/a.js", "script"), ("secret.js", "secret")):
        with open(f"{folder}/{name}", "w") as f:
            f.write(text)
    os.symlink("../secret.js", folder + "/web/link.js")
    server = Server("--root", folder + "/root", "--web_dir", folder + "/web")
    try:
        equal(server.get("/jobs/x").body, b"index")
        answer = server.get("/assets/a.js")
        equal((answer.body, answer.headers["Content-Type"]), (b"script", "text/javascript; charset=utf-8"))
        equal(server.get("/link.js").status, 404, "a link that leads out")
        equal(server.get("/assets").body, b"index")
    finally:
        server.stop()


def curves_hold_every_point():
    """All points one by one, and buckets, against the points summed up here."""
    run = finished_run(support.folder())
    server = Server("--run", run)
    path = f"{API}/jobs/run1/metrics?names=loss"
    try:
        whole = server.get(path + "&max_points=1000").json()["series"][0]
        equal(whole["level"], 0)
        equal(whole["step"], list(range(1, 301)))
        values = dict(zip(whole["step"], whole["value"]))
        some = server.get(path + "&max_points=50").json()["series"][0]
        equal(sum(some["count"] if isinstance(some["count"], list) else [some["count"]]), 300)
        check(some["level"] > 0 and len(some["step"]) <= 50, "buckets")
        for i, (first, last) in enumerate(zip(some["step"], some["last_step"])):
            inside = [values[s] for s in range(first, last + 1)]
            equal(some["minimum"][i], min(inside))
            equal(some["maximum"][i], max(inside))
            equal(some["value"][i], inside[-1])
            check(abs(some["mean"][i] - sum(inside) / len(inside)) < 1e-12, "mean")
        small = server.get(f"{API}/small-curves?jobs=run1,nobody&max_points=50").json()["curves"]
        equal([one["id"] for one in small], ["run1"])
        equal(small[0]["step"], some["step"])
        for value, mean in zip(small[0]["value"], some["mean"], strict=True):
            check(abs(value - mean) < 1e-12, "small curve")
        equal(small[0]["message"], None)
        none = server.get(f"{API}/small-curves?jobs=run1&name=no_such").json()["curves"][0]
        equal([none["step"], none["value"]], [[], []])
        part = server.get(path + "&from=100&to=110").json()["series"][0]
        equal(part["step"], list(range(100, 111)))
        binary = server.get(path, Accept="application/vnd.csengine.columns").body
        import struct

        (size,) = struct.unpack("<Q", binary[:8])
        head = json.loads(binary[8:8 + size])
        numbers = struct.unpack(f"<{(len(binary) - 8 - size) // 8}d", binary[8 + size:])
        column = head["series"][0]["value"]
        equal(list(numbers[column["offset"]:column["offset"] + column["count"]]), whole["value"])
    finally:
        server.stop()


REPLICA, LAST_STEP = 1, 4000


def kernels_of_a_sampled_step_are_timed():
    """The newest sample, and each by its step, against the trace of the same steps and the graph."""
    import subprocess

    folder = support.folder()
    with open(f"{folder}/config.yaml", "w") as f:
        f.write(support.configuration(LAST_STEP))
    result = subprocess.run(
        [support.EXECUTABLE, "start", f"{folder}/config.yaml", "--model_dir", f"{folder}/run1", "--no_dashboard"],
        capture_output=True, timeout=240 * support.SLOW,
    )
    equal(result.returncode, 0, result.stderr.decode())
    server = Server("--run", f"{folder}/run1")
    try:
        path = f"{API}/jobs/run1"
        newest = server.get(path + "/kernels").json()
        trace = server.get(path + "/trace").json()
        groups = server.get(path + "/graph").json()["groups"]
        equal((newest["attempt"], newest["missing"]), (1, None))
        sampled = [step for step in trace["steps"] if any(
            e["ph"] == "X" and e["name"] == "compute" and e["args"]["step"] == step for e in trace["traceEvents"])]
        check(newest["step"] in sampled, newest["step"], sampled)
        for step in sampled[:3] + [newest["step"]]:
            answer = server.get(f"{path}/kernels?step={step}").json()
            kernels = answer["kernels"]
            check(kernels and answer["processes"], "kernels of step", step)
            totals = [kernel["total_ns"] for kernel in kernels]
            equal(totals, sorted(totals, reverse=True))
            equal(len({kernel["kernel"] for kernel in kernels}), len(kernels))
            replica = [k for k in kernels if groups[k["kernel"]]["part"] == REPLICA]
            equal(len(replica), sum(group["part"] == REPLICA for group in groups))
            equal(len({kernel["calls"] for kernel in replica}), 1, "every microbatch runs all of them")
            spans = [e for e in trace["traceEvents"]
                     if e["ph"] == "X" and e["name"] == "compute" and e["args"]["step"] == step]
            compute_ns = 1000 * sum(e["dur"] for e in spans)
            # Spans below 200 ns are left out; their ends are microseconds in floating point.
            check(sum(k["total_ns"] for k in replica) <= compute_ns + 1000 * replica[0]["calls"],
                  "kernels take part of the time of their program", step, replica, spans)
            for k in kernels:
                check(0 <= k["min_ns"] * k["calls"] <= k["total_ns"] and k["min_ns"] <= k["median_ns"] + 1, k)
        none = server.get(f"{path}/kernels?step={LAST_STEP + 1}").json()
        equal((none["step"], none["kernels"]), (None, []))
        check("not timed" in none["missing"], none["missing"])
        equal(server.get(path + "/kernels?step=0").status, 400)
        other = server.get(path + "/kernels?attempt=2").json()
        check(other["step"] is None and "no step's kernels were timed" in other["missing"], other)
    finally:
        server.stop()


if __name__ == "__main__":
    support.main([
        routes_and_description_agree, tags_spare_what_is_known, answers_are_packed_for_those_who_take_it,
        a_packed_tag_allows_a_change, parameters_and_errors_follow_their_standards, metrics_are_families,
        tensors_are_told_once, every_event_is_described, no_answer_of_data_is_any_object, parts_of_a_checkpoint_make_the_whole,
        a_diff_tells_values, bad_records_are_found_behind_many_good_ones,
        pages_are_served_and_kept, curves_hold_every_point, every_answer_of_a_run_is_described,
        every_answer_of_a_root_is_described, kernels_of_a_sampled_step_are_timed,
    ])
