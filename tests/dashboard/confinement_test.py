"""What a job that came over the API may touch: each attack is refused, and nothing changes outside
of its own folder."""
import errno
import hashlib
import os
import shutil
import stat
import subprocess

import support
from support import API, Server, check, equal

SECRET = "secret-line-of-another-user"
DATA = "\n".join(f"{i % 7},{i % 3},{i % 2}" for i in range(256)) + "\n"


def configuration(path=None, model="{ name: fc_mnist, input_size: 2, hidden_sizes: [8], num_classes: 2 }", init="",
                  steps=4):
    loader = f"data_processor: csv, path: {path}, label: 2, header: false" if path else (
        "data_processor: synthetic, features: [2], classes: 2, samples: 256")
    return f"""trainer:
  init:
    model: {model}
    optimizer: {{ SGD: {{ lr: 0.01 }} }}
    loop: {{ num_steps: {steps} }}
    seed: 1
{init}  fit:
    train_dataloader: {{ {loader}, batch_size: 64, micro_batch_size: 32 }}
"""


def is_refusal(text):
    """By the check of the path, or already by the kernel."""
    return "may not read" in text or "Permission denied" in text


# What lies outside is refused, or not there.
REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)


class Place:
    """A server, data in its root, and what must stay as it is."""

    def __init__(self, *arguments):
        self.top = support.folder()
        self.root, self.outside, self.data = (f"{self.top}/{name}" for name in ("root", "outside", "data"))
        os.makedirs(f"{self.top}/compiled")
        for path in (self.root, self.outside, self.data, f"{self.root}/shared", f"{self.root}/victim"):
            os.makedirs(path)
        self.write(f"{self.root}/shared/good.csv", DATA)
        self.write(f"{self.data}/good.csv", DATA)
        self.write(f"{self.data}/bad.csv", f"1,2,{SECRET}\n")
        self.write(f"{self.outside}/secret", SECRET + "\n")
        self.write(f"{self.root}/victim/checkpoint_4.mdl", SECRET + "\n")
        os.symlink(f"{self.outside}/secret", f"{self.root}/shared/link.csv")
        # A link of the kernel's, which is not resolved by its text: to the root folder.
        os.symlink("/proc/self/root" + "/etc/shadow", f"{self.root}/shared/magic.csv")
        self.before = self.digest()
        self.server = Server("--root", self.root, *[a.format(place=self) for a in arguments])
        self.write(f"{self.root}/own-secret", SECRET + "\n")

    @staticmethod
    def write(path, text):
        with open(path, "w") as f:
            f.write(text)

    def digest(self):
        """Of all that jobs must not change."""
        lines = []
        for top in (self.outside, self.data, f"{self.root}/victim", f"{self.root}/shared"):
            for folder, folders, files in sorted(os.walk(top)):
                for name in sorted(folders + files):
                    path = f"{folder}/{name}"
                    lines.append(path)
                    if os.path.isfile(path) and not os.path.islink(path):
                        with open(path, "rb") as f:
                            lines.append(hashlib.sha256(f.read()).hexdigest())
        return lines

    def validate(self, text):
        answer = self.server.request("POST", f"{API}/config:validate", {"config": text, "depth": "step"})
        equal(answer.status, 200, answer.body)
        check(SECRET.encode() not in answer.body or "bad.csv" in text, "a secret is told:", answer.body)
        return answer.json()

    def refused(self, text, word, line=True):
        """Neither validated nor taken; the answer names the place."""
        found = self.validate(text)
        check(not found["valid"], "valid:", text)
        answer = self.server.request("PUT", f"{API}/jobs/attack", {"config": text})
        equal(answer.status, 422, answer.body)
        check(SECRET.encode() not in answer.body and b"root:" not in answer.body, answer.body)
        for first in (found["diagnostics"][0], answer.json()["errors"][0]):
            check(word in first["message"], word, "is not in", first)
            check(not line or first.get("line", 0) > 0, "no place:", first)
        equal(self.server.get(f"{API}/jobs/attack").status, 404)

    def submit(self, id, text):
        answer = self.server.request("PUT", f"{API}/jobs/{id}", {"config": text})
        equal(answer.status, 201, answer.body)

    def ends(self, id, text, state):
        self.submit(id, text)
        job = self.ended(id)
        log = self.log(id)
        equal(job["state"], state, job["message"] + log)
        check(SECRET not in log + job["message"], "a secret is told:", log)
        return log

    def ended(self, id):
        """The job, when its process is gone and has said all."""
        self.server.wait_for(id, "SUCCEEDED", "FAILED")
        support.until(lambda: not self.server.job(id)["alive"])
        return self.server.job(id)

    def log(self, id):
        with open(f"{self.root}/{id}/start.log") as f:
            return f.read()

    def stop(self):
        support.end_jobs(self.server)
        self.server.stop()
        equal(self.digest(), self.before, "what lies outside")


