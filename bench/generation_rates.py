"""Rates of generated text beside llama.cpp and transformers: for each packing of the weights, 1, 4
and 16 texts, 1 and 2 threads, what the pass over the prompts takes and what a pass over a token of
each text takes.

    generation_rates.py MODEL.gguf --csengine PATH --python PYTHON --output RESULT.json
        [--packings Q4_1,...] [--texts 1,4,16] [--threads 1,2] [--rounds 5] [--tokens 32]
        [--work FOLDER]

Weights are made in a temporary folder, or in FOLDER, where those of an earlier run are used again.

MODEL.gguf is a language model with its tokenizer. PYTHON has torch, transformers, gguf and
llama_cpp. Other packings are made from the values of MODEL.gguf by llama.cpp, all matrices of one
packing. Packings with blocks of 256 numbers are those of a model of random weights whose sizes are
multiples of 256, with the same tokenizer; so is nothing else.

All sides write the most likely tokens after the same prompts, but for the token that ends a text;
before times are told the tokens are compared. llama.cpp rounds what it multiplies with packed
weights to 8 bits, so that its tokens may differ. Then the sides are measured in turn, in rounds,
each on the same cores; told are medians of the time that went by and of that of the processors,
which other programs on the same cores change little. Beside them stand the rates of memory of the same cores
(memory_rates.c), to which a pass that reads all weights once is compared. transformers runs with
a cache that grows and with one of a fixed size, of which the faster counts, in float32 and
bfloat16.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
from generation_schema import FORMAT
from measured_processes import Failed, end, pinned, run

PLAIN = {"float32": 0, "bfloat16": 32}
OF_32 = {"Q4_0": 2, "Q4_1": 3, "Q5_0": 8, "Q5_1": 9, "Q8_0": 7}
OF_256 = {"Q4_K": 14, "Q5_K": 16, "Q6_K": 18}  # numbers of llama.cpp's file types
LICENCE = "/usr/share/common-licenses/GPL-3"
MAKE_FOLDERS = """
import sys, torch, transformers
gguf, real, wide = sys.argv[1:4]
load = dict(gguf_file=gguf, dtype=torch.float32)
folder = gguf.rpartition("/")[0] or "."
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=gguf)
model = transformers.AutoModelForCausalLM.from_pretrained(folder, **load)
text = open(sys.argv[4]).read()
numbers = tokenizer(text, add_special_tokens=False).input_ids
values, config = model.state_dict(), model.config
if hasattr(config, "quantization_config"):
    del config.quantization_config
model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
model.load_state_dict(values)
model.save_pretrained(real), tokenizer.save_pretrained(real)
config.hidden_size, config.intermediate_size, config.num_hidden_layers = 768, 2048, 12
config.num_attention_heads, config.num_key_value_heads, config.head_dim = 12, 4, 64
torch.manual_seed(1)
model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
for parameter in model.parameters():
    if parameter.dim() > 1:
        parameter.data.normal_(0, 0.06)
model.save_pretrained(wide), tokenizer.save_pretrained(wide)
import json
for folder in (real, wide):
    with open(folder + "/config.json") as file:
        keys = json.load(file)
    with open(folder + "/config.json", "w") as file:
        left_out = ("_model_name_or_path", "_name_or_path", "unk_token_id")
        json.dump({key: keys[key] for key in keys if key not in left_out}, file)
