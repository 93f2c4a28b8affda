"""A run on three hosts, all of them this machine, as its dashboard shows it: hosts with their
processes and links, a host that is lost and when it is tried again, and one log of all of them. What
more hosts would bring is what csengine plan says."""
import json
import math
import os
import signal
import subprocess
import time

import support
from support import API, EXECUTABLE, SLOW, Failure, Server, check, configuration, equal, fits, folder

HOSTS = ["a", "b", "c"]


def start(directory, steps):
    """The run's process, and its model_dir."""
    config = os.path.join(directory, "config.yaml")
    with open(config, "w") as file:
        file.write(configuration(steps))
    environment = {**os.environ, "CSE_DASHBOARD": "0", "XDG_CACHE_HOME": directory}
    options = ["host_launcher=local", "lease_s=2", "host_return_s=60"]
    command = [EXECUTABLE, "start", config, "--model_dir", directory + "/run", "--hosts", ",".join(HOSTS),
               "--num_csx", "1"]
    for option in options:
        command += ["--set", "backend.cluster_config." + option]
    out = open(directory + "/out", "w")
    return subprocess.Popen(command, stdout=out, stderr=out, env=environment), directory + "/run"


def wait(what, holds, seconds=40):
    until = time.monotonic() + seconds * SLOW
    while time.monotonic() < until:
        found = holds()
        if found:
            return found
        time.sleep(0.1)
    raise Failure("not in time: " + what)


def served(run):
    """None while the run store is being made."""
    try:
        return Server("--run", run)
    except (KeyError, Failure):
        return None


def newest(server):
    samples = server.get(f"{API}/jobs/run/topology?samples=1").json()["samples"]
    return samples[0] if samples else {}


def hosts_are_seen_until_one_is_lost():
    directory = folder()
    process, run = start(directory, support.LONG)
    server = None
    try:
        wait("a run store", lambda: os.path.exists(run + "/run.db"))
        server = wait("a run that can be served", lambda: served(run))
        document = server.get("/openapi.json").json()

        def reported():
            sample = newest(server)
            hosts = sample.get("hosts", [])
            whole = len(hosts) == 3 and all(
                h["exposed"] is not None and len(h["links"]) == 2 and h["links"][0]["mb_sent_per_second"] > 0
                for h in hosts)
            return sample if whole else None

        sample = wait("reports of all hosts", reported)
        equal(fits(document, {"$ref": "#/components/schemas/TopologySample"}, sample), [])
        hosts = {h["name"]: h for h in sample["hosts"]}
        equal(sorted(hosts), HOSTS)
        equal([h["leads"] for h in sample["hosts"]], [True, False, False])
        check("host" not in sample, "the leader's own part stands apart")
        processes = set()
        for host in hosts.values():
            equal(host["state"], "present")
            roles = {p["role"] for p in host["processes"]}
            check({"replica", "input_worker", "mover"} <= roles, host["name"], roles)
            processes |= {p["pid"] for p in host["processes"] if p["pid"]}
            equal(sorted(link["to"] for link in host["links"]), sorted(set(HOSTS) - {host["name"]}))
            for link in host["links"]:
                check(link["bytes_sent"] > 0 and link["bytes_received"] > 0, link)
        check(len(processes) >= 12, "each host has processes of its own:", processes)
        check(sum(h["slowest"] for h in hosts.values()) <= 1, "at most one is the slowest")

        def sampled():
            machines = server.get(f"{API}/jobs/run/machine").json()["hosts"]
            return machines if len(machines) == 3 else None

        machines = wait("what each host does as a whole", sampled)
        equal(sorted(m["name"] for m in machines), HOSTS)
        for machine in machines:
            known = [v for v in machine["figures"]["memory_bytes"] if v is not None]
            check("memory" in machine["not_readable"] or known, "memory of each host, or that it is not told", machine)
        # What one host says it sent, the other one received. The two reports are of different
        # times, so that the first ones differ by much; later ones differ by what is on its way.
        def ends_agree():
            links = {(h["name"], l["to"]): l for h in newest(server)["hosts"] for l in h["links"]}
            sent, received = links["b", "c"]["bytes_sent"], links["c", "b"]["bytes_received"]
            return received > 0 and 0.5 < sent / received < 2
        wait("bytes of the two ends that agree", ends_agree)

        # A process of another host is lost: its line is in the run's log, with its host.
        victim = next(p["pid"] for p in hosts["b"]["processes"] if p["role"] == "replica")
        os.kill(victim, signal.SIGKILL)

        def lines_of(query):
            text = server.get(f"{API}/jobs/run/logs?limit=1000{query}").body.decode()
            return [json.loads(line) for line in text.splitlines()]

        def told():
            return any("replica 0" in line["message"] for line in lines_of("&host=b"))
        wait("a line of host b", told)
        lines = lines_of("")
        check({line["host"] for line in lines} <= {None, *HOSTS}, "the hosts of lines", lines)
        check(not any("host b: " in line["message"] for line in lines), "a host is no part of a message", lines)
        of_b = lines_of("&host=b")
        equal(of_b, [line for line in lines_of("") if line["host"] == "b"][:len(of_b)])
        equal(lines_of("&host=nowhere"), [])
        for line in lines:
            equal(fits(document, {"$ref": "#/components/schemas/LogLine"}, line), [])
        shown = subprocess.run([EXECUTABLE, "logs", run, "--host", "b"], capture_output=True, text=True, check=True)
        check(shown.stdout.strip() and all(" on b: " in line for line in shown.stdout.splitlines()), shown.stdout)

        # The host itself: its agent is the coordinator of its processes.
        os.kill(coordinator_of(hosts["c"]), signal.SIGKILL)

        def lost():
            found = [h for h in newest(server).get("hosts", []) if h["name"] == "c"]
            return found and found[0]["state"] == "lost" and found[0]
        gone = wait("host c is lost", lost)
        wait("a line of the leading host", lambda: lines_of("&host=a"))
        equal((gone["losses"], gone["processes"], gone["exposed"]), (1, [], None))
        check(0 < gone["returns_ms"] - time.time() * 1000 < 61000, "when it is tried again:", gone)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30 * SLOW)
        except subprocess.TimeoutExpired:
            process.kill()
        if server:
            server.stop()


