"""Training steps of an adapter (LoRA of rank 16 beside all linear layers) beside transformers and
PEFT on the same cores: tokens a second, processor time and peak memory, as a table of ratios.

    adapter_steps.py --csengine PROGRAM --model GGUF_OR_FOLDER [--rows A,B] [--rounds N] [--cores N]

Rows: `fp32` and `bf16` of the model that is given; `nf4` of a Llama of 1.1 billion random weights
packed by bitsandbytes, which both sides read from the same folder. Both begin with the same
factors and take the same samples, and a row counts only where the first losses agree. Then the
sides take turns, a few steps a round; medians over all steps.

Run it with a Python that has PyTorch, transformers and peft (and bitsandbytes for `nf4`). On a
processor that is not Intel's, MKL is made to take its fast path unless --stock is given.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the tree may be read-only
from measured_processes import (
    ENVIRONMENT,
    Failed,
    MemoryWatch,
    Peer,
    descendants,
    end,
    fast_environment,
    pinned,
    run,
)

TWIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "adapter_steps_torch.py")
RATE = 1e-3
# Relative, of the first loss and of those after it, in which AdamW makes more of roundings: its first
# steps go by the sign of a gradient.
TOLERANCES = {"fp32": (1e-5, 1e-3), "bf16": (5e-3, 5e-2), "nf4": (1e-2, 5e-2)}
TICKS = os.sysconf("SC_CLK_TCK")
HALF = "    precision: {fp16_type: bfloat16, graphamp: {preset: mp2}}\n"


def processor_seconds(process_id):
    """Of a process and all that it started, those that live now."""
    ticks = 0
    for one in descendants(process_id):
        try:
            with open(f"/proc/{one}/stat") as file:
                ticks += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        except OSError:
            continue
    return ticks / TICKS


class Row:
    """A model, a precision, and both sides of it."""

    def __init__(self, options, name, work):
        self.options, self.name, self.work = options, name, work
        self.cores = sorted(os.sched_getaffinity(0))[: options.cores]
        self.text = os.path.join(work, "text.bin")
        self.folder = os.path.join(work, "llama" if name == "nf4" else "base")
        self.milliseconds, self.seconds, self.peak = [], [], 0.0

    def prepare(self):
        """The weights, our configuration, and the factors that both sides begin with."""
        o = self.options
        if not os.path.exists(self.folder):
            if self.name == "nf4":
                self.twin_once("make", "nf4", self.folder)
                shutil.rmtree(os.path.join(self.folder, "plain"))
            else:
                self.ours("checkpoint", "convert", o.model, self.folder)
        unused = os.path.join(self.work, "unused.mdl")
        section = self.ours("checkpoint", "convert", self.folder, unused, "--print_model")
        os.remove(unused)
        self.config = os.path.join(self.work, f"{self.name}.yaml")
        with open(self.config, "w") as file:
            file.write(section + self.settings())
        first = os.path.join(self.work, f"{self.name}-first")
        self.ours("start", self.config, "--model_dir", first, "--num_steps", "1")
        self.adapter = os.path.join(self.work, f"{self.name}-adapter")
        shutil.rmtree(self.adapter, ignore_errors=True)
        self.ours("checkpoint", "convert", f"{first}/checkpoint_0.mdl", self.adapter, "--to", "peft")
        shutil.rmtree(first)

    def settings(self):
        o = self.options
        return f"""    adapters: {{default: {{r: 16, lora_alpha: 32, target_modules: all-linear}}}}
    backend: {{compile_dir: {self.work}/compiled, cluster_config: {{num_csx: {min(o.cores, o.batch)}}}}}
    optimizer: {{AdamW: {{learning_rate: {RATE}, weight_decay: 0.0, eps: 1.0e-8,
      eps_added_to: corrected}}}}
    checkpoint: {{steps: 100000, save_initial_checkpoint: true}}
    logging: {{log_steps: 1}}
    seed: 1
{"" if self.name == "fp32" else HALF}  fit:
    weights: {self.folder}
    train_dataloader: {{data_processor: text_bytes, path: {self.text}, sequence_length: {o.length},
      batch_size: {o.batch}, micro_batch_size: 1, shuffle: false}}
