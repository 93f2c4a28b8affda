"""Configurations of an attacker, made by a grammar over every setting that the program lists: case N of a
seed is always the same one. A case is a working configuration in which one to three places are replaced."""
import json
import random
import re
import subprocess

KINDS = {"optimizers": "optimizer", "schedules": "schedulers", "callbacks": "callbacks", "loggers": "loggers",
         "metrics": "metrics", "models": "model", "inputs": "dataloader"}


ONE_LAYER = """trainer:
  init:
    model: {name: layers, input_shape: [2], layers: [{LAYER: {unknown: 1}}]}
    optimizer: {SGD: {lr: 0.1}}
    loop: {num_steps: 1}
  fit:
    train_dataloader: {data_processor: synthetic, features: [2], classes: 2, batch_size: 2}
"""


class Tables:
    """All settings, as the program itself lists them."""

    def __init__(self, executable, folder):
        self.executable, self.folder = executable, folder
        self.settings = self._list("settings")
        self.plugins = {kind: {row["name"]: self._list(kind, row["name"]) for row in self._list(kind)} for kind in KINDS}
        self.layers = {kind: self._accepted(kind) for kind in self._accepted("unknown")}

    def _accepted(self, layer):
        """What the refusal of a layer says is accepted: types, or the settings of a type."""
        path = f"{self.folder}/layer.yaml"
        with open(path, "w") as f:
            f.write(ONE_LAYER.replace("LAYER", layer))
        words = [self.executable, "start", path, "--validate_only", "--no_dashboard", "--model_dir", f"{self.folder}/layer"]
        said = subprocess.run(words, capture_output=True, text=True)
        found = re.findall(r"accepted: ([A-Za-z0-9_, ]+)$", said.stderr.strip())
        if said.returncode != 78 or len(found) != 1:
            raise RuntimeError(said.stderr)
        return found[0].split(", ")

    def _list(self, *words):
        said = subprocess.run([self.executable, "list", *words, "--json"], capture_output=True, text=True, check=True)
        return json.loads(said.stdout)


TRAPS = [
    "a*\\\n/\n#error reached\n/*", "*/ int x; /*", "a\\\n", "??/\n", "\" ; int y; //", "'", "%s%s%n", "$(touch @canary@)",
    "`touch @canary@`", "; touch @canary@ #", "| touch @canary@", "&& touch @canary@", "\u2028", "\u202e", "\ufeff", "\x1b[2J\x1b]0;x\x07",
    "\x9b31m", "\0", "a\0b", "\x7f", "<script>fetch('@url@')</script>", "'); DROP TABLE events; --", "a/b", "../x", "..", ".",
    "{{7*7}}", "${HOME}", "=cmd|' /C touch @canary@'!A0", "-o ProxyCommand=touch @canary@", "--output=@canary@", "x" * 300, "x" * 20000,
    "\n\ncsengine: info: all is well", "#pragma GCC poison int", "R\"(", "__import__('os').system('touch @canary@')", "", " ", "\ud7ff", "é",
]

PATHS = [
    "@secret@", "@outside@", "@outside@/new", "@outside@/../outside/secret", "../../outside/secret", "../../../../../../../../etc/passwd",
    "/etc/shadow", "/etc/passwd", "/proc/self/environ", "/proc/self/mem", "/proc/1/environ", "/proc/self/root@secret@", "/dev/zero",
    "/dev/stdin", "/dev/tcp/127.0.0.1/80", "/sys/kernel/notes", "@shared@/link", "@shared@/folder/secret", "@shared@/magic", "@shared@/fifo",
    "@shared@/socket", "@url@", "file://@secret@", "http://127.0.0.1:9/x", "~/x", "~root/x", "$HOME/x", "$MODELZOO_ROOT/x", "", ".", "..", "/",
    "//", "@shared@/good.csv/", "@root@/jobs.db", "@root@/server.json", "@root@/token", "@root@/server.sock", "@root@/../outside/secret",
    "@victim@/checkpoint_4.mdl", "@victim@", "@shared@/*", "@shared@/[a-z]*", "a\nb", "-rf", "x" * 300, "y/" * 3000, "@library@", "@program@",
]