def outputs_stay_in_the_folder_of_the_job():
    place = Place()
    try:
        def logger(path):
            return configuration(init=f"    loggers: [ {{ CSVLogger: {{ path: {path} }} }} ]\n")

        for path in ("../victim/checkpoint_4.mdl", f"{place.root}/../outside/x.csv", "/etc/x.csv", f"{place.outside}/x.csv",
                     "a/../../victim/x.csv"):
            place.refused(logger(path), "may not write")
        place.refused(configuration(init=f"    backend: {{ compile_dir: {place.outside}/compiled }}\n"), "may not write")
        place.refused(configuration(init="    backend: { compile_dir: ../victim }\n"), "may not write")
        place.refused(configuration(init="    loggers: [ { TensorBoardLogger: { summary_dir: /tmp/x } } ]\n"), "may not write")
        place.refused(logger(f"{place.root}/victim/checkpoint_4.mdl"), "may not write")
        place.ends("inner", logger("metrics.csv"), "SUCCEEDED")
        check(os.path.getsize(f"{place.root}/inner/metrics.csv") > 20, "metrics.csv")
        place.ends("named", configuration(init="    backend: { compile_dir: steps }\n    loggers:\n"
                                               f"    - CSVLogger: {{ path: {place.root}/named/m.csv }}\n"
                                               "    - TensorBoardLogger: { summary_dir: a/b }\n"), "SUCCEEDED")
        equal(sorted(set(os.listdir(f"{place.root}/named")) & {"steps", "m.csv", "a", "compiled"}), ["a", "m.csv", "steps"])
    finally:
        place.stop()


def links_that_come_later_lead_nowhere():
    place = Place("--cores", "1")
    try:
        place.submit("first", configuration(steps=support.LONG))
        place.submit("second", configuration(init="    loggers: [ { CSVLogger: { path: link/x.csv } } ]\n"))
        os.symlink("../victim", f"{place.root}/second/link")
        place.submit("third", configuration(init="    backend: { compile_dir: link }\n"))
        os.symlink(place.outside, f"{place.root}/third/link")
        place.server.request("POST", f"{API}/jobs/first/kill")
        for id in ("second", "third"):
            equal(place.ended(id)["state"], "FAILED", id)
            check("may not write" in place.log(id), place.log(id))
    finally:
        place.stop()


def the_server_follows_no_link_in_the_folder_of_a_job():
    place = Place("--cores", "1")
    try:
        place.submit("first", configuration(steps=support.LONG))
        for id in ("log", "config"):
            place.submit(id, configuration())
        os.symlink(f"{place.outside}/new", f"{place.root}/log/start.log")
        os.rename(f"{place.root}/config/submitted.yaml", f"{place.root}/config/kept")
        os.symlink(f"{place.outside}/secret", f"{place.root}/config/submitted.yaml")
        answer = place.server.get(f"{API}/jobs/config/config")
        check(answer.status == 200 and SECRET.encode() not in answer.body, answer.body)
        place.server.request("POST", f"{API}/jobs/first/kill")
        equal(place.ended("log")["state"], "SUCCEEDED")
        equal(place.ended("config")["state"], "FAILED")
        check(SECRET not in place.log("config"), place.log("config"))
        check(not os.path.islink(f"{place.root}/log/start.log"), "the link is still there")
    finally:
        place.stop()


