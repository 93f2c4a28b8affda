"""Completion in real shells, as a user types it: arguments CSENGINE TREE DIRECTORY SHELL.

bash and zsh run on a terminal and get a line with a Tab; fish answers `complete -C`.
"""
import os
import pty
import re
import select
import subprocess
import sys
import time

csengine, tree, work, shell = sys.argv[1:5]
home = os.path.join(work, "home " + shell)  # with a blank, as a directory may have
os.makedirs(home)
os.makedirs(os.path.join(home, "model_dir", "a"))
os.makedirs(os.path.join(home, "bin"))
os.symlink(csengine, os.path.join(home, "bin", "csengine"))
for name in ("run.yaml", "notes.txt", "checkpoint_7.mdl", "two words.yaml"):
    open(os.path.join(home, name), "w").close()
environment = {
    "PATH": os.path.join(home, "bin") + ":" + os.environ["PATH"], "HOME": home, "TERM": "dumb",
    "XDG_RUNTIME_DIR": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "LANG": "C.UTF-8",
    "CSE_SERVER": os.environ.get("CSE_SERVER", ""),
}
script = os.path.join(tree, "completion", "csengine." + shell)


PROMPT = r"READY> (\x1b\[\?2004h)?$"


class Terminal:
    """An interactive shell; complete(line) is the line after a Tab."""

    def __init__(self, words, start):
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(home)
            os.execvpe(words[0], words, environment)
        self.expect(start + "; PS1='READY> '; unset RPS1; echo BEG''UN\n", "BEGUN\r?\n.*" + PROMPT)

    def expect(self, text, pattern, seconds=30):
        os.write(self.terminal, text.encode())
        got, end = "", time.monotonic() + seconds
        while not re.search(pattern, got, re.S):
            assert time.monotonic() < end, (text, pattern, got)
            if select.select([self.terminal], [], [], 0.2)[0]:
                got += os.read(self.terminal, 65536).decode(errors="replace")
        return got

    def completes(self, line, wanted):
        """Types the line and a Tab until the wanted line stands there; "" or what was there."""
        os.write(self.terminal, (line + "\t").encode())
        got, end = "", time.monotonic() + 20
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.2)[0]:
                got += os.read(self.terminal, 65536).decode(errors="replace")
            plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x07", "", got)
            while "\b" in plain:
                plain = re.sub(r"[^\b]?\b ?", "", plain, count=1)
            if wanted.rstrip() in re.sub(r" ?\r\n?", "", plain):
                self.expect("\x15\n", PROMPT)
                return ""
        return got


def fish_complete(line):
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; complete -C \"{line}\""],
        cwd=home, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "", done.stderr
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


# What is typed, and the one way in which it goes on.
LINES = [
    ("csengine tun", "csengine tune-precision "),
    ("csengine start --num_w", "csengine start --num_workers_per_csx "),
    ("csengine start --num-w", "csengine start --num-workers-per-csx "),
    ("csengine start ru", "csengine start run.yaml "),
    ("csengine start run.yaml --set loop.num_s", "csengine start run.yaml --set loop.num_steps="),
    ("csengine start --set optimizer.SGD.momentu", "csengine start --set optimizer.SGD.momentum="),
    ("csengine start --set model.num_cl", "csengine start --set model.num_classes="),
    ("csengine start --set precision.fp16_type=cb",
     "csengine start --set precision.fp16_type=cbfloat16 "),
    ("csengine start --set trainer.init.precision.fp16_type=cb",
     "csengine start --set trainer.init.precision.fp16_type=cbfloat16 "),
    ("csengine start --set train_dataloader.data_processor=syn",
     "csengine start --set train_dataloader.data_processor=synthetic "),
    ("csengine start --set precision.enabled=t",
     "csengine start --set precision.enabled=true "),
    ("csengine start --weight_grad_reduce=bf16s", "csengine start --weight_grad_reduce=bf16sr "),
    ("csengine start --checkpoint_path che", "csengine start --checkpoint_path checkpoint_7.mdl "),
    ("csengine list opti", "csengine list optimizers "),
    ("csengine list models fc_", "csengine list models fc_mnist "),
    ("csengine checkpoint ver", "csengine checkpoint verify "),
    ("csengine checkpoint info che", "csengine checkpoint info checkpoint_7.mdl "),
    ("csengine compile --print_after fus", "csengine compile --print_after fusion "),
    ("csengine get jobs --state RUNN", "csengine get jobs --state RUNNING "),
    ("csengine compare mod", "csengine compare model_dir/"),
]
JOBS = [
    ("csengine pause job-on", "csengine pause job-one "),
    ("csengine get job job-t", "csengine get job job-two "),
]
with_server = environment["CSE_SERVER"] != ""
lines = LINES + (JOBS if with_server else [])

if shell == "fish":
    for typed, wanted in lines:
        got = fish_complete(typed)
        assert got == [wanted.split(" ")[-1] or wanted.split(" ")[-2]], (typed, got)
    assert "kinds" not in fish_complete("csengine list ") and "settings" in fish_complete(
        "csengine list ")
else:
    if shell == "bash":
        terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], f"source {script}")
    else:
        options = "unsetopt prompt_cr prompt_sp zle_bracketed_paste always_last_prompt"
        terminal = Terminal(["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u -D; "
                            f"{options} 2>/dev/null; source {script}")
    for typed, wanted in lines:
        left = terminal.completes(typed, wanted)
        assert left == "", (typed, wanted, left)
print(f"{shell}: {len(lines)} lines are completed")
