#!/bin/sh
# How long the next forward pass waits for the weights: the time from the last gradient that a
# replica has published to the end of the step's update, as a part of the step, by the times that a
# run records of sampled steps. It is all that could be gained by letting a forward pass begin on
# the layers whose weights are new already; less, as the same cores compute the update, and as with
# clipping by norm no weight is new before the last gradient.
set -eu
csengine=${CSENGINE_EXECUTABLE:-./csengine}
python=${CSE_BENCH_PYTHON:-python3}
configs=${top_srcdir:-.}/configs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
if ! command -v "$python" >/dev/null; then
    echo 'bench_update_gap: skipped: no python3, which reads the record'
    exit 0
fi
cat >"$work/gap.py" <<'PYTHON'
import collections, sqlite3, statistics, sys

steps = collections.defaultdict(list)
query = "SELECT attempt, step, kind, start_ns, end_ns FROM timeline"
for attempt, step, kind, start, end in sqlite3.connect(sys.argv[2]).execute(query):
    steps[attempt, step].append((kind, start, end))
found = []
for spans in steps.values():
    compute = [span for span in spans if span[0] == "compute"]
    update = [span for span in spans if span[0] == "update"]
    if compute and update:
        done = max(end for _, _, end in update)
        found.append((done - min(start for _, start, _ in compute),
                      done - max(end for _, _, end in compute)))
shares = sorted(100 * gap / step for step, gap in found)
quarter = len(shares) // 4
step, gap = (statistics.median(column) / 1e6 for column in zip(*found))
print(f"{sys.argv[1]:24} step {step:8.2f} ms, gap {gap:6.2f} ms: "
      f"{statistics.median(shares):4.1f} % ({shares[quarter]:.1f}..{shares[-1 - quarter]:.1f}), "
      f"{len(shares)} steps")
PYTHON

gap() { # name config options...
    name=$1 config=$2
    shift 2
    rm -rf "$work/run"
    "$csengine" start "$configs/$config.yaml" --no_dashboard --model_dir "$work/run" \
        --compile_dir "$work/compiled" "$@" >"$work/out" 2>&1 ||
        { cat "$work/out" >&2; exit 1; }
    "$python" "$work/gap.py" "$name" "$work/run/run.db"
}
if [ -d /usr/share/datasets/fashion-mnist ]; then
    for replicas in 1 2; do
        gap "fc_mnist, num_csx $replicas" fc_mnist --num_csx $replicas \
            --set fit.val_dataloader=null --set loop.num_epochs=40
    done
fi
gap 'gpt2_tiny, num_csx 2' gpt2_tiny --num_steps 1000
gap 'gpt2_bytes, num_csx 1' gpt2_bytes --num_steps 60
gap 'gpt2_bytes, num_csx 2' gpt2_bytes --num_steps 90 --num_csx 2 \
    --set fit.train_dataloader.micro_batch_size=4
