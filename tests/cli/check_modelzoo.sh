#!/bin/sh
# `csengine modelzoo` on a small tree of configurations: which are found, verdicts, all that is
# missing with places, causes; and that nothing is written into the tree.
set -eu
engine=$CSENGINE_EXECUTABLE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "check_modelzoo.sh: $*" >&2; exit 1; }
expect() { # pattern
    grep -qE "$1" "$work/out" || fail "'$1' is not in: $(cat "$work/out")"
}
zoo=$work/zoo/src/cerebras/modelzoo
mkdir -p "$zoo/models/gpt" "$zoo/models/other" "$zoo/.hidden"
cat >"$zoo/models/gpt/good.yaml" <<'YAML'
# The forms of the ModelZoo: a list of folders, an alias, hints, a path below its root.
 trainer:
   init:
     backend:
       backend_type: CSX
       cluster_config: {num_csx: 1, mgmt_address: some.host:9000}
     model:
       name: bert
       hidden_size: 32
       num_hidden_layers: 1
       num_heads: 2
       filter_size: 64
       vocab_size: 100
       max_position_embeddings: 16
     optimizer:
       AdamW: {betas: [0.9, 0.95], correct_bias: true}
     schedulers:
     - SequentialLR:
         schedulers:
         - LinearLR: {initial_learning_rate: 0.0, end_learning_rate: 0.01, total_iters: 10}
         - CosineDecayLR: {initial_learning_rate: 0.01, end_learning_rate: 0.0, total_iters: 90}
     precision: {enabled: true, loss_scaling_factor: dynamic, max_gradient_norm: 1.0}
     loop: {max_steps: 100, eval_frequency: 50}
     checkpoint: {steps: 50, disable_strict_checkpoint_loading: true}
     logging: {log_steps: 1}
     callbacks:
     - ScopedTrainFlags: {csx.performance.micro_batch_size: 4}
   fit:
     train_dataloader: &data
       data_processor: BertCSVDynamicMaskDataProcessor
       data_dir: [./absent/0/, ./absent/1/]
       vocab_file: "$MODELZOO_ROOT/vocab.txt"
       max_sequence_length: 16
       max_predictions_per_seq: 3
       batch_size: 8
       num_workers: 8
       prefetch_factor: 10
       persistent_workers: true
     val_dataloader: *data
YAML
cat >"$zoo/models/other/bad.yaml" <<'YAML'
trainer:
  init:
    model: {name: dinosaur}
    optimizer: {SGD: {learning_rates: 0.1}}
    loop: {max_steps: 1}
  fit:
    train_dataloader: &data {data_processor: FossilProcessor, batch_size: 1}
    val_dataloader: *data
YAML
sed 's/FossilProcessor/synthetic/' "$zoo/models/other/bad.yaml" >"$zoo/models/other/bad2.yml"
echo 'trainer: [' >"$zoo/models/other/broken.yaml"
echo 'data: {trainer: 1}' >"$zoo/models/other/no_training.yaml"
cp "$zoo/models/gpt/good.yaml" "$zoo/.hidden/unseen.yaml"
find "$work/zoo" | sort >"$work/before"

"$engine" modelzoo "$work/zoo" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
[ ! -s "$work/err" ] || fail "messages: $(cat "$work/err")"
expect '^pass +[0-9.]+ s  src/cerebras/modelzoo/models/gpt/good.yaml$'
expect '^FAIL +[0-9.]+ s  src/cerebras/modelzoo/models/other/bad.yaml$'
expect "^ +3:19: there is no model 'dinosaur'"
expect '^ +4:23: unknown setting "learning_rates"; did you mean "learning_rate"'
expect "^ +7:46: there is no input function 'FossilProcessor'"
expect '^FAIL .*broken.yaml$'
expect '^1 of 4 configurations pass$'
expect "^ +2  there is no model 'dinosaur'$"
expect '^ +2  unknown setting "learning_rates"$'
[ "$(grep -c FossilProcessor "$work/out")" = 2 ] ||
    fail "an alias is told twice: $(cat "$work/out")"

"$engine" modelzoo "$zoo/models/other" --json >"$work/out"
expect '"passed": *0'
expect '"total": *3'
expect '"configuration": *"bad2.yml"'
expect '"line": *3'

find "$work/zoo" | sort | cmp -s - "$work/before" || fail 'the tree was changed'

# Alone: the same verdict, with a notice for the data, and an exit code that needs them for a run.
cd "$work"
"$engine" start "$zoo/models/gpt/good.yaml" --validate_only >"$work/out" 2>&1 ||
    fail "$(cat "$work/out")"
expect 'warning: the data were not looked at, .*absent/0/: cannot list the folder'
expect 'fit.train_dataloader.num_workers is not used: num_workers_per_csx says'
code=0
"$engine" start "$zoo/models/gpt/good.yaml" --model_dir "$work/run" >"$work/out" 2>&1 || code=$?
[ $code = 66 ] || fail "exit code $code: $(cat "$work/out")"

code=0
"$engine" modelzoo "$work/zoo/src/cerebras/modelzoo/.hidden/none" >"$work/out" 2>&1 || code=$?
[ $code = 66 ] || fail "exit code $code"
mkdir "$work/empty"
code=0
"$engine" modelzoo "$work/empty" >"$work/out" 2>&1 || code=$?
[ $code = 66 ] || fail "exit code $code"
expect 'no YAML file below it has the key trainer'