def input_lies_below_the_folders_of_the_operator():
    place = Place()
    try:
        for path in ("/etc/shadow", "/etc/passwd", f"{place.outside}/secret", f"{place.root}/shared/../../outside/secret",
                     f"{place.data}/good.csv", "../outside/secret", "/usr/share/datasets/../../../etc/passwd",
                     "/proc/self/environ"):
            place.refused(configuration(path), "may not read")
        place.refused(configuration().replace("  fit:", "  fit:\n    ckpt_path: /etc/shadow"), "may not read")
        for name in ("shared/link.csv", "shared/magic.csv", "own-secret", "jobs.db"):
            text = configuration(f"{place.root}/{name}")
            found = place.validate(text)
            check(not found["valid"] and is_refusal(found["diagnostics"][0]["message"]), name, found)
            place.refused(text, "", line=False)
        text = configuration().replace("  fit:", f"  fit:\n    ckpt_path: {place.root}/shared/link.csv")
        place.refused(text, "may not read", line=False)
        place.ends("good", configuration(f"{place.root}/shared/good.csv"), "SUCCEEDED")
        place.ends("from", configuration().replace("  fit:", f"  fit:\n    ckpt_path: {place.root}/good/checkpoint_4.mdl"),
                   "SUCCEEDED")
    finally:
        place.stop()


def the_operator_names_folders():
    place = Place("--data_root", "{place.data}", "--output_root", "{place.top}/compiled")
    try:
        place.ends("good", configuration(f"{place.data}/good.csv",
                                         init=f"    backend: {{ compile_dir: {place.top}/compiled/steps }}\n"), "SUCCEEDED")
        found = place.validate(configuration(f"{place.data}/bad.csv"))
        check(SECRET in found["diagnostics"][0]["message"], "a line of data that may be read is quoted:", found)
        place.refused(configuration("/usr/share/common-licenses/GPL-3"), "may not read")
    finally:
        place.stop()


def mount_dirs_lie_below_the_folders_of_the_operator():
    """They are where a job's relative paths are looked for, and open nothing that was not open before."""
    place = Place("--data_root", "{place.data}")
    mounts = "    backend: {{ cluster_config: {{ {}: [{}] }} }}\n".format
    try:
        place.ends("relative", configuration("good.csv", init=mounts("mount_dirs", place.data)), "SUCCEEDED")
        place.ends("queue", configuration("good.csv", init=mounts("mount_dirs", f"{place.root}/shared")), "SUCCEEDED")
        for folder in (place.outside, "/etc", f"{place.data}/../outside", f"{place.outside}/none"):
            place.refused(configuration("secret", init=mounts("mount_dirs", folder)), "may not read")
        for path in ("link.csv", "magic.csv", "../../outside/secret", "none.csv"):
            place.refused(configuration(path, init=mounts("mount_dirs", f"{place.root}/shared")), "may not read")
        place.refused(configuration(init=mounts("python_paths", place.data)), "may not load")
    finally:
        place.stop()


def programs_that_reach_hosts_are_the_operators():
    """A launcher and its arguments are a program that the server's user would run."""
    place = Place()
    cluster = "    backend: {{ cluster_config: {{ {}: \"{}\" }} }}\n".format
    try:
        for name, value in (("host_launcher", "exec"), ("host_launcher", "ssh"), ("host_launcher_options", "touch /tmp/x"),
                            ("host_link_options", "--pre-launch touch")):
            place.refused(configuration(init=cluster(name, value)), "operator's")
        place.refused(configuration(init="    backend: { cluster_config: { hosts: [a, b] } }\n"), "on this host alone", line=False)
    finally:
        place.stop()


def alerts_run_nothing_and_call_nobody():
    place = Place()
    alerts = "    alerts: {{ when: [loss > 3], {} }}\n".format
    try:
        place.refused(configuration(init=alerts("program: sh")), "may not run")
        place.refused(configuration(init=alerts("webhook: \"http://127.0.0.1:9/\"")), "opens no connections")
    finally:
        place.stop()


def build_library(place, name):
    """The model of examples/outside with code of its own, which runs when it is loaded."""
    source, include = os.environ["top_srcdir"], f"-I{os.environ['top_srcdir']}/include"
    os.makedirs(f"{place}/libraries", exist_ok=True)
    library = f"{place}/libraries/{name}.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", include, f"-DTOP=\"{place}\"", f"-DQUEUE=\"{place}/root\"", "-o", library,
                    f"{source}/examples/outside/linear_model.c", f"{source}/tests/dashboard/libraries/attacks.c"], check=True)
    return library


