"""The program `csengine`, started from Python."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from csengine.runs import Run


class CommandError(RuntimeError):
    """The program failed.

    Attributes:
        code: its exit code (sysexits); None for a run that this program did not start.
        output: what it printed.
    """

    def __init__(self, command, code, output):
        self.code = code
        self.output = output
        lines = [line for line in output.splitlines() if "error:" in line] or output.splitlines()[
            -3:
        ]
        super().__init__("\n".join(lines) or f"csengine {command} ended with exit code {code}")


def find():
    """Path of the program: CSENGINE_EXECUTABLE, that of this package, or the one in PATH; None."""
    named = os.environ.get("CSENGINE_EXECUTABLE")
    own = pathlib.Path(__file__).parent / "bin" / "csengine"
    return named or (str(own) if own.exists() else shutil.which("csengine"))


def executable():
    """The same; FileNotFoundError where there is none."""
    found = find()
    if not found:
        raise FileNotFoundError(
            "the program csengine is not installed: set CSENGINE_EXECUTABLE to "
            "its path, or put it into PATH"
        )
    return found


def main():
    """The command `csengine` of an installed wheel: the program in it."""
    program = executable()
    os.environ.setdefault("CSENGINE_PYTHON", sys.executable)
    os.execv(program, [program, *sys.argv[1:]])


def call(*arguments, check=True, **options):
    """Runs one command; returns the completed process with its text. CommandError where it
    fails."""
    done = subprocess.run(
        [executable(), *map(os.fspath, arguments)], capture_output=True, text=True, **options
    )
    if check and done.returncode != 0:
        raise CommandError(arguments[0], done.returncode, done.stdout + done.stderr)
    return done


def _arguments(settings):
    arguments = []
    for name, value in settings.items():
        text = value if isinstance(value, str) else json.dumps(value)
        if "." in name:
            arguments += ["--set", f"{name}={text}"]
        else:
            arguments += [f"--{name}", text]
    return arguments


def run(config, *, model_dir=None, wait=False, progress=False, **sets):
    """Starts a run of a configuration.

    Args:
        config: path of a YAML file, or the configuration as dictionaries.
        model_dir: folder of the run; None: as the configuration says, or a new temporary one where
            it is given as dictionaries.
        wait: return when it is over; CommandError where it failed, KeyboardInterrupt stops it.
        progress: show a bar (with tqdm, where it is installed) and wait.
        sets: options of `csengine start` (num_csx=2, num_steps=100), and any setting by its path
            (**{"loop.num_steps": 100}).
    Returns:
        a csengine.Run, whose metrics() can be read while it goes on. It goes on when this program
        ends, unless it is stopped: run.stop(), or `with csengine.run(...) as run:`. What the
        program prints is in MODEL_DIR/logs/output.log.
    """
    if model_dir is None:
        model_dir = (
            tempfile.mkdtemp(prefix="csengine-") if isinstance(config, dict) else resolved(config)
        )
    logs = pathlib.Path(model_dir) / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    if isinstance(config, dict):
        path = logs / "config.json"
        path.write_text(json.dumps(config))
        config = path
    made = Run(model_dir)
    with open(made.output_path, "w") as output:
        made.process = subprocess.Popen(
            [
                executable(),
                "start",
                os.fspath(config),
                "--model_dir",
                os.fspath(model_dir),
                *_arguments(sets),
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={"CSE_DASHBOARD": "0", "CSENGINE_PYTHON": sys.executable, **os.environ},
            start_new_session=True,
        )
    if progress:
        _show(made)
    if wait or progress:
        made.wait()
    return made


def resolved(config):
    """The model_dir that a configuration names."""
    found = re.search(
        r"^\s*model_dir:\s*[\"']?([^\s\"']+)", pathlib.Path(config).read_text(), re.MULTILINE
    )
    return found.group(1) if found else "./model_dir"


def _show(made):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return
    with tqdm(unit="step") as bar:
        for point in made.metrics("loss"):
            bar.update(point.step - bar.n)
            bar.set_postfix(loss=f"{point.value:.4f}")


def compare(first, second):
    """Compares two runs or two checkpoints, by their paths: (equal, text of `csengine compare`)."""
    done = call("compare", first, second, check=False)
    if done.returncode not in (0, 1):
        raise CommandError("compare", done.returncode, done.stdout + done.stderr)
    return done.returncode == 0, done.stdout


def serve(model_dir, timeout=20):
    """Starts a server of one run; returns (address with the token, process)."""
    process = subprocess.Popen(
        [executable(), "serve", "--run", os.fspath(model_dir)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    begun = time.monotonic()
    while time.monotonic() - begun < timeout:
        line = process.stdout.readline()
        found = re.search(r"https?://\S+", line)
        if found:
            return found.group(0), process
        if not line:
            break
    process.kill()
    raise CommandError("serve", process.wait(), line)
