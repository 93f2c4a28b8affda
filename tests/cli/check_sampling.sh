#!/bin/sh
# Sampling by weights, mixed samples and losses of classes in runs with real processes: the weights
# are the same for any number of replicas and input workers, and when a run is stopped and goes on.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

cat >"$work/config.yaml" <<'END'
trainer:
  init:
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [8], num_classes: 3}
    optimizer:
      SGD: {lr: 0.1}
    loss: {label_smoothing: 0.1, class_weights: balanced}
    seed: 1
  fit:
    train_dataloader: {data_processor: synthetic, features: [16], classes: 3, samples: 90,
      batch_size: 12, micro_batch_size: 4, sampling: balanced,
      mixing: {mixup_alpha: 0.4, num_classes: 3, probability: 0.5}}
END

# train FOLDER REPLICAS WORKERS STEPS [OPTION...]: prints the digest of the weights.
train() {
    folder=$1 replicas=$2 workers=$3 steps=$4
    shift 4
    timeout 60 "$csengine" start "$work/config.yaml" --no_dashboard --json \
        --model_dir "$work/$folder" --compile_dir "$work/compiled" --num_csx "$replicas" \
        --num_workers_per_csx "$workers" --num_steps "$steps" "$@" 2>"$work/errors" |
        sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p'
}

whole=$(train one 1 1 20)
[ -n "$whole" ] || fail "no digest: $(cat "$work/errors")"
[ "$(train three 3 2 20)" = "$whole" ] || fail "3 replicas and 2 workers have other weights"
train parts 1 1 9 >/dev/null
[ "$(train parts 2 1 11)" = "$whole" ] || fail "a run that goes on has other weights"

# Each setting has an effect.
for setting in loss.label_smoothing=0 loss.class_weights=null \
    trainer.fit.train_dataloader.sampling=null trainer.fit.train_dataloader.mixing=null \
    trainer.fit.train_dataloader.mixing.seed=5; do
    [ "$(train "$setting" 1 1 20 --set "$setting")" != "$whole" ] || fail "$setting has no effect"
done

# refuses MESSAGE OPTION...
refuses() {
    message=$1
    shift
    train refused 1 1 2 "$@" >/dev/null
    grep -qF -- "$message" "$work/errors" || fail "$*: $(cat "$work/errors")"
}
refuses 'did you mean "label_smoothing"' --set loss.label_smooth=1
refuses 'has 2 numbers, and the model' --set 'loss.class_weights=[1,2]'
refuses 'loss.class_weights: all weights are 0' --set 'loss.class_weights=[0,0,0]'
refuses 'error: loss.class_weights: balanced: no sample of the training data has class' \
    --set trainer.fit.train_dataloader.mixing=null --set trainer.fit.train_dataloader.classes=900
refuses 'error: data loader: loss.class_weights: balanced (' --set trainer.fit.train_dataloader='{
 data_processor: synthetic, features: [16], regression: true, samples: 90, batch_size: 12}'
refuses 'a validation has whole samples' --set 'trainer.fit.val_dataloader={data_processor:
 synthetic, features: [16], classes: 3, batch_size: 12, mixing: {mixup_alpha: 1, num_classes: 3}}'
refuses 'is no cross entropy of classes' --set loss.class_weights=null \
    --set trainer.fit.train_dataloader='{data_processor: synthetic, features: [16],
 regression: true, samples: 90, batch_size: 12}' --set model.num_classes=1
exit $failed
