"""A program of the user's own as a job: where it may lie, what it may touch, what is seen of it while
it runs, and how it is ended."""
import json
import os
import shutil
import subprocess
import urllib.parse
import urllib.request

import support
from support import API, EXECUTABLE, LONG, Server, check, equal, until

PROGRAM, LIBRARIES = os.environ["CSE_TEST_PROGRAM"], os.environ["CSE_TEST_LIBRARIES"]


class Place:
    """A server that allows one folder of programs."""

    def __init__(self, allow=True):
        self.top = support.folder()
        self.root, self.allowed, self.outside = (f"{self.top}/{name}" for name in ("root", "allowed", "outside"))
        for path in (self.root, self.allowed, self.outside):
            os.makedirs(path)
        self.program = shutil.copy(PROGRAM, f"{self.allowed}/trainer")
        self.elsewhere = shutil.copy(PROGRAM, f"{self.outside}/trainer")
        os.symlink(self.elsewhere, f"{self.allowed}/link")
        with open(f"{self.outside}/secret", "w") as f:
            f.write("not for jobs\n")
        # The library that the program was linked with lies in the build tree, not in a system's folder.
        allowed = ["--allow_program", self.allowed, "--allow_program", LIBRARIES] if allow else []
        self.server = Server("--root", self.root, *allowed)

    def submit(self, id, *arguments, program=None):
        body = {"program": program or self.program, "arguments": [str(a) for a in arguments]}
        answer = self.server.request("PUT", f"{API}/jobs/{id}", body)
        equal(answer.status, 201, answer.body)

    def log(self, id):
        with open(f"{self.root}/{id}/start.log") as f:
            return f.read()

    def get(self, path):
        answer = self.server.get(f"{API}/jobs/{path}")
        equal(answer.status, 200, answer.body)
        return answer.json()

    def stop(self):
        support.end_jobs(self.server)
        self.server.stop()


def a_program_is_a_job_with_a_folder_of_its_own():
    place = Place()
    try:
        place.submit("plain", 8, f"{place.outside}/secret", f"{place.outside}/new", f"{place.root}/plain/own.txt")
        job = place.server.wait_for("plain", "SUCCEEDED")
        until(lambda: not place.server.job("plain")["alive"])  # what it printed is written at its end
        equal(job["model_name"] if "model_name" in job else "fc_mnist", "fc_mnist")
        log = place.log("plain")
        # Whatever the program asked for, its folder is the job's; what it may not touch, it cannot.
        check(os.path.exists(f"{place.root}/plain/own.mdl") and os.path.exists(f"{place.root}/plain/run.db"), log)
        check("own.txt: opened" in log, log)
        check(f"{place.outside}/new: opened" not in log and not os.path.exists(f"{place.outside}/new"), log)
        if "Landlock" in subprocess.run([EXECUTABLE, "doctor"], capture_output=True, text=True).stdout:
            check(f"{place.outside}/secret: opened" not in log, log)
        closures = place.get("plain/closures?tail=10")["closures"]
        equal(closures[0]["name"], "tell")
        check("seen " in closures[0]["payload"]["printed"], closures)
        check("seen 8" in log, log)
        equal([c["step"] for c in place.get("plain/checkpoints")["checkpoints"]], [8])
        check("trainer" in place.get("plain/config")["submitted"], "what was asked for")
    finally:
        place.stop()


def a_program_is_seen_live_and_ended():
    place = Place()
    try:
        for id in ("cancelled", "killed"):
            place.submit(id, LONG)
            place.server.wait_for(id, "RUNNING")
            until(lambda: ((place.server.job(id).get("progress") or {}).get("step") or 0) > 200)
            until(lambda: place.get(f"{id}/closures?tail=1")["closures"])
            check(place.get(f"{id}/metrics")["series"], "no curves")
            command = {"cancelled": "cancel", "killed": "kill"}[id]
            answer = place.server.request("POST", f"{API}/jobs/{id}/{command}")
            check(answer.status in (200, 202), answer.body)
            place.server.wait_for(id, "CANCELLED")
            until(lambda: not place.server.job(id)["alive"])
        # What was cancelled has had its checkpoint step; what was killed has not.
        check(os.path.exists(f"{place.root}/cancelled/own.mdl"), place.log("cancelled"))
        check(not os.path.exists(f"{place.root}/killed/own.mdl"), place.log("killed"))
    finally:
        place.stop()