def coordinator_of(host):
    return next(p["pid"] for p in host["processes"] if p["role"] == "coordinator")


def plans_are_those_of_the_command():
    directory = folder()
    config, run = directory + "/config.yaml", directory + "/run"
    with open(config, "w") as file:
        file.write(configuration(10))
    environment = {**os.environ, "CSE_DASHBOARD": "0"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    subprocess.run([EXECUTABLE, "start", config, "--model_dir", run], check=True, **quiet)
    server = Server("--run", run)
    profile = run + "/host_profile.json"
    try:
        missing = server.get(f"{API}/jobs/run/plan").json()
        equal(missing["report"], None)
        check("--save_profile" in missing["missing"], missing)
        command = [EXECUTABLE, "plan", config, "--model_dir", run, "--hosts", "1..64", "--link", "1G",
                   "--replicas", "2", "--mtbf", "100", "--json"]
        subprocess.run(command + ["--save_profile", profile], check=True, **quiet)
        said = subprocess.run(command + ["--profile", profile], check=True, capture_output=True, text=True,
                              env=environment).stdout
        wanted = json.loads(said)
        answer = server.get(f"{API}/jobs/run/plan?hosts=1..64&link=1G&replicas=2&mtbf=100&save_steps=1000000")
        equal(answer.status, 200)
        document = server.get("/openapi.json").json()
        equal(fits(document, {"$ref": "#/components/schemas/Plan"}, answer.json()), [])
        report = answer.json()["report"]
        equal(len(report["plans"]), 64)
        for one, plan in zip(report["plans"], wanted["plans"]):
            equal(one.keys(), plan.keys())
            for name, value in plan.items():
                same = one[name] == value if isinstance(value, list) else math.isclose(one[name], value, rel_tol=1e-12)
                check(same, plan["hosts"], name, one[name], value)
        equal(report["assumptions"], wanted["assumptions"])
        for query, sign in (("hosts=0", "accepted: numbers"), ("link=fast", "accepted: bits")):
            check(sign in server.get(f"{API}/jobs/run/plan?{query}").json()["missing"], query)
        for text in ("{", "{}", "[" * 5000, json.dumps({**wanted["profile"], "microbatches": 1 << 20})):
            with open(profile, "w") as file:
                file.write(text)
            answer = server.get(f"{API}/jobs/run/plan").json()
            equal(answer["report"], None, text[:20])
        os.unlink(profile)
        os.symlink(config, profile)
        equal(server.get(f"{API}/jobs/run/plan").json()["report"], None)
    finally:
        server.stop()


if __name__ == "__main__":
    support.main([hosts_are_seen_until_one_is_lost, plans_are_those_of_the_command])
