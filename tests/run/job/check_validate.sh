#!/bin/sh
# Several data loaders of a validation, `validate`, `validate_all`: the metrics of each loader and
# checkpoint are those of a run with that one alone; when validations happen.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

loader='data_processor: synthetic, features: [16], classes: 4, micro_batch_size: 16'
first="{$loader, samples: 256, batch_size: 64}"
second="{$loader, samples: 96, batch_size: 32, seed: 9}"
cat >"$work/two.yaml" <<YAML
trainer:
  init:
    backend: {compile_dir: $work/compiled}
    model_dir: $work/two
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4}
    optimizer: {SGD: {lr: 0.1, momentum: 0.9}}
    loop: {num_steps: 30, eval_frequency: 0.34}
    checkpoint: {steps: 10}
    loggers: [CSVLogger]
  fit:
    train_dataloader: {$loader, samples: 1024, batch_size: 64, shuffle: true}
    val_dataloader: [$first, $second]
YAML

run() { # NAME COMMAND ARGUMENTS...: JSON lines in $work/NAME
    name=$1
    command=$2
    shift 2
    timeout 100 "$csengine" "$command" "$work/two.yaml" --json "$@" >"$work/$name" \
        2>"$work/$name.errors" || fail "$name: $(cat "$work/$name.errors")"
}
metrics() { sed -n 's/.*"event":"'"$2"'".*"metrics":{\([^}]*\)}.*/\1/p' "$work/$1"; }
series() { awk -F, -v name="$2" '$3 == name { print $1 }' "$work/$1/metrics.csv" | tr '\n' ' '; }

# 0.34 of 30 steps is 10.2, and so every 11th: 11, 22, 30.
run train start --no_dashboard
for name in validate_0/loss validate_0/accuracy validate_1/loss validate_1/accuracy; do
    [ "$(series two "$name")" = "11 22 30 " ] || fail "$name at $(series two "$name")"
done
[ -z "$(series two val_loss)" ] || fail "val_loss of two data loaders"

# Each loader alone gives the same numbers.
run both validate
run one validate --set "validate.val_dataloader=$first"
run other validate --set "validate.val_dataloader=[$second]" \
    --checkpoint "$work/two/checkpoint_30.mdl"
joined=$(metrics one end | sed 's/"loss"/"validate_0\/loss"/; s/"accuracy"/"validate_0\/accuracy"/')
joined=$joined,$(metrics other end |
    sed 's/"loss"/"validate_1\/loss"/; s/"accuracy"/"validate_1\/accuracy"/')
[ "$(metrics both end)" = "$joined" ] || fail "both: $(metrics both end), each alone: $joined"
[ "$(metrics train end)" = "$joined" ] || fail "after training: $(metrics train end)"

# All checkpoints, by step: each as it is by itself.
run all validate_all
[ "$(metrics all validated | wc -l)" = 5 ] || fail "not five: $(cat "$work/all")"
grep -o '"event":"validated","step":[0-9]*' "$work/all" | sed 's/.*://' | tr '\n' ' ' |
    grep -qx '10 11 20 22 30 ' || fail "their steps: $(grep validated "$work/all")"
run ten validate --checkpoint "$work/two/checkpoint_10.mdl"
[ "$(metrics all validated | head -n 1)" = "$(metrics ten end)" ] || fail "checkpoint_10"
[ "$(metrics all validated | tail -n 1)" = "$joined" ] || fail "checkpoint_30"
run some validate_all --checkpoints "[$work/two/checkpoint_2*.mdl, $work/two/checkpoint_20.mdl]" \
    --set "validate_all.val_dataloaders=$first"
[ "$(metrics some validated | wc -l)" = 2 ] || fail "the pattern: $(cat "$work/some")"
grep -q 'is not used' "$work/all.errors" && fail "warnings: $(cat "$work/all.errors")"
timeout 100 "$csengine" validate_all "$work/two.yaml" --checkpoints "[$work/two/none_*.mdl]" \
    >"$work/none" 2>&1
[ $? = 66 ] && grep -q "none_\*.mdl: there is no such checkpoint" "$work/none" ||
    fail "no such checkpoint: $(cat "$work/none")"

# Further metrics, of what a validation has: labels, predictions, scores, loss and value. Two of the
# same name are told apart; some say in other words what loss and accuracy say.
more='[perplexity, mean_loss, {recall_at_k: {k: 1}}, {recall_at_k: {k: 4}}, {mean: {}}, accuracy]'
run more validate --set "validate.val_dataloader=$first" --set "init.metrics=$more"
metrics more end | tr ',' '\n' | sed 's/"//g' >"$work/values"
awk -F: '
    { v[$1] = $2 }
    function far(a, b) { return a - b > 1e-5 * b || b - a > 1e-5 * b }
    END {
        exit NR != 8 || v["loss"] <= 0 || far(v["perplexity"], exp(v["loss"])) ||
            far(v["mean_loss"], v["loss"]) || far(v["mean"], v["loss"]) ||
            v["recall_at_k_2"] != 1 || v["recall_at_k"] != v["accuracy"] ||
            v["accuracy_2"] != v["accuracy"]
    }' "$work/values" || fail "further metrics: $(cat "$work/values")"

# 90 samples in batches of 32, and as one batch.
for batch in 32 90; do
    run "all_$batch" validate --set validate.val_dataloader="{$loader, samples: 90, seed: 4}" \
        --set validate.val_dataloader.batch_size=$batch \
        --set validate.val_dataloader.micro_batch_size=$((batch / 2))
done
printf '%s#%s\n' "$(metrics all_32 end)" "$(metrics all_90 end)" | awk -F'[:,#]' '
    { exit !(NF == 8 && $4 == $8 && $2 > 0 && $2 - $6 < 1e-6 * $2 && $6 - $2 < 1e-6 * $2) }' ||
    fail "all samples: $(metrics all_32 end), $(metrics all_90 end)"
run early start --no_dashboard --model_dir "$work/early.d" --num_steps 8 \
    --set loop.eval_frequency=2 --set fit.val_dataloader="$first" \
    --set init.metrics='[mean_loss]' --set \
    'init.callbacks=[{EarlyStopping: {monitor: val_mean_loss, min_delta: 100, patience: 2}}]'
[ "$(series early.d val_mean_loss)" = "2 4 6 " ] || fail "early: $(series early.d val_mean_loss)"

# As in the ModelZoo 1.0 is the whole run, and 1 is every step.
run whole start --no_dashboard --model_dir "$work/whole.d" --num_steps 4 \
    --set loop.eval_frequency=1.0
[ "$(series whole.d validate_0/loss)" = "4 " ] || fail "1.0: $(series whole.d validate_0/loss)"
run each start --no_dashboard --model_dir "$work/each.d" --set loop.eval_frequency=1 --num_steps 3
[ "$(series each.d validate_0/loss)" = "1 2 3 " ] || fail "1: $(series each.d validate_0/loss)"

# What is wrong with the data of the validations ends the run before its first step.
mkdir "$work/data"
"$csengine" start "$work/two.yaml" --no_dashboard --model_dir "$work/none.d" --set \
    fit.val_dataloader="{data_processor: csv, path: $work/data/none.csv, batch_size: 8}" \
    >"$work/none.out" 2>"$work/none.err" && fail "none: exit code 0"
grep -q 'none.csv: cannot open the file' "$work/none.err" || fail "none: $(cat "$work/none.err")"
ls "$work"/none.d/checkpoint_*.mdl >"$work/none.list" 2>/dev/null && fail "none: steps were done"

[ "$failures" = 0 ] || exit 1
echo "all as expected"
