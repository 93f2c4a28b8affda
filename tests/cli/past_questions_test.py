"""Random questions about the past of runs that nobody armed, against a twin that kept its values while it ran:
every tensor that a step computed for one sample, to the bit, with 1, 2 or 5 processes. See check_past_questions.sh."""
import glob
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests/support"))
import part

CSENGINE = sys.argv[1]
CONFIGS = os.path.join(os.environ["top_srcdir"], "configs")
QUESTIONS = 50 if part.wanted() == "all" else 10
VALUES = "numerics.values='.*'"


def settings(*texts):
    return [word for text in texts for word in ("--set", text)]


DENSE = ["synthetic.yaml"] + settings(
    "fit.val_dataloader=null",
    "loop.num_steps=null",
    "model.hidden_sizes=[24, 16]",
    "model.dropout_rate=0.2",
    "fit.train_dataloader.micro_batch_size=8",
    "fit.train_dataloader.batch_size=32",
)
PICTURES = ["synthetic.yaml"] + settings(
    "fit.val_dataloader=null",
    "loop.num_steps=null",
    "model={name: lenet, image_size: [28, 28], num_channels: 1, num_classes: 4}",
    "fit.train_dataloader={data_processor: synthetic, features: [1, 28, 28], classes: 4, samples: 256, "
    "batch_size: 16, micro_batch_size: 4, shuffle: true}",
)
LANGUAGE = ["gpt2_bytes.yaml"] + settings(
    "loop.num_steps=null",
    "fit.val_dataloader=null",
    "model.dropout_rate=0.1",
    "model.hidden_size=32",
    "model.num_heads=2",
    "model.num_hidden_layers=2",
    "model.max_position_embeddings=32",
    "train_dataloader.sequence_length=32",
    "train_dataloader.micro_batch_size=2",
    "precision.fp16_type=bfloat16",
    "precision.graphamp.preset=mp2",
)


def command(name, config, *words):
    return [CSENGINE, "start", os.path.join(CONFIGS, config[0]), "--quiet", "--no_dashboard", "--model_dir", name,
            "--compile_dir", "compiled", *config[1:], *words]


def run(name, config, *words):
    done = subprocess.run(command(name, config, *words), capture_output=True, text=True)
    assert done.returncode == 0, (name, done.returncode, done.stderr[-2000:])


def plain(config, steps):
    run("run", config, "--max_steps", str(steps), "--num_csx", "2", *settings("checkpoint.steps=5"))
    return range(1, steps + 1), 1


def on_hosts(config, steps):
    run("run", config, "--max_steps", str(steps), "--num_csx", "3", "--hosts", "a,b", "--host_launcher", "local",
        *settings("checkpoint.steps=5"))
    return range(1, steps + 1), 1


def resumed_twice(config, steps):
    for end in (steps // 3, steps // 2, steps):
        run("run", config, "--max_steps", str(end), *settings("checkpoint.steps=5"))
    return range(1, steps + 1), 1


def replicas(ancestor):
    """Process numbers of the replicas below a process."""
    found, parents = [], {}
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, "rb").read().split(b"\0")
            stat = open(os.path.join(os.path.dirname(path), "stat")).read()
        except OSError:
            continue
        number = int(path.split("/")[2])
        parents[number] = int(stat.rpartition(")")[2].split()[1])
        if b"--role=replica" in words:
            found.append(number)

    def is_below(number):
        return number == ancestor or (number in parents and is_below(parents[number]))

    return [number for number in found if is_below(number)]


def killed_five_times(config, steps):
    every = 297  # long enough for five kills on a fast machine
    words = command("run", config, "--max_steps", str(every * steps), "--num_csx", "2",
                    *settings("checkpoint.steps=1000"))
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    kills = 0
    while process.poll() is None and kills < 5:
        time.sleep(0.1)
        for number in replicas(process.pid)[:1]:
            os.kill(number, signal.SIGKILL)
            kills += 1
    told = process.communicate()[1]
    assert process.returncode == 0 and kills == 5, (process.returncode, kills, told[-2000:])
    return range(every, every * steps + 1, every), every


KINDS = {
    "dense": (DENSE, plain, 24),
    "pictures": (PICTURES, plain, 12),
    "language": (LANGUAGE, plain, 12),
    "hosts": (DENSE, on_hosts, 24),
    "kills": (DENSE, killed_five_times, 60),
    "resumed": (DENSE, resumed_twice, 24),
}


def bfloat16(values):
    """Floats rounded to the nearest bfloat16, ties to even: what is stored of what the twin wrote before rounding."""
    words = struct.unpack(f"<{len(values) // 4}I", values)
    return struct.pack(f"<{len(words)}I", *((w + 0x7FFF + (w >> 16 & 1)) & 0xFFFF0000 for w in words))


def kept_rows(step, microbatch, position, rows):
    """What the twin wrote of one sample, tensor by tensor, as bytes; the form: engine/code/execute/value_log.c."""
    parts = {}
    for path in glob.glob("twin/values/after-*"):
        data, at = open(path, "rb").read(), 0
        while at < len(data):
            mark, when, place, tensor, first, count = struct.unpack_from("<8s5q", data, at)
            assert mark == b"CSEVALS1", path
            at += 48
            if when == step and place == microbatch:
                parts.setdefault(tensor, {})[first] = data[at : at + 4 * count]
            at += 4 * count
    whole = [b"".join(text for _, text in sorted(p.items())) for p in parts.values()]
    of_sample = {text[position * len(text) // rows : (position + 1) * len(text) // rows]
                 for text in whole if len(text) % (4 * rows) == 0}
    return of_sample | {bfloat16(text) for text in of_sample}


def seen_tensors(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            first, end = entry["data_offsets"]
            yield name, data[8 + size + first : 8 + size + end]


def ask(kind, random_, steps):
    step = random_.choice(steps)
    note = json.load(open(f"twin/values/step-{step}.json"))
    rows = note["micro_batch_size"]
    place = random_.randrange(len(note["samples"]))
    sample, processes = note["samples"][place], random_.choice((1, 2, 5))
    words = [CSENGINE, "inspect", "run", "--step", str(step), "--sample", str(sample), "--tensor", ".*",
             "--computed", "--num_csx", str(processes), "--output", "seen.safetensors"]
    done = subprocess.run(words, capture_output=True, text=True)
    question = f"{kind}: step {step}, sample {sample}, {processes} processes"
    assert done.returncode == 0 and "these are the run's bits" in done.stdout, (question, done.stdout, done.stderr)
    kept = kept_rows(step, place // rows, place % rows, rows)
    compared = 0
    for name, values in seen_tensors("seen.safetensors"):
        assert values in kept, f"{question}: {name} is not what the twin kept"
        compared += 1
    assert compared > 5, (question, compared)
    os.remove("seen.safetensors")
    return compared


def check(kind):
    config, train, steps = KINDS[kind]
    os.makedirs(kind)
    os.chdir(kind)
    asked, every = train(config, steps)
    run("twin", config, "--max_steps", str(asked[-1]), "--num_csx", "1",
        *settings(f"numerics.every={every}", VALUES, "checkpoint.steps=0"))
    random_ = random.Random(f"{kind} {part.wanted()}")
    compared = sum(ask(kind, random_, list(asked)) for _ in range(QUESTIONS))
    print(f"{kind}: {QUESTIONS} questions, {compared} tensors, equal to the bit", flush=True)
    os.chdir("..")


for kind in part.of(KINDS, 6, "kinds of runs"):
    check(kind)