end = config.eos_token_id
print(json.dumps({"tokens": numbers, "end": end if isinstance(end, int) else end[0]}))
"""
QUANTIZE = """
import ctypes, sys, llama_cpp as llama
@llama.llama_log_callback
def quiet(level, text, data): pass
llama.llama_log_set(quiet, ctypes.c_void_p(0))
options = llama.llama_model_quantize_default_params()
options.ftype, options.pure, options.allow_requantize = int(sys.argv[3]), True, True
sys.exit(llama.llama_model_quantize(sys.argv[1].encode(), sys.argv[2].encode(), options))
"""


class Peer:
    """A process of another program that has loaded a model."""

    def __init__(self, command, cores):
        self.process = subprocess.Popen(
            pinned(command, cores),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=dict(os.environ, OMP_NUM_THREADS=str(len(cores))),
        )
        if self.process.stdout.readline() != "ready\n":
            end(self.process)
            raise Failed(f"{' '.join(command[1:3])}: did not begin")

    def measure(self, asked):
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failed("a peer has ended")
        answer = json.loads(line)
        passes = answer["pass_seconds"]
        answer["pass_seconds"] = [statistics.mean(one[i] for one in passes) for i in (0, 1)]
        return answer

    def close(self):
        end(self.process)


class Ours:
    def __init__(self, options, work, weights, packing, cores):
        self.command = [options.csengine, "generate", str(weights), "--numbers", "--greedy"]
        self.command += ["--json", "--quiet", "--stats", "--threads", str(len(cores))]
        self.command += ["--compile_dir", f"{work}/compiled", "--model_dir", f"{work}/run"]
        if packing == "bfloat16":
            self.command += ["--set", "trainer.init.precision.fp16_type=bfloat16"]
        self.cores = cores

    def run(self, prompts, tokens):
        command = list(self.command)
        for prompt in prompts:
            command += ["--prompt", ",".join(map(str, prompt))]
        for option in ("--max_new_tokens", "--min_new_tokens"):
            command += [option, str(tokens)]
        lines = [json.loads(line) for line in run(command, self.cores).splitlines()]
        return lines[:-1], lines[-1]["stats"]

    def measure(self, asked):
        """The first prompt and the first pass, which prepare weights, are not counted, as of the
        others, which were warm: so one more prompt is read in a run of its own."""
        prompts = asked["prompts"]
        _, read = self.run([prompts[0], *prompts], 1)
        lines, stats = self.run(prompts, asked["tokens"])
        return {
            "prompt_seconds": [read["prompt_seconds"], read["prompt_processor_seconds"]],
            "pass_seconds": [
                stats[name] / stats["passes"] for name in ("pass_seconds", "pass_processor_seconds")
            ],
            "texts": [line["tokens"] for line in lines],
        }

    def close(self):
        pass


def compared(ours, theirs):
    first = None
    equal = 0
    for t, (a, b) in enumerate(zip(ours, theirs)):
        different = [n for n, (x, y) in enumerate(zip(a, b)) if x != y]
        equal += not different
        if different and first is None:
            first = (t, different[0])
    return {
        "texts": len(ours),
        "equal": equal,
        "first_text": first[0] if first else None,
        "first_token": first[1] if first else None,
    }


def summary(rounds):
    def median(name, clock):
        return round(statistics.median(one[name][clock] for one in rounds) * 1e3, 4)

    passes = [one["pass_seconds"][0] * 1e3 for one in rounds]
    return {
        "prompt_ms": median("prompt_seconds", 0),
        "prompt_processor_ms": median("prompt_seconds", 1),
        "pass_ms": median("pass_seconds", 0),
        "pass_processor_ms": median("pass_seconds", 1),
        "low_ms": round(min(passes), 4),
        "high_ms": round(max(passes), 4),
    }


def transformers_sides(options, folder, packing, numbers, cores):
    script = str(HERE / "generation_transformers.py")
    words = [options.python, script, str(folder), *map(str, numbers), packing]
    return {
        f"transformers, {cache}": Peer([*words, cache], cores) for cache in ("dynamic", "static")
    }


def measure_row(options, work, row, asked):
    """Entries and comparisons of one row."""
    packing, cores = row["packing"], options.cores[: row["threads"]]
    folder = work / row["model"]
    weights = folder if packing in PLAIN else work / f"{row['model']}.{packing}.gguf"
    numbers = (row["threads"], row["texts"], options.prompt_tokens, options.tokens)
    sides = {"csengine": Ours(options, work, weights, packing, cores)}
    try:
        script = str(HERE / "generation_llama.py")
        gguf = str(work / f"{row['model']}.{packing}.gguf")
        sides["llama.cpp"] = Peer([options.python, script, gguf, *map(str, numbers)], cores)
        if packing in PLAIN:
            sides.update(transformers_sides(options, folder, packing, numbers, cores))
        first = {name: side.measure(asked) for name, side in sides.items()}
        tokens = {
            name: compared(first["csengine"]["texts"], one["texts"])
            for name, one in first.items()
            if name != "csengine"
        }
        rounds = {name: [] for name in sides}
        for _ in range(options.rounds):
            for name, side in sides.items():
                rounds[name].append(side.measure(asked))
    finally:
        for side in sides.values():
            side.close()
    return {name: summary(all_) for name, all_ in rounds.items()}, tokens


def make_weights(options, work):
    """The weights of each model and packing; the tokens of a text, and the one that ends texts."""
    python, all_cores = options.python, options.cores
    if not (work / "made.json").exists():
        folders = [str(work / "real"), str(work / "wide")]
        made = run([python, "-c", MAKE_FOLDERS, options.model, *folders, LICENCE], all_cores)
        (work / "made.json").write_text(made)
    for model, packings in (("real", {**PLAIN, **OF_32}), ("wide", OF_256)):
        if not set(packings) & set(options.packings):
            continue
        base = work / f"{model}.float32.gguf"
        if not base.exists():
            convert = [options.csengine, "checkpoint", "convert", str(work / model), str(base)]
            run(convert, all_cores)
        for packing, number in packings.items():
            to = work / f"{model}.{packing}.gguf"
            if packing in options.packings and not to.exists():
                part = to.with_suffix(".part")
                run([python, "-c", QUANTIZE, str(base), str(part), str(number)], all_cores)
                part.rename(to)
    return json.loads((work / "made.json").read_text())


def memory_rates(options, work):
    program = str(work / "memory_rates")
    source = str(HERE / "memory_rates.c")
    run(["cc", "-O3", "-march=native", source, "-o", program, "-lpthread"], options.cores)
    rates = {}
    for threads in options.threads:
        measured = json.loads(run([program, str(threads)], options.cores[:threads]))
        rates[str(threads)] = {name: measured[name] for name in ("read", "copy")}
    return rates


def versions_of(options):
    code = "import json,llama_cpp,torch,transformers as t;print(json.dumps({'llama_cpp_python':"
    code += "llama_cpp.__version__,'torch':torch.__version__,'transformers':t.__version__}))"
    ours = run([options.csengine, "--version"], options.cores).split()[-1]
    return {"csengine": ours, **json.loads(run([options.python, "-c", code], options.cores))}


def processor():
    with open("/proc/cpuinfo") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else "unknown"


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model")
    parser.add_argument("--csengine", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--packings", default=",".join([*PLAIN, *OF_32, *OF_256]))
    parser.add_argument("--texts", default="1,4,16")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--prompt_tokens", type=int, default=128)
    parser.add_argument("--work")
    options = parser.parse_args()
    options.model = os.path.abspath(options.model)
    options.packings = options.packings.split(",")
    unknown = [name for name in options.packings if name not in {**PLAIN, **OF_32, **OF_256}]
    if unknown:
        parser.error(f"--packings: {unknown[0]} is not known; accepted: "
                     + ", ".join([*PLAIN, *OF_32, *OF_256]))
    options.texts = [int(word) for word in options.texts.split(",")]
    options.threads = [int(word) for word in options.threads.split(",")]
    options.cores = sorted(os.sched_getaffinity(0))
    if max(options.threads) > len(options.cores):
        parser.error(f"--threads: there are {len(options.cores)} cores")
    return options


def write(path, result):
    with open(path, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


def main():
    options = read_options()
    failures, rows = {}, []
    with tempfile.TemporaryDirectory(prefix="generation-") as folder:
        work = pathlib.Path(os.path.abspath(options.work or folder))
        work.mkdir(exist_ok=True)
        made = make_weights(options, work)
        result = {
            "format": FORMAT,
            "machine": {
                "processor": processor(),
                "cores": len(options.cores),
                "load": round(os.getloadavg()[0], 2),
            },
            "versions": versions_of(options),
            "prompt_tokens": options.prompt_tokens,
            "new_tokens": options.tokens,
            "rounds": options.rounds,
            "memory": memory_rates(options, work),
            "rows": rows,
            "failures": failures,
        }
        for packing in options.packings:
            model = "wide" if packing in OF_256 else "real"
            size = (work / f"{model}.{packing}.gguf").stat().st_size
            for texts in options.texts:
                step = (len(made["tokens"]) - options.prompt_tokens) // texts
                asked = {
                    "prompts": [
                        made["tokens"][t * step : t * step + options.prompt_tokens]
                        for t in range(texts)
                    ],
                    "tokens": options.tokens,
                    "end": made["end"],
                }
                for threads in options.threads:
                    row = {"model": model, "packing": packing, "megabytes": round(size * 1e-6, 1),
                           "texts": texts, "threads": threads}
                    name = f"{packing}, {texts} texts, {threads} threads"
                    try:
                        row["entries"], row["tokens"] = measure_row(options, work, row, asked)
                    except Failed as failed:
                        failures[name] = str(failed)
                        print(f"{name}: FAILED: {failed}", file=sys.stderr, flush=True)
                        continue
                    rows.append(row)
                    figures = "; ".join(
                        f"{side} {one['prompt_ms']:.0f} ms, {one['pass_ms']:.2f} ms "
                        f"(processor {one['prompt_processor_ms']:.0f}, "
                        f"{one['pass_processor_ms']:.2f})"
                        for side, one in row["entries"].items()
                    )
                    print(f"{name}: {figures}; {row['tokens']}", flush=True)
                    write(options.output, result)
        write(options.output, result)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