NUMBERS = ["-1", "0", "1", "2", "1e308", "1e999", "-1e999", ".nan", ".inf", "NaN", "2147483647", "2147483648", "4294967296", "9223372036854775807",
           "9223372036854775808", "-9223372036854775808", "99999999999999999999999", "1e-320", "-0.0", "1_000", "0x7fffffff", "0o17", "1e15",
           "16777216", "1000000", "65536", "07", "+5", "1.5", "12:30:45"]


class Raw(str):
    """YAML as it stands."""


def quoted(text):
    """A double quoted scalar: what JSON writes is YAML."""
    return json.dumps(text)


def yaml(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{yaml(key)}: {yaml(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(yaml, value)) + "]"
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(value)


class Grammar:
    def __init__(self, tables, places, seed):
        self.tables, self.places, self.seed = tables, places, seed

    def fill(self, text):
        for name, path in self.places.items():
            text = text.replace(f"@{name}@", path)
        return text

    # ---- values ----

    def path(self, r):
        return self.fill(r.choice(PATHS))

    def trap(self, r):
        text = self.fill(r.choice(TRAPS))
        return text if r.random() < 0.7 else r.choice("ab0_") + text + r.choice("ab0_")

    def deep(self, r):
        levels = r.choice([5, 31, 33, 100, 2000])
        opening, closing = r.choice([("[", "]"), ("{a: ", "}")])
        return Raw(opening * levels + "1" + closing * levels)

    def code(self, r):
        """Keys that load or run something."""
        return r.choice([
            {"library": self.path(r), "name": self.trap(r)},
            {"library": self.fill("@library@"), "name": "fc_mnist"},
            {"data_processor": "command", "command": self.fill("touch @canary@").split(), "batch_size": 4},
            {"data_processor": "command", "command": ["/bin/sh", "-c", self.fill("cat @secret@; touch @canary@")], "batch_size": 4},
            {"CommandLogger": {"program": "/bin/sh", "arguments": ["-c", self.fill("touch @canary@")]}},
            {"CommandLogger": {"program": self.path(r)}},
            {"CommandLogger": {"program": self.fill("@program@")}},
            [{"CommandLogger": {"program": "touch", "arguments": [self.fill("@canary@")]}}],
        ])

    def any(self, r, accepted=""):
        choices = [(self.trap, 3), (self.path, 3), (lambda r: Raw(r.choice(NUMBERS)), 2), (self.deep, 0.5), (self.code, 1.5),
                   (lambda r: Raw(r.choice(["null", "~", "true", "{}", "[]", "[[]]", "!!python/object/apply:os.system ['id']", "!!binary aGk=",
                                            "!include /etc/passwd", "&a [*a]", "*missing", "<<", "? x", "|\n text", "- a"])), 1),
                   (lambda r: [self.trap(r) for _ in range(r.choice([1, 2, 40]))], 1),
                   (lambda r: {self.trap(r): self.path(r)}, 1)]
        fitting = {"a path": (self.path, 12), "a list of text": (lambda r: [r.choice([self.trap, self.path])(r)], 8), "text": (self.trap, 8),
                   "an integer": (lambda r: Raw(r.choice(NUMBERS)), 8), "a number": (lambda r: Raw(r.choice(NUMBERS)), 8)}
        for words, choice in fitting.items():
            if accepted.startswith(words):
                choices.append(choice)
        makers, weights = zip(*choices)
        return r.choices(makers, weights)[0](r)

    # ---- places ----

    def base(self, r):
        loader = r.choice([
            {"data_processor": "synthetic", "features": [2], "classes": 2, "samples": 64},
            {"data_processor": "csv", "path": self.fill("@shared@/good.csv"), "label": "2", "header": False},
        ])
        loader |= {"batch_size": 8, "micro_batch_size": 4}
        model = r.choice([
            {"name": "fc_mnist", "input_size": 2, "hidden_sizes": [4], "num_classes": 3},
            {"name": "layers", "input_shape": [2], "layers": [{"linear": {"out": 4, "name": "first"}}, "relu", {"linear": {"out": 3}}]},
        ])
        return {"trainer": {
            "init": {"model": model, "optimizer": {"SGD": {"lr": 0.01}}, "loop": {"num_steps": 2}, "seed": 1,
                     "checkpoint": {"steps": 2}},
            "fit": {"train_dataloader": loader, "val_dataloader": dict(loader)},
        }}

    @staticmethod
    def put(tree, path, value):
        for word in path[:-1]:
            if not isinstance(tree.get(word), dict):
                tree[word] = {}
            tree = tree[word]
        tree[path[-1]] = value

    def at_setting(self, r, tree):
        row = r.choice(self.tables.settings)
        self.put(tree, row["name"].split("."), self.any(r, row["accepted"]))

    def required(self, r, rows):
        """What a plugin needs, so that the hostile value is what is wrong."""
        return {row["name"]: self.any(r, row["accepted"]) for row in rows
                if "default" not in row and not row["accepted"].startswith(("settings", "another"))}

    def at_plugin(self, r, tree):
        kind = r.choice(list(KINDS))
        name = r.choice(list(self.tables.plugins[kind]))
        rows = self.tables.plugins[kind][name]
        own = self.required(r, rows)
        for row in r.sample(rows, min(len(rows), r.choice([0, 1, 1, 2]))):
            own[row["name"]] = self.any(r, row["accepted"])
        init, fit = tree["trainer"]["init"], tree["trainer"]["fit"]
        if kind == "models":
            init["model"] = {"name": name, **own}
        elif kind == "inputs":
            fit[r.choice(["train_dataloader", "val_dataloader"])] = {"data_processor": name, "batch_size": 4, **own}
        elif kind == "optimizers":
            init["optimizer"] = {name: own}
        else:
            init[KINDS[kind]] = [{name: own}]

    def layer(self, r, depth=0):
        kind = r.choice(list(self.tables.layers))
        keys = self.tables.layers[kind]
        own = {key: self.any(r, "an integer") for key in r.sample(keys, min(len(keys), 2))}
        if "out" in keys:
            own["out"] = 3
        if "layers" in keys and depth < 3:
            own["layers"] = [self.layer(r, depth + 1)]
        if r.random() < 0.7:
            own["name"] = self.trap(r)
        return {kind: own}

    def at_layer(self, r, tree):
        tree["trainer"]["init"]["model"] = {"name": "layers", "input_shape": [2],
                                            "layers": [self.layer(r) for _ in range(r.choice([1, 2]))] + [{"linear": {"out": 3}}]}

    def at_key(self, r, tree):
        """A key that nothing knows, in some section."""
        section = r.choice([tree, tree["trainer"], tree["trainer"]["init"], tree["trainer"]["fit"], tree["trainer"]["init"]["loop"]])
        section[r.choice([self.trap(r), "library", "program", "command", "__class__", "<<", "include"])] = self.any(r)

    def at_code(self, r, tree):
        section, key = r.choice([("init", "model"), ("init", "optimizer"), ("init", "schedulers"), ("init", "loggers"), ("init", "callbacks"),
                                 ("init", "metrics"), ("fit", "train_dataloader"), ("fit", "val_dataloader")])
        tree["trainer"][section][key] = self.code(r)

    def at_text(self, r, text):
        """The text itself, which need not be YAML any more."""
        at = r.randrange(len(text))
        return r.choice([
            lambda: text[:at], lambda: text[:at] + self.trap(r) + text[at:], lambda: text + "\n---\n" + text,
            lambda: text + "\n" + text, lambda: "%YAML 9.9\n---\n" + text, lambda: text.replace("{", "{{", 1),
            lambda: "x: &x [" + ",".join("[1,1,1,1,1,1,1,1]" for _ in range(300)) + "]\ny: [" + ",".join("*x" for _ in range(300)) + "]\n" + text,
            lambda: "a" * 1100000, lambda: "[" * 100000, lambda: "\t" + text, lambda: text.replace(": ", ":\u00a0"), lambda: "\ufeff" + text,
            lambda: "", lambda: "~", lambda: "- " * 200, lambda: "? " * 200, lambda: "!!map " + text,
        ])()

    def case(self, number):
        """(text, overrides) of case `number`."""
        r = random.Random(f"{self.seed}/{number}")
        tree = self.base(r)
        for _ in range(r.choice([1, 1, 1, 1, 2, 3])):
            r.choices([self.at_setting, self.at_plugin, self.at_layer, self.at_key, self.at_code], [6, 6, 2, 1, 3])[0](r, tree)
        text = yaml(tree)
        if r.random() < 0.06:
            text = self.at_text(r, text)
        overrides = {}
        if r.random() < 0.15:
            row = r.choice(self.tables.settings)
            value = self.any(r, row["accepted"])
            overrides = {row["name"].removeprefix("trainer.init."): value if isinstance(value, str) else yaml(value)}
        return text, overrides