"""

    def ours(self, *arguments):
        command = [self.options.csengine, *arguments]
        return run(command, self.cores, seconds=3000, cwd=self.work)

    def twin_once(self, *arguments):
        run([sys.executable, "-W", "ignore", TWIN, *arguments], self.cores, seconds=3000)

    def peers(self):
        """Kinds of runs of PEFT: the fastest one counts."""
        plain = [sys.executable, "-W", "ignore", TWIN, "train", self.folder, self.adapter, self.text]
        plain += ["--length", str(self.options.length), "--batch", str(self.options.batch)]
        plain += ["--threads", str(len(self.cores)), "--rate", str(RATE)]
        kinds = {
            "fp32": {"PEFT": []},
            "bf16": {
                "PEFT, autocast": ["--autocast"],
                "PEFT, autocast, base in bf16": ["--base", "bfloat16"],
            },
            "nf4": {"PEFT, bitsandbytes": ["--base", "nf4"]},
        }[self.name]
        if self.options.compiled:
            kinds |= {f"{name}, compiled": [*more, "--compiled"] for name, more in kinds.items()}
        return {name: plain + more for name, more in kinds.items()}

    def measure(self, steps):
        """A run of ours: the losses; times of all steps but the first two are kept."""
        model_dir = tempfile.mkdtemp(dir=self.work)
        command = [self.options.csengine, "start", self.config, "--json", "--no_dashboard"]
        command += ["--model_dir", model_dir, "--num_steps", str(steps)]
        told = os.path.join(self.work, "told.log")
        with open(told, "w") as log:
            process = subprocess.Popen(
                pinned(command, self.cores),
                env=ENVIRONMENT,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        memory, losses, marks = MemoryWatch([process.pid]), [], []
        try:
            for line in process.stdout:
                event = json.loads(line) if line.startswith("{") else {}
                if event.get("event") == "step":
                    marks.append((time.perf_counter(), processor_seconds(process.pid)))
                    losses.append(event["loss"])
            process.wait()
        finally:
            end(process)
            self.peak = max(self.peak, memory.stop()["pss_mb"])
            shutil.rmtree(model_dir, ignore_errors=True)
        if process.returncode != 0 or len(losses) != steps:
            with open(told) as log:
                raise Failed(f"{' '.join(command)}: {log.read().strip()[-400:]}")
        for (begun, before), (ended, after) in list(zip(marks, marks[1:]))[1:]:
            self.milliseconds.append((ended - begun) * 1e3)
            self.seconds.append(after - before)
        return losses


class TheirRow:
    """One kind of run of PEFT: a process that stays and obeys lines."""

    def __init__(self, name, command, cores):
        self.name, self.milliseconds, self.seconds = name, [], []
        self.peer = Peer(name, [command], [cores])

    def losses(self, steps):
        return self.peer.ask(f"losses {steps}", 3000)[0]

    def measure(self, steps):
        for milliseconds, seconds in self.peer.ask(f"steps {steps}", 3000)[0]:
            self.milliseconds.append(milliseconds)
            self.seconds.append(seconds)

    def close(self):
        self.peak = self.peer.ask("peak")[0]
        self.peer.close()


def agree(row, name, here, there):
    """The largest relative difference of the losses, which must be small before times count."""
    apart = [abs(a - b) / abs(b) for a, b in zip(here, there)]
    first, later = TOLERANCES[row.name]
    if apart[0] > first or max(apart) > later:
        raise Failed(f"{row.name}: losses {here} and, in {name}, {there}")
    return max(apart)


def line(row, name, side, reference):
    tokens = row.options.batch * row.options.length
    median = statistics.median(side.milliseconds)
    used = statistics.median(side.seconds)
    faster = statistics.median(reference.milliseconds) / median
    print(
        f"{row.name:5} {name:36} {tokens / median * 1e3:9.1f} {faster:6.2f} "
        f"{used:9.2f} {used / statistics.median(reference.seconds):6.2f} "
        f"{side.peak:9.0f} {side.peak / reference.peak:6.2f}",
        flush=True,
    )


def one_row(row):
    row.prepare()
    here, sides, apart = row.measure(row.options.checked), [], {}
    row.milliseconds, row.seconds = [], []
    for name, command in row.peers().items():
        side = TheirRow(name, command, row.cores)
        sides.append(side)
        apart[name] = agree(row, name, here, side.losses(row.options.checked))
    for _ in range(row.options.rounds):
        row.measure(row.options.steps + 2)
        for side in sides:
            side.measure(row.options.steps)
    for side in sides:
        side.close()
    line(row, "csengine", row, row)
    for side in sides:
        line(row, side.name, side, row)
    print("".join(f"      losses of {n} differ by {w:.1e}\n" for n, w in apart.items()), end="")


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csengine", required=True, type=os.path.abspath)
    parser.add_argument("--model", required=True, type=os.path.abspath)
    parser.add_argument("--rows", default="fp32,bf16,nf4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3, help="of a round")
    parser.add_argument("--checked", type=int, default=3, help="steps whose losses must agree")
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--compiled", action="store_true", help="torch.compile besides")
    parser.add_argument("--stock", action="store_true", help="MKL as it is")
    parser.add_argument("--folder", type=os.path.abspath, help="kept, and used again")
    options = parser.parse_args()
    for name in options.rows.split(","):
        if name not in TOLERANCES:
            parser.error(f"no row {name}; rows: {', '.join(TOLERANCES)}")
    return options


def main():
    options = parsed()
    work = options.folder or tempfile.mkdtemp(prefix="adapter-steps-")
    os.makedirs(work, exist_ok=True)
    ENVIRONMENT["OMP_NUM_THREADS"] = str(options.cores)
    if not options.stock:
        ENVIRONMENT.update(fast_environment(work) or {})
    with open(os.path.join(work, "text.bin"), "wb") as file:
        words = [f"{i * 7919 % 1013} is what {i * 31 % 97} was, " for i in range(20000)]
        file.write("".join(words).encode())
    print(
        f"{options.cores} cores, {options.batch} samples of {options.length} tokens; load "
        f"{os.getloadavg()[0]:.1f}\n{'row':5} {'':36} {'tokens/s':>9} {'ratio':>6} {'CPU s':>9} "
        f"{'ratio':>6} {'peak MB':>9} {'ratio':>6}",
        flush=True,
    )
    failed = False
    try:
        for name in options.rows.split(","):
            try:
                one_row(Row(options, name, work))
            except Failed as failure:
                print(f"{name}: {failure}", flush=True)
                failed = True
    finally:
        if not options.folder:
            shutil.rmtree(work)
    print(f"load at the end {os.getloadavg()[0]:.1f}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
