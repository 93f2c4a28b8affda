"""The live line of `csengine start` on a terminal: arguments CSENGINE CONFIG DIRECTORY."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import terminal

csengine, config, work = sys.argv[1:4]
number = 0


def start(columns, *words, resize=None, **environment):
    global number
    number += 1
    base = {"TERM": "xterm", "NO_COLOR": "", "FORCE_COLOR": "", "CSE_DASHBOARD": "0"}
    command = [csengine, "start", config, "--model_dir", f"{work}/run{number}",
               "--compile_dir", f"{work}/compiled", *words]
    code, screen = terminal.run(columns, command, {**base, **environment}, resize)
    assert code == 0, (code, screen.lines)
    return screen


LIVE = re.compile(r"^(train|validate|save) \d+/\d+ .*left$")
PHASE = re.compile(r"^(train|validate|save|compiling|starting|preparing|stopping)\b")
# Wide enough that a run takes a second on a quick machine; a sanitizer makes every step slow.
WIDTH = 160 if os.environ.get("CSE_SANITIZE", "no") == "no" else 16
LONG = ["--num_steps", "20000", "--log_steps", "8000", "--set", "loop.eval_frequency=10000",
        "--set", f"model.hidden_sizes=[{WIDTH}]"]

# At every width: one line that never goes beyond the columns, drawn between the logged steps, which
# stay above it.
for columns in (40, 80, 120):
    screen = start(columns, *LONG)
    wide = [line for line in screen.drawn if PHASE.match(line) and len(line) > columns]
    assert wide == [], wide
    live = {line for line in screen.drawn if LIVE.match(line)}
    # The narrowest line may have no room for the time left.
    steps = {int(re.search(r"\d+", line).group()) for line in set(screen.drawn) - set(screen.lines)
             if line.startswith("train ")}
    assert len(steps) >= 3, (columns, steps)
    shown = [line for line in screen.lines if line.startswith("train ")]
    assert [int(line.split()[1].split("/")[0]) for line in shown] == [8000, 10000, 16000, 20000], (
        columns, screen.lines)
    assert all("left" not in line and "[" not in line for line in shown), shown
    assert any(line.startswith(("compiling ", "starting ", "preparing ")) for line in screen.drawn)
    assert "Training completed successfully!" in screen.lines, screen.lines
    assert not any(LIVE.match(line) for line in screen.lines), screen.lines
    assert screen.colours > 0
    if columns == 120:
        whole = re.compile(r"^train \d+/20000 \[[=> ]+\] epoch \d+/1250 loss \S+ lr 0\.1 "
                           r"\S+ samples/s \d+:\d\d left$")
        assert any(whole.match(line) for line in live), live

# A terminal that becomes narrower: the line follows.
screen = start(120, *LONG, resize=("train ", 50))
# What was on its way at that moment is still wide.
after = [line for line in screen.drawn[screen.resized_at:] if LIVE.match(line)]
late = next((i for i, line in enumerate(after) if len(line) < 50), len(after))
assert late <= 5 and after[late:] and all(len(line) < 50 for line in after[late:]), after

# No colour by NO_COLOR; no live line at all on a terminal that cannot draw one, but the Trainer's
# lines; --quiet: the result alone.
screen = start(80, "--log_steps", "60", NO_COLOR="1")
assert screen.colours == 0
screen = start(80, "--log_steps", "60", TERM="dumb")
text = "\n".join(screen.lines)
assert "| Train Device=CPU, Step=60, Loss=" in text and screen.colours == 0, text
screen = start(80, "--log_steps", "10", "-q")
text = "\n".join(screen.lines)
assert "Training completed successfully!" in text and "Checkpoint: " in text, text
assert "train " not in text and "Saved" not in text and screen.colours == 0, text
print("terminal: as expected")