def a_program_elsewhere_is_refused():
    place = Place()
    try:
        def refused(body, word, pointer):
            answer = place.server.request("POST", f"{API}/jobs", body)
            equal(answer.status, 422, answer.body)
            error = answer.json()["errors"][0]
            check(word in error["message"] and error.get("pointer") == pointer, error)

        refused({"program": place.elsewhere}, "--allow_program", "/program")
        refused({"program": f"{place.allowed}/../outside/trainer"}, "--allow_program", "/program")
        refused({"program": "/bin/sh"}, "may not run", "/program")
        refused({"program": "trainer"}, "absolute path", "/program")
        refused({"program": f"{place.allowed}/none"}, "no such file", "/program")
        refused({"program": place.program, "config": "trainer: {}"}, "config or program", "/program")
        refused({"program": place.program, "validate_only": True}, "no effect", "/validate_only")
        refused({"name": "x"}, "config", "/config")
        # A link that leads out is written as a path inside: what is opened decides.
        place.submit("link", 4, program=f"{place.allowed}/link")
        place.server.wait_for("link", "FAILED")
        check("may not run" in place.log("link"), place.log("link"))
    finally:
        place.stop()
    place = Place(allow=False)
    try:
        answer = place.server.request("POST", f"{API}/jobs", {"program": place.program})
        equal(answer.status, 422, answer.body)
        check("accepted are none" in answer.json()["errors"][0]["message"], answer.body)
    finally:
        place.stop()


def the_command_line_submits_a_program():
    place = Place()
    try:
        words = [EXECUTABLE, "submit", *place.server.named]
        answer = subprocess.run(words + ["--id", "from-cli", "--follow", place.program, "--", "6"], capture_output=True,
                                text=True)
        equal(answer.returncode, 0, answer.stdout + answer.stderr)
        check("seen 6" in place.log("from-cli"), place.log("from-cli"))
        answer = subprocess.run(words + [place.elsewhere], capture_output=True, text=True)
        check(answer.returncode != 0 and "--allow_program" in answer.stderr, answer.stderr)
        with open(f"{place.top}/c.yaml", "w") as f:
            f.write(support.configuration(4))
        answer = subprocess.run(words + [f"{place.top}/c.yaml", "--", "6"], capture_output=True, text=True)
        check(answer.returncode == 64 and "one argument too many" in answer.stderr, answer)
    finally:
        place.stop()


def execute_gives_a_program_its_folder():
    top = support.folder()
    words = [EXECUTABLE, "execute", "--model_dir", f"{top}/run", PROGRAM, "--", "4"]
    answer = subprocess.run(words, capture_output=True, text=True)
    equal(answer.returncode, 0, answer.stdout + answer.stderr)
    check("seen 4" in answer.stdout and os.path.exists(f"{top}/run/run.db"), answer)
    answer = subprocess.run([EXECUTABLE, "execute", "--model_dir", f"{top}/run", f"{top}/none"], capture_output=True,
                            text=True)
    check(answer.returncode == 66 and "none" in answer.stderr, answer)


def a_program_opens_a_dashboard_of_its_own():
    top = support.folder()
    environment = {**os.environ, "CSENGINE_MODEL_DIR": top, "TRAINER_DASHBOARD": "127.0.0.1:0"}
    program = subprocess.Popen([PROGRAM, str(LONG)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=environment)
    try:
        line = program.stderr.readline()
        check(line.startswith("csengine: info: computes in float32, because "), line)
        line = program.stderr.readline()
        check(line.startswith("Dashboard: http://127.0.0.1:"), line)
        url = urllib.parse.urlsplit(line.split()[1])
        token = {"Authorization": "Bearer " + urllib.parse.parse_qs(url.query)["token"][0]}

        def get(path):
            with urllib.request.urlopen(urllib.request.Request(f"http://{url.netloc}{API}/{path}", headers=token)) as answer:
                return json.load(answer)

        job = get("jobs")["jobs"][0]
        until(lambda: get(f"jobs/{job['id']}/closures?tail=1")["closures"])
        equal(get(f"jobs/{job['id']}")["name"], "trainer")
    finally:
        program.kill()
        program.wait()

    def is_gone():
        try:
            get("jobs")
        except OSError:
            return True
        return False

    until(is_gone)


if __name__ == "__main__":
    support.main([a_program_is_a_job_with_a_folder_of_its_own, a_program_is_seen_live_and_ended,
                  a_program_elsewhere_is_refused, the_command_line_submits_a_program,
                  execute_gives_a_program_its_folder, a_program_opens_a_dashboard_of_its_own])
