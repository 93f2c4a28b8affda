#!/bin/sh
# Settings by their class: those of which `bisect` says that they can change no bit leave the chain
# of a run as it is; the others are named, alone, where they were changed.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
make_table
train() { # NAME ARGUMENTS...
    name=$1
    shift
    train_table "$name" 'batch_size: 32, micro_batch_size: 8' --max_steps 8 \
        --set "model.hidden_sizes=[24, 16]" --set "optimizer={AdamW: {lr: 0.01}}" "$@"
}
train run

# One of each section without an effect; states in a file and statistics exclude one another.
train harmless --num_csx 1 --set backend.cluster_config.num_workers_per_csx=2 \
    --set "checkpoint={steps: 3, keep: 2}" --set "logging={log_steps: 2}" \
    --set "numerics={every: 2, tensors: ['*relu*']}" --set "alerts={when: [loss < 1]}" \
    --set "recompute={scopes: ['model.fc_layers*']}" --set "callbacks=[CountParams, ComputeNorm]" \
    --set "loggers=[{CSVLogger: {}}]" --set samples.count=2 --set loop.diverged_factor=50
expect 0 'equal: the digests of all 8 steps' bisect run harmless
train kept --set "states={keep_in: file, directory: '$work', memory: 16MiB}" \
    --set memory_limit=1GiB
expect 0 'equal: the digests of all 8 steps' bisect run kept
# They are not named beside one that has an effect.
train kept_faster --set "states={keep_in: file, directory: '$work', memory: 16MiB}" \
    --set memory_limit=1GiB --set "recompute={scopes: ['model.fc_layers*']}" \
    --set "alerts={when: [loss < 1]}" --set optimizer.AdamW.lr=0.02
expect 1 '^settings that differ, and can have caused it: 1$' bisect run kept_faster --no_replay

has_effect() { # NAME PATH SETTING
    train "$1" --set "$3"
    expect 1 '^step [1-8] is the first that differs' bisect run "$1" --no_replay
    grep -q '^settings that differ, and can have caused it: 1$' out || fail "$1: $(cat out)"
    grep -q "^  $2" out || fail "$1: not $2: $(cat out)"
}
has_effect rate init.optimizer.AdamW.lr: optimizer.AdamW.lr=0.02
has_effect seed init.seed: seed=7
has_effect smoothing init.loss.label_smoothing: loss.label_smoothing=0.1
has_effect average init.ema.decay: ema.decay=0.9
has_effect scale init.precision.max_gradient_norm: precision.max_gradient_norm=0.1
has_effect format init.precision.fp16_type: precision.fp16_type=bfloat16
has_effect data fit.train_dataloader.shuffle_seed: train_dataloader.shuffle_seed=9
has_effect skipped fit.train_dataloader.skip_samples: 'callbacks=[{SkipSamples: {n: 64}}]'

# A callback that is a setting of the training; the runs' identity has it, too.
some='{param_filter: "fc_layers*.weight", init_method: outlier}'
train selected --set "callbacks=[CountParams, {SelectiveGrad: {selective_grads: $some}}]"
expect 1 '^step 1 is the first that differs' bisect run selected --no_replay
grep -q '^identity: other configuration' out || fail "selected: $(cat out)"
grep -q '^  init.callbacks.*SelectiveGrad' out || fail "selected: $(cat out)"
[ $failures -eq 0 ]
