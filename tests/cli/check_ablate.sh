#!/bin/sh
# `csengine ablate`: variants are forks with the bits of a fork, the unchanged one is the run's own
# future where it has one and is computed where a setting is changed for all; figures are those of
# the stores; a variant that fails is a row; the same command does nothing twice; an ablation that
# was interrupted goes on.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
expect() { # CODE WORDS COMMAND...
    code=$1
    words=$2
    shift 2
    "$csengine" "$@" >out 2>err
    found=$?
    [ $found -eq "$code" ] || fail "$*: exit code $found, not $code: $(cat out err)"
    cat out err | grep -q -e "$words" || fail "$*: no '$words': $(cat out err)"
}

data='data_processor: synthetic, features: [6], classes: 4, samples: 160, batch_size: 16'
cat >run.yaml <<YAML
trainer:
  init:
    model_dir: run
    backend: {compile_dir: compiled}
    model: {name: fc_mnist, input_size: 6, hidden_sizes: [16], num_classes: 4}
    optimizer: {SGD: {lr: 0.1, momentum: 0.9}}
    loop: {max_steps: 24, eval_frequency: 6}
    checkpoint: {steps: 8}
  fit:
    train_dataloader: {$data, micro_batch_size: 8, shuffle: true}
    val_dataloader: {$data}
YAML
"$csengine" start run.yaml --quiet --no_dashboard --num_csx 2 >out 2>&1 || fail "$(cat out)"
echo 'optimizer.SGD.lr: 0.4' >fast.yaml
printf 'optimizer: {SGD: {lr: 0.1, momentum: 0}}\nprecision.max_gradient_norm: 0.5\n' >plain.yaml
echo 'optimizer.SGD.lrr: 0.4' >wrong.yaml

expect 0 '^3 variants of run, which share its steps 1 to 11; unchanged: the run itself' \
    ablate run --at 11 --each fast.yaml,plain.yaml --each wrong.yaml --model_dir ablations
grep -q '^variant fast, optimizer.SGD.lr=0.4$' err || fail "what is begun: $(cat err)"
[ -e ablations/unchanged ] && fail 'the run itself was computed again'
grep -q '^wrong .*failed: .*lrr' out || fail "a variant that fails: $(cat out)"
[ "$(grep -c '^loss, less is better$' out)" -eq 1 ] &&
    [ "$(grep -c '^val_loss, less is better$' out)" -eq 1 ] || fail "metrics: $(cat out)"
expect 0 'shares steps 1 to 11' fork run --at 11 --model_dir alone --set optimizer.SGD.lr=0.4 \
    --no_dashboard
expect 0 'equal: the digests of all 24 steps' bisect ablations/fast alone

# ---- the figures ----

expect 0 '"unchanged_is_the_run": *true' ablate run --at 11 --each fast.yaml,plain.yaml,wrong.yaml \
    --model_dir ablations --json
cp out answer.json
python3 - <<'EOF' || fail 'figures'
import json, sqlite3

answer = json.load(open("answer.json"))
variants = {v["name"]: v for v in answer["variants"]}
assert list(variants) == ["unchanged", "fast", "plain", "wrong"], list(variants)
assert answer["goals"]["loss"] == answer["goals"]["val_loss"] == "min", answer["goals"]
assert variants["wrong"]["failure"] and variants["wrong"]["metrics"]["loss"] is None
base = variants["unchanged"]
for name in ("unchanged", "fast", "plain"):
    v = variants[name]
    store = sqlite3.connect(f"file:{v['model_dir']}/run.db?mode=ro", uri=True)
    for metric in ("loss", "val_loss"):
        # Points of all attempts, the later ones last.
        rows = store.execute(
            "SELECT step, value FROM points JOIN series ON series.id = points.series "
            "WHERE series.name = ? AND step > 11 ORDER BY attempt, step", (metric,)).fetchall()
        points = dict(rows)
        found, first = v["metrics"][metric], base["metrics"][metric]
        assert found["step"] == max(points) == 24, (name, metric, found)
        assert found["last"] == points[24] and found["best"] == min(points.values())
        assert points[found["best_step"]] == found["best"], (name, metric, found)
        assert abs(found["last_difference"] - (found["last"] - first["last"])) < 1e-12
        assert abs(found["best_difference"] - (found["best"] - first["best"])) < 1e-12
assert variants["fast"]["metrics"]["loss"]["last_difference"] != 0
EOF

# ---- nothing twice, and nobody else's folder ----

stamp=$(stat -c %Y.%i ablations/fast/run.db)
expect 0 '^2 variants' ablate run --at 11 --each fast.yaml,plain.yaml --model_dir ablations
grep -q '^variant' err && fail "a variant that is complete was begun again: $(cat err)"
[ "$stamp" = "$(stat -c %Y.%i ablations/fast/run.db)" ] || fail 'fast was trained again'
mkdir other
echo 'optimizer.SGD.lr: 0.2' >other/fast.yaml
expect 78 'ablations holds another ablation' ablate run --at 11 --each other/fast.yaml \
    --model_dir ablations
expect 78 'ablations holds another ablation' ablate run --at 12 --each fast.yaml \
    --model_dir ablations

# One that was killed is not complete.
rm -r ablations/fast
expect 0 'shares steps' fork run --at 11 --model_dir ablations/fast --no_dashboard \
    --set optimizer.SGD.lr=0.4 --max_steps 14
python3 - <<'EOF'
import sqlite3
store = sqlite3.connect("ablations/fast/run.db")
store.execute("DELETE FROM transitions WHERE to_state = 'SUCCEEDED' AND attempt = "
              "(SELECT max(attempt) FROM transitions)")
store.commit()
EOF
expect 0 '^1 variants' ablate run --at 11 --each fast.yaml --model_dir ablations
expect 0 'equal: the digests of all 24 steps' bisect ablations/fast alone

# ---- a setting of all, and an end of all ----

expect 0 'unchanged: all/unchanged' ablate run --at 20 --each fast.yaml --model_dir all \
    --set precision.max_gradient_norm=0.1 --metrics loss --num_csx 1
grep -q '^val_loss' out && fail "--metrics: $(cat out)"
expect 0 'shares steps' fork run --at 20 --model_dir clipped --no_dashboard \
    --set precision.max_gradient_norm=0.1
expect 0 'equal: the digests of all 24 steps' bisect all/unchanged clipped
expect 0 'unchanged: the run itself' ablate run --at 11 --each fast.yaml --model_dir short \
    --max_steps 15 --metrics loss
grep -q '^unchanged  *15  ' out || fail "--max_steps: $(cat out)"

# ---- what is refused ----

expect 64 'needs --at STEP, --each' ablate run --at 11 --model_dir x
expect 66 'step 25: run has done the steps 1 to 24' ablate run --at 25 --each fast.yaml \
    --model_dir x
expect 64 'there is a variant "fast" already' ablate run --at 11 --each fast.yaml,other/fast.yaml \
    --model_dir x
echo '[1, 2]' >list.yaml
expect 78 'list.yaml:1:1: the file of a variant holds no settings' ablate run --at 11 \
    --each list.yaml --model_dir x
expect 66 'no variant has a value of "lossy"' ablate run --at 11 --each fast.yaml \
    --model_dir ablations --metrics lossy
expect 1 'all variants failed; the first: .*lrr' ablate run --at 11 --each wrong.yaml --model_dir y
[ -e x ] && fail 'what was refused left a folder'
[ -z "$(ls "$TMPDIR")" ] || fail "replays left $(ls "$TMPDIR")"

[ "$failures" -eq 0 ] && echo 'all as expected'
exit $((failures > 0))
