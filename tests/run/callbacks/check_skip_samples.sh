#!/bin/sh
# SkipSamples: a run that leaves out n samples trains on what the data without them hold, for any n;
# the same bits for 1 to 4 replicas and after a stop; it is the setting skip_samples of the data.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# 96 rows of which each is another, and the same without the first 21.
awk 'BEGIN {
    print "a,b,label"
    for (i = 0; i < 96; i++) printf "%d,%d,%d\n", i % 7 - 3, i, i % 3
}' >"$work/all.csv"
sed 2,22d "$work/all.csv" >"$work/rest.csv"

# train FOLDER REPLICAS MAX_STEPS DATA ARGUMENTS...: prints the digest of the weights.
train() {
    name=$1 replicas=$2 steps=$3 data=$4
    shift 4
    cat >"$work/config.yaml" <<YAML
trainer:
  init:
    model_dir: $work/$name
    backend: {compile_dir: $work/compiled, cluster_config: {num_csx: $replicas}}
    model: {name: fc_mnist, input_size: 2, hidden_sizes: [8], num_classes: 3}
    optimizer: {SGD: {lr: 0.01}}
    loop: {max_steps: $steps}
    checkpoint: {steps: 2}
  fit:
    train_dataloader: {data_processor: csv, path: $work/$data, label: label, batch_size: 12,
      micro_batch_size: 3}
YAML
    timeout 100 "$csengine" start "$work/config.yaml" --no_dashboard --json "$@" 2>"$work/errors" \
        >"$work/events"
    sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p' "$work/events"
}

skip='callbacks=[{SkipSamples: {n: 21}}]'
one=$(train 1 1 6 all.csv --set "$skip")
[ -n "$one" ] || fail "no digest: $(cat "$work/errors")"
! grep -q 'not used\|no effect' "$work/errors" || fail "one: $(cat "$work/errors")"
grep -q '21 samples further on' "$work/events" "$work/errors" || fail "it is not told"
rest=$(train rest 1 6 rest.csv)
[ "$one" = "$rest" ] || fail "skipped: $one, without the samples: $rest"
plain=$(train plain 1 6 all.csv)
[ -n "$plain" ] && [ "$one" != "$plain" ] || fail "it has no effect: $plain"
setting=$(train setting 2 6 all.csv --set fit.train_dataloader.skip_samples=21)
[ "$one" = "$setting" ] || fail "the callback: $one, the setting with 2 replicas: $setting"
# Into the second epoch, in one go and with a stop, by 1 to 4 replicas.
long=$(train long 1 14 all.csv --set "$skip" --set fit.train_dataloader.shuffle=true)
for replicas in 2 3 4; do
    train part$replicas 1 $((replicas * 3)) all.csv --set "$skip" \
        --set fit.train_dataloader.shuffle=true >"$work/half"
    part=$(train part$replicas $replicas 14 all.csv --set "$skip" \
        --set fit.train_dataloader.shuffle=true)
    [ -n "$long" ] && [ "$long" = "$part" ] || fail "at once: $long, with a stop: $part"
done

[ -z "$(train wrong 1 2 all.csv --set "$skip" --set fit.train_dataloader.skip_samples=3)" ] &&
    grep -q 'this flag of a callback is 21, and skip_samples' "$work/errors" ||
    fail "two numbers: $(cat "$work/errors")"
[ -z "$(train wrong 1 2 all.csv --set 'callbacks=[{SkipSamples: {n: 0}}]')" ] &&
    grep -q 'callbacks:1:.*n: ' "$work/errors" || fail "none: $(cat "$work/errors")"

[ $failed = 0 ] && echo "skipped samples: as if they were not there"
exit $failed