def libraries_are_the_operators():
    model = "{{ library: {}, name: linear_model, input_size: 2, num_classes: 2 }}".format
    place = Place()
    try:
        library, loaded = build_library(place.top, "attacks"), f"{place.top}/loaded"
        place.refused(configuration(model=model(library)), "may not load")
        place.refused(configuration(model=model("attacks.so")), "may not load")
        check(not os.path.exists(loaded), "the library was loaded")
    finally:
        place.stop()
    place = Place("--allow_library", "{place.top}/compiled")
    try:
        library = build_library(place.top, "attacks")
        shutil.copy(library, f"{place.top}/compiled/attacks.so")
        os.symlink(library, f"{place.top}/compiled/link.so")
        place.refused(configuration(model=model(library)), "may not load")
        text = configuration(model=model(f"{place.top}/compiled/attacks.so"))
        found = place.validate(text)
        check(found["valid"] and "not loaded merely to validate" in found["warnings"][0]["message"], found)
        log = place.ends("link", configuration(model=model(f"{place.top}/compiled/link.so")), "FAILED")
        check("may not load" in log, log)
        log = place.ends("attacks", text, "SUCCEEDED")
        results = {words[1]: int(words[2]) for line in log.splitlines() if (words := line.split())[:1] == ["attacks:"]}
        check(len(results) > 10, log)
        if not has_kernel_part(place, 1):  # nothing else keeps a library of the operator's from files
            place.before = place.digest()
        for name, least in ATTACKS.items():
            if has_kernel_part(place, least) and name in results:
                check(results[name] in REFUSALS, name, "was not refused:", results)
    finally:
        place.stop()


def one_of_each(library, loss=0):
    """A configuration with a plugin of every kind from the folder's libraries; the op is in the model."""
    kinds, training = f"{library}/custom_kinds.so", f"{library}/custom_training.so"
    return f"""trainer:
  init:
    model: {{ library: {kinds}, name: softsign_net }}
    optimizer: {{ library: {training}, name: CustomOptimizer }}
    schedulers:
    - {{ library: {training}, name: TriangleLR, max_lr: 0.1, half_period: 8 }}
    - {{ library: {training}, name: TriangleWD, max_val: 0.01, half_period: 8 }}
    loggers: [ {{ library: {kinds}, name: JsonLines }} ]
    metrics: [ {{ library: {kinds}, name: error_rate }} ]
    callbacks: [ {{ library: {kinds}, name: GoodEnough, loss: {loss} }} ]
    loop: {{ num_steps: 16, eval_frequency: 8, eval_steps: 2 }}
    seed: 1
  fit:
    train_dataloader: {{ library: {training}, data_processor: circles, batch_size: 64, micro_batch_size: 32 }}
    val_dataloader: {{ library: {training}, data_processor: circles, samples: 256, batch_size: 64 }}
"""


def every_kind_is_the_operators():
    source, include = os.environ["top_srcdir"], f"-I{os.environ['top_srcdir']}/include"
    place = Place("--allow_library", "{place.top}/compiled")
    try:
        for name in ("custom_kinds", "custom_training"):
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", include, "-o", f"{place.top}/compiled/{name}.so",
                            f"{source}/examples/outside/{name}.c", "-lm"], check=True)
        shutil.copytree(f"{place.top}/compiled", f"{place.top}/elsewhere")
        text = one_of_each(f"{place.top}/compiled")
        check("not loaded merely to validate" in place.validate(text)["warnings"][0]["message"], "a warning")
        for line in text.splitlines():  # each place by itself
            if "library:" in line:
                place.refused(text.replace(line, line.replace("compiled", "elsewhere")), "may not load")
        nested = text.replace("    - { library: ", "    - SequentialLR: { schedulers: [0.1, { library: ", 1).replace(
            "half_period: 8 }", "half_period: 8 }], milestones: [4] }", 1)
        line = next(line for line in nested.splitlines() if "SequentialLR" in line)
        place.refused(nested.replace(line, line.replace("compiled", "elsewhere")), "may not load")
        place.ends("each", text, "SUCCEEDED")
        with open(f"{place.root}/each/scalars.jsonl") as lines:
            written = lines.read()
        for name in ("loss", "val_error_rate"):
            check(f'"name": "{name}", "step": 16' in written, f"the logger wrote no {name}:", written)
        place.ends("nested", nested, "SUCCEEDED")
        log = place.ends("early", one_of_each(f"{place.top}/compiled", loss=1000), "SUCCEEDED")
        check("the loss is good enough" in log and place.server.job("early")["progress"]["step"] == 8, log)
    finally:
        place.stop()


