"""No text of a configuration becomes code: whatever stands in a setting that takes text, it is refused, or the
generated C has the tokens, outside of comments and literals, that it has with a plain word there.

CSE_TEXTS=COUNT tries so many pairs of a setting and a text, chosen by a seed; `parts` those of the part that
CSE_TEST_PART chooses (part.py), `all` each."""
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "../support"))
import part  # noqa: E402
from hostile_configurations import Grammar, Tables, yaml  # noqa: E402

EXECUTABLE = os.path.abspath(os.environ["CSENGINE_EXECUTABLE"])
EXIT_CODES = {0, 1, 64, 65, 66, 69, 70, 73, 74, 75, 77, 78}
TRAPS = ["a*\\\n/\n#error reached\n/*", "*/\n#error reached\n/*", "??/\n*/\n#error reached", "a\\\n", "\"; int reached; //", "$(reached)", "%n%s",
         "\x1b[2J", "\0reached", "\u2028", "\u202ereached", "a/b", "'", "R\"(", "x" * 5000, "\n#error reached\n"]
PARTS = 5  # each of which has some texts of every setting, since 5 does not divide their number
TRIGRAPHS = dict(zip("=/'()!<>-", "#\\^[]|{}~"))
TOKENS = re.compile(r'''(/\*.*?(?:\*/|\Z)|//[^\n]*)|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')''', re.S)


def tokens(code):
    """The phases of C in their order: trigraphs, joined lines, comments; then what is in literals goes."""
    code = re.sub(r"\?\?([=/'()!<>-])", lambda m: TRIGRAPHS[m[1]], code)
    code = re.sub(r"\\[ \t\r\v\f]*\n", "", code)
    return " ".join(TOKENS.sub(lambda m: " " if m[1] else '"', code).split())


class Place:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="cse-texts-")
        self.number = 0
        self.plain = {}
        # Only the C is looked at: a compiler that copies it costs nothing.
        self.compiler = f"{self.folder}/cc"
        with open(self.compiler, "w") as f:
            f.write('#!/bin/sh\nwhile [ $# -gt 1 ]; do [ "$1" = -o ] && { : > "$2"; exit; }; shift; done\necho copy\n')
        os.chmod(self.compiler, 0o755)
        self.tables = Tables(EXECUTABLE, self.folder)
        self.grammar = Grammar(self.tables, {name: f"{self.folder}/none" for name in
                                             ("secret", "outside", "canary", "url", "shared", "root", "victim", "library", "program")}, 1)

    def base(self):
        # Lines of the settings below join what stands here.
        return {"trainer": {
            "init": {"model": {"name": "layers", "input_shape": [2], "layers": [{"linear": {"out": 3, "name": "first"}}, {"linear": {"out": 3}}]},
                     "optimizer": {"SGD": {"lr": 0.01}}, "loop": {"num_steps": 1}},
            "fit": {"train_dataloader": {"data_processor": "synthetic", "features": [2], "classes": 2, "batch_size": 2}}}}

    def places(self):
        """(what it is, function that puts a text there) for each setting that takes text."""
        def takes_text(row):
            return row["accepted"].startswith(("text", "a list of text", "1 to 128 letters", "settings of the plugin", "a path"))

        for row in self.tables.settings:
            if takes_text(row):
                yield row["name"], lambda tree, text, row=row: self.grammar.put(tree, row["name"].split("."), self.value(row, text))
        for layer in self.tables.layers:
            yield f"layer {layer}", lambda tree, text, layer=layer: tree["trainer"]["init"]["model"]["layers"].insert(0, {layer: {"name": text}})
        yield "linear", lambda tree, text: tree["trainer"]["init"]["model"]["layers"][0]["linear"].update(name=text)
        for key in ("params", "name", "tags", "lr"):
            yield f"group {key}", lambda tree, text, key=key: tree["trainer"]["init"]["optimizer"]["SGD"].update(params=[{"params": ["*"], key: text}])
        for kind, section in (("callbacks", "callbacks"), ("loggers", "loggers"), ("metrics", "metrics"), ("schedules", "schedulers")):
            for name, rows in self.tables.plugins[kind].items():
                for row in filter(takes_text, rows):
                    yield f"{name}.{row['name']}", lambda tree, text, s=section, n=name, row=row: tree["trainer"]["init"].update(
                        {s: [{n: {row["name"]: self.value(row, text)}}]})
        for name, rows in self.tables.plugins["inputs"].items():
            for row in filter(takes_text, rows):
                yield f"{name}.{row['name']}", lambda tree, text, n=name, row=row: tree["trainer"]["fit"].update(
                    {"val_dataloader": {"data_processor": n, "batch_size": 2, row["name"]: self.value(row, text)}})

    @staticmethod
    def value(row, text):
        return [text] if row["accepted"].startswith("a list") else text

    def code(self, put, text):
        """(exit code, tokens, what was said) of the configuration with `text` there."""
        tree = self.base()
        put(tree, text)
        self.number += 1
        path = f"{self.folder}/{self.number}.yaml"
        with open(path, "w") as f:
            f.write(yaml(tree))
        said = subprocess.run([EXECUTABLE, "compile", path, "--print_c", "--model_dir", f"{self.folder}/run"], capture_output=True,
                              cwd=self.folder, env={**os.environ, "CSE_CC": self.compiler}, timeout=120)
        return said.returncode, tokens(said.stdout.decode("utf-8", "replace")) if said.returncode == 0 else "", said.stderr

    def plain_code(self, put):
        """The tokens with a plain word there; where that is refused, with nothing."""
        if put not in self.plain:
            plain = self.code(put, "plain")
            if plain[0] != 0:
                plain = self.code(lambda tree, text: None, "")
            self.plain[put] = plain[1]
        return self.plain[put]

    def fault(self, what, put, text):
        code, seen, said = self.code(put, text)
        if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]", said):
            return f"{what}: {text[:60]!r}: bytes for a terminal: {said[:500]}"
        if code not in EXIT_CODES or code == 70:
            return f"{what}: {text[:60]!r}: exit code {code}: {said[-500:]}"
        if code != 0:
            return None if said.strip() else f"{what}: {text[:60]!r}: refused without a word"
        return None if self.plain_code(put) == seen and "reached" not in seen else f"{what}: {text[:60]!r} reaches the code"


def main():
    assert tokens("/* a *\\\n/ b */") == "b */" and tokens('"/*" a /* b') == '" a' and tokens("/*??/\n*/ c") == "c"
    place = Place()
    pairs = list(itertools.product(place.places(), TRAPS))
    wanted = os.environ.get("CSE_TEXTS", "40")
    if wanted == "parts":
        pairs = part.of(pairs, PARTS, "texts in settings")
    elif wanted != "all":
        pairs = [pair for pair in pairs if pair[0][0] == "linear"][:4] + random.Random(1).sample(pairs, int(wanted))
    faults = [fault for (what, put), text in pairs if (fault := place.fault(what, put, text))]
    subprocess.run(["rm", "-rf", place.folder])
    print(f"{len(pairs)} texts in settings")
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main())
