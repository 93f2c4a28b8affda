#!/bin/sh
# `sweep`: the trials of each method, failures as rows, halving that trains no step twice, a sweep
# that is killed and goes on, and the queue of a server.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
source=${top_srcdir:-.}
work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; }
    rm -rf "$work"
}
trap finish EXIT
failed=0
unset CSE_SERVER CSE_TOKEN_FILE
export XDG_RUNTIME_DIR="$work/runtime"

fail() {
    echo "FAIL: $*"
    failed=1
}

case $source in
/*) config=$source/configs/synthetic.yaml ;;
*) config=$PWD/$source/configs/synthetic.yaml ;;
esac
# The program may be given by a path from here.
csengine=$(cd "$(dirname "$csengine")" && pwd)/$(basename "$csengine")
cd "$work" || exit 1

write() {
    cat >"$1.yaml"
}
sweep() {
    name=$1
    shift
    timeout 120 "$csengine" sweep "$name.yaml" "$@" >"$name.out" 2>"$name.err"
}

write grid <<END
name: grid
config: $config
method: grid
settings: [loop.num_steps=6, "fit.val_dataloader=null"]
metric: loss
parameters:
  optimizer: [{SGD: {lr: 0.1}}, {SGD: {lr: 0.01}}]
  model.hidden_sizes: [[8], [0]]
END
sweep grid --quiet --csv grid.csv || fail "grid: $(cat grid.err)"
python3 - <<'END' || fail "the grid: $(cat grid.out)"
import csv
rows = list(csv.DictReader(open("grid.csv")))
assert [int(row["trial"]) for row in rows if row["failed"] == "0"] in ([1, 3], [3, 1]), rows
assert {row["trial"] for row in rows if row["failed"] == "1"} == {"2", "4"}, rows
assert all("hidden_sizes" in row["message"] for row in rows if row["failed"] == "1"), rows
values = [float(row["loss"]) for row in rows[:2]]
assert values == sorted(values), rows
assert rows[0]["optimizer"].startswith("{SGD") and rows[0]["model.hidden_sizes"] == "[8]", rows
END
grep -q '^Best: trial' grid.out || fail "no best: $(cat grid.out)"
sweep grid --quiet --format csv || fail "--format csv: $(cat grid.err)"
cmp grid.out grid.csv || fail "--format csv prints another table than --csv writes"
sweep grid --quiet --format json || fail "--format json: $(cat grid.err)"
python3 - <<'END' || fail "--format json: $(cat grid.out)"
import csv, json
table = json.load(open("grid.out"))
rows = list(csv.DictReader(open("grid.csv")))
assert (table["sweep"], table["metric"], table["goal"]) == ("grid", "loss", "min"), table
assert [one["trial"] for one in table["trials"]] == [int(row["trial"]) for row in rows], table
assert table["best"] == table["trials"][0]["trial"], table
assert [one["value"] for one in table["trials"][:2]] == [float(row["loss"]) for row in rows[:2]]
END
sweep grid --format xml && fail "--format xml is taken"
grep -q 'table, csv, json' grid.err || fail "--format xml: $(cat grid.err)"
sweep grid --format csv --json && fail "--format with --json is taken"
# Once more: everything is known.
sweep grid || fail "the same again"
grep -q '^trial . of' grid.err && fail "trials are trained again: $(cat grid.err)"

write halving <<END
name: halving
config: $config
method: halving
trials: 6
seed: 5
steps: {min: 4, max: 16, eta: 2}
settings: [loop.eval_frequency=0]
parameters:
  optimizer.SGD.lr: {log_uniform: [1e-5, 0.1]}
  seed: {int: [1, 3]}
  optimizer.SGD.momentum: {uniform: [0, 0.1]}
END
sed 's/name: halving/name: killed/' halving.yaml >killed.yaml
sweep halving --json || fail "halving: $(cat halving.err)"
# One that is killed while it trains, with its child at any place.
timeout -s KILL 1 "$csengine" sweep killed.yaml --json >killed.before 2>/dev/null
sweep killed --json || fail "the killed one: $(cat killed.err)"
cat >compare.py <<'END'
import json
lines = [json.loads(line) for line in open("halving.out")]
results, end = lines[:-1], lines[-1]
rungs = [[one for one in results if one["rung"] == rung] for rung in range(3)]
assert [len(one) for one in rungs] == [6, 3, 1], rungs
assert [one["steps"] for one in results] == [4] * 6 + [8] * 3 + [16], results
for rung in 0, 1:
    best = sorted(rungs[rung], key=lambda one: one["value"])[: len(rungs[rung + 1])]
    assert {one["trial"] for one in best} == {one["trial"] for one in rungs[rung + 1]}
assert end["best"]["trial"] == rungs[2][0]["trial"]
for one in rungs[0]:
    values = one["parameters"]
    assert 1e-5 <= float(values["optimizer.SGD.lr"]) <= 0.1 and values["seed"] in "123"
assert len({one["parameters"]["optimizer.SGD.lr"] for one in rungs[0]}) == 6
known = [json.loads(line) for line in open("sweeps/killed/trials.jsonl") if line.strip()][1:]
assert [(one["trial"], one["rung"], one["value"]) for one in known] == [
    (one["trial"], one["rung"], one["value"]) for one in results], known
best = end["best"]
values = best["parameters"].items()
print(best["trial"], " ".join(f"--set {path}={value}" for path, value in values))
END
best=$(python3 compare.py) || fail "the rungs: $(cat halving.out)"
# The best one, trained up to 16 steps at once, has the same weights.
# shellcheck disable=SC2086
whole=$("$csengine" start "$config" --no_dashboard --json --model_dir whole \
    --set loop.num_steps=null --set loop.max_steps=16 ${best#* } 2>/dev/null | tail -1)
digest() { "$csengine" checkpoint digest "$1/checkpoint_16.mdl"; }
[ "$(digest whole)" = "$(digest "sweeps/halving/trial_000${best%% *}")" ] ||
    fail "other weights than of one training: $whole"

refuses() {
    write wrong
    timeout 20 "$csengine" sweep wrong.yaml >wrong.out 2>&1 && fail "accepted: $(cat wrong.yaml)"
    grep -qF -- "$1" wrong.out || fail "$1: $(cat wrong.out)"
}
refuses 'did you mean "trials"' <<END
{name: a, config: $config, trial: 3, parameters: {seed: [1]}}
END
refuses 'unknown key "loguniform"' <<END
{name: a, config: $config, trials: 3, parameters: {seed: {loguniform: [1, 2]}}}
END
refuses 'log_uniform begins above 0' <<END
{name: a, config: $config, trials: 3, parameters: {seed: {log_uniform: [0, 2]}}}
END
refuses 'a grid has lists of values alone' <<END
{name: a, config: $config, method: grid, parameters: {seed: {int: [0, 2]}}}
END
refuses 'steps belongs to method halving' <<END
{name: a, config: $config, method: halving, trials: 3, parameters: {seed: [1]}}
END
refuses 'holds the trials of another sweep' <<END
{name: grid, config: $config, trials: 3, parameters: {seed: [1]}}
END

# Where no trial has a value, that is the end, in each format.
write none <<END
{name: none, config: $config, trials: 1, metric: nothing, settings: [loop.num_steps=1],
 parameters: {seed: [1]}}
END
for format in --json --format=csv --format=json --format=table; do
    sweep none $format && fail "no trial has a value, and $format is a success"
    grep -q 'no trial has a value of nothing' none.err || fail "$format: $(cat none.err)"
done

# The same as jobs of a server.
"$csengine" serve --root queue --cores 2 >served 2>&1 &
server=$!
for _ in $(seq 100); do
    [ -f queue/server.json ] && break
    sleep 0.1
done
sed 's/name: halving/name: queued/; s/trials: 6/trials: 4/; s/max: 16/max: 8/' halving.yaml \
    >queued.yaml
sweep queued --server queue --json || fail "queued: $(cat queued.err)"
python3 - <<'END' || fail "the queue: $(cat queued.out)"
import json
here = {(one["trial"], one["rung"]): one["value"]
        for one in map(json.loads, open("halving.out")) if one["event"] == "result"}
lines = [json.loads(line) for line in open("queued.out")]
assert len(lines) == 4 + 2 + 1, lines
for one in lines[:4]:
    assert one["value"] == here[one["trial"], 0], (one, here)
assert lines[-1]["best"]["steps"] == 8, lines[-1]
END
# The same sweep in another folder finds its jobs; another sweep of that name does not take them.
jobs=$("$csengine" get jobs --server queue --json | grep -o '"trial":' | wc -l)
sweep queued --server queue --folder again --json || fail "its jobs: $(cat queued.err)"
[ "$("$csengine" get jobs --server queue --json | grep -o '"trial":' | wc -l)" = "$jobs" ] ||
    fail "jobs were made again"
sed 's/momentum: {uniform: \[0, 0.1\]}/momentum: [0.5]/' queued.yaml >other.yaml
sweep other --server queue --folder other && fail "jobs of another sweep are taken"
grep -q 'has a job queued-0001-0 already, of another sweep' other.err || fail "$(cat other.err)"
"$csengine" get jobs --server queue --json >jobs.json
grep -q '"sweep": *"queued"' jobs.json || fail "no labels: $(head -c 2000 jobs.json)"
exit $failed