# What refuses each attack of libraries/attacks.c: a version of Landlock, or the filter of system calls.
ATTACKS = {"write_outside": 1, "write_other_job": 1, "read_outside": 1, "read_server": 1, "read_shadow": 1,
           "remove_outside": 1, "link_outside": 1, "connect": 4, "signal_parent": 6,
           **dict.fromkeys(("server", "raw_socket", "mount", "keyctl", "bpf", "perf", "userfaultfd", "unshare", "setuid", "io_uring"),
                           "filter")}
if support.SLOW == 1:
    ATTACKS["ptrace"] = "filter"
else:  # which a build with sanitizers leaves, and it reads everywhere
    ATTACKS = {name: least for name, least in ATTACKS.items() if not name.startswith("read_")}


def has_kernel_part(place, least):
    there = place.server.get(f"{API}/version").json()["confinement"]
    return there["system_calls"] if least == "filter" else there["landlock"] >= least


def others_may_read(top):
    found = []
    for folder, folders, files in os.walk(top):
        for path in (f"{folder}/{name}" for name in folders + files):
            try:
                facts = os.lstat(path)
            except FileNotFoundError:  # of the dashboard, which is ending
                continue
            if not stat.S_ISLNK(facts.st_mode) and facts.st_mode & 0o077:
                found.append(path)
    return found


def files_are_their_owners_alone():
    before = os.umask(0)
    place = Place()
    try:
        shutil.rmtree(f"{place.root}/shared"), shutil.rmtree(f"{place.root}/victim"), os.remove(f"{place.root}/own-secret")
        place.before = place.digest()
        place.ends("job", configuration(init="    loggers: [ CSVLogger, TensorBoardLogger ]\n"), "SUCCEEDED")
        check(len(os.listdir(f"{place.root}/job")) > 5, "what the job left")
        equal(others_may_read(place.root), [])
        config = f"{place.top}/config.yaml"
        place.write(config, configuration())
        subprocess.run([support.EXECUTABLE, "start", config, "--model_dir", f"{place.top}/own", "--quiet"], check=True)
        equal(others_may_read(f"{place.top}/own"), [])
        # `start --confine` restricts a run of the user's own in the same way.
        place.write(config, configuration(f"{place.data}/good.csv"))
        words = [support.EXECUTABLE, "start", config, "--quiet", "--confine", "--model_dir", f"{place.top}/confined"]
        answer = subprocess.run(words, capture_output=True, text=True)
        check(answer.returncode == 78 and "may not read" in answer.stderr, answer)
        subprocess.run(words + ["--data_root", place.data], check=True)
        answer = subprocess.run(words[:4] + ["--data_root", place.data], capture_output=True, text=True)
        check(answer.returncode == 64 and "--confine" in answer.stderr, answer)
    finally:
        os.umask(before)
        place.stop()


def nothing_stays_in_temporary_folders():
    place = Place()
    temporary = f"{place.top}/tmp"
    os.mkdir(temporary, 0o700)
    place.stop()
    place.server.environment["XDG_RUNTIME_DIR"] = temporary
    place.server.start()
    try:
        place.ends("job", configuration(init="    backend: { compile_dir: fresh }\n"), "SUCCEEDED")
        place.validate(configuration())
        equal([name for name in os.listdir(temporary) if name.startswith("csengine-run-")], [])
    finally:
        place.stop()


if __name__ == "__main__":
    support.main([outputs_stay_in_the_folder_of_the_job, links_that_come_later_lead_nowhere,
                  the_server_follows_no_link_in_the_folder_of_a_job,
                  input_lies_below_the_folders_of_the_operator, the_operator_names_folders,
                  mount_dirs_lie_below_the_folders_of_the_operator, programs_that_reach_hosts_are_the_operators,
                  alerts_run_nothing_and_call_nobody,
                  libraries_are_the_operators, every_kind_is_the_operators, files_are_their_owners_alone, nothing_stays_in_temporary_folders])
