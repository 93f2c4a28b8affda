#!/bin/sh
# What the reference system's documents write in YAML starts as it is where the key exists; what
# cannot start says why in one line that names the key.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
count=0

fail() {
    echo "FAIL: $1"
    failed=1
}

# configuration SECTION: the synthetic one, with the lines of SECTION in trainer.init.
configuration() {
    sed "s#^    loop:.*#SECTION\n    loop: {num_steps: 2}#" \
        "${top_srcdir:-.}/configs/synthetic.yaml" |
        while IFS= read -r line; do
            if [ "$line" = SECTION ]; then
                printf '%s\n' "$1" | sed 's/^/    /'
            else
                printf '%s\n' "$line"
            fi
        done >"$work/example.yaml"
}

# starts WHAT SECTION [flags]: it trains; output in $work/out and $work/err.
starts() {
    what=$1
    configuration "$2"
    shift 2
    rm -rf "$work/model"
    "$csengine" start "$work/example.yaml" --model_dir "$work/model" \
        --compile_dir "$work/compiled" \
        --no_dashboard "$@" >"$work/out" 2>"$work/err" || fail "$what: $(cat "$work/err")"
    count=$((count + 1))
}

# says WHAT KEY WHY SECTION [flags]: refused in one line that names the key.
says() {
    what=$1 key=$2 why=$3
    configuration "$4"
    shift 4
    "$csengine" start "$work/example.yaml" --model_dir "$work/model" --validate_only "$@" \
        >"$work/out" 2>"$work/err"
    [ $? -eq 78 ] || fail "$what is accepted"
    [ "$(grep -c "$key" "$work/err")" -eq 1 ] && grep -q "$key.*$why" "$work/err" ||
        fail "$what: $(cat "$work/err")"
    count=$((count + 1))
}

# ---- numeric precision ----

starts 'the first example' 'precision:
  fp16_type: cbfloat16'
grep -q 'warning: .*cbfloat16 without loss_scaling_factor: dynamic' "$work/err" ||
    fail "no warning: $(cat "$work/err")"
for type in float16 bfloat16; do
    starts "$type" "precision:
  fp16_type: $type"
    [ ! -s "$work/err" ] || fail "$type: $(cat "$work/err")"
done
starts 'gradient scaling' 'precision:
  fp16_type: cbfloat16
  loss_scaling_factor: dynamic'
[ ! -s "$work/err" ] || fail "dynamic scaling: $(cat "$work/err")"
starts 'static scaling' 'precision:
  fp16_type: float16
  loss_scaling_factor: 128.0'
starts 'clipping by norm' 'precision:
  fp16_type: cbfloat16
  loss_scaling_factor: dynamic
  max_gradient_norm: 1.0'
starts 'clipping by value' 'precision:
  fp16_type: cbfloat16
  loss_scaling_factor: dynamic
  # OR
  max_gradient_value: 2.0'
for level in 0 1 2; do
    starts "level $level" "precision:
  fp16_type: cbfloat16
  loss_scaling_factor: dynamic
  max_gradient_norm: 1.0
  precision_opt_level: $level"
done
says 'both kinds of clipping' max_gradient_value 'exclude each other' 'precision:
  max_gradient_norm: 1.0
  max_gradient_value: 2.0'
says 'a level that is none' precision_opt_level 'out of range' 'precision:
  fp16_type: cbfloat16
  precision_opt_level: 3'

# ---- GraphAMP: presets, sets, tiling, gradients, updates ----

for preset in mp0 mp1 mp2 mp3 mp4; do
    starts "preset $preset" "precision: {fp16_type: bfloat16, graphamp: {preset: $preset}}"
done
starts 'matmul alone' 'precision: {fp16_type: bfloat16, graphamp: {preset: mp0, allow: [matmul]}}'
for format in fp32 bf16; do
    starts "tiling and gradients in $format" "precision: {fp16_type: bfloat16, \
tiling_accum: $format, weight_grad_reduce: $format, weight_update: fp32}"
done
starts 'levels of layers' 'precision:
  fp16_type: bfloat16
  pol: [{scope: model.fc_layers.0, level: 0}, {scope: model.last_layer, bwd_level: 0}]'

# ---- the run ----

starts 'the cluster' "checkpoint: {steps: 1}" --set "backend.cluster_config={num_csx: 1, \
num_workers_per_csx: 1, max_wgt_servers: 1, job_labels: [team=a]}"
starts 'validate_only' 'checkpoint: {steps: 1}' --validate_only
starts 'compile_only' 'checkpoint: {steps: 1}' --compile_only
for key in mount_dirs python_paths transfer_processes max_act_per_csx mgmt_address; do
    says "$key" "unknown setting \"trainer.init.backend.cluster_config.$key\"" 'leave it out: ' '' \
        --set "backend.cluster_config.$key=1"
done

# ---- learning rates ----

starts 'a number' 'checkpoint: {steps: 1}' --set schedulers=0.01
starts 'a dictionary' 'checkpoint: {steps: 1}' \
    --set 'schedulers={scheduler: ConstantLR, learning_rate: 0.01}'
starts 'a list' 'checkpoint: {steps: 1}' \
    --set 'schedulers=[{scheduler: LinearLR, initial_learning_rate: 0.0,
    end_learning_rate: 0.1, total_iters: 1}, {scheduler: ConstantLR, learning_rate: 0.1}]'
starts 'a chain' 'checkpoint: {steps: 1}' \
    --set 'schedulers=[{scheduler: LinearLR, main_scheduler: ChainedLR, initial_learning_rate: 0.1,
    end_learning_rate: 0.0, total_iters: 4}, {scheduler: ConstantLR, learning_rate: 0.5}]'
says 'another word for a chain' main_scheduler 'sequential and chained' 'checkpoint: {steps: 1}' \
    --set 'schedulers=[0.1, {scheduler: ConstantLR, main_scheduler: parallel, learning_rate: 0.5}]'
starts 'an optimizer in lower case' 'checkpoint: {steps: 1}' --set 'optimizer={adamw: {}}'
says 'an optimizer by type' optimizer_type 'write optimizer: {NAME: {settings}}' '' \
    --set 'optimizer={optimizer_type: SGD, lr: 0.001, momentum: 0.5}'

[ "$count" -ge 30 ] || fail "only $count examples"
exit "$failed"
