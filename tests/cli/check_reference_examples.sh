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
starts 'flags of the command line' 'precision: {fp16_type: bfloat16}' --preset mp2 \
    --tiling-accum bf16 --weight-grad-reduce bf16
starts 'levels of layers' 'precision:
  fp16_type: bfloat16
  pol: [{scope: model.fc_layers.0, level: 0}, {scope: model.last_layer, bwd_level: 0}]'

# ---- the run ----

starts 'the cluster' "checkpoint: {steps: 1}" --set "backend.cluster_config={num_csx: 1, \
num_workers_per_csx: 1, max_wgt_servers: 1, job_labels: [team=a]}"
starts 'validate_only' 'checkpoint: {steps: 1}' --validate_only
starts 'compile_only' 'checkpoint: {steps: 1}' --compile_only

# The call configure(...) of the documents with all its parameters, and the fields of ClusterConfig
# and of the older CSConfig: hints for other hardware are told in one line, and each with its reason
# where the configuration is only validated.
mkdir -p "$work/data" "$work/modules"
configure="{num_csx: 1, max_wgt_servers: 24, mount_dirs: [$work/data], \
python_paths: [$work/modules], transfer_processes: 5, num_workers_per_csx: 1, \
job_labels: [model=fc], max_act_per_csx: 1}"
starts 'configure(...)' 'checkpoint: {steps: 100}' --set "backend.cluster_config=$configure" \
    --set backend.validate_only=true
starts 'mgmt_address' 'checkpoint: {steps: 1}' --set backend.cluster_config.mgmt_address=host:9000
hints='mgmt_address: "a:1", mgmt_namespace: n, credentials_path: /c, cbcore_image: i,
automount: true, mount_all: true, disable_mount_check: true,
disable_version_check: false, workflow_id: w,
notifications: [{mail: x}], transfer_processes: 5, debug_args: {a: 1}, max_act_per_csx: 60'
starts 'ClusterConfig' 'checkpoint: {steps: 1}' --set "backend.cluster_config={$hints, \
job_priority: p1, job_time_sec: 3600, precision_opt_level: 1}" --set precision.fp16_type=bfloat16
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "ClusterConfig: $(cat "$work/err")"
for name in mgmt_address mgmt_namespace credentials_path cbcore_image automount mount_all \
    disable_mount_check disable_version_check workflow_id notifications \
    transfer_processes debug_args max_act_per_csx; do
    grep -q "info: no effect here.*$name" "$work/err" || fail "$name: $(cat "$work/err")"
done
starts 'ClusterConfig, validated' 'checkpoint: {steps: 1}' --validate_only \
    --set "backend.cluster_config={$hints}"
[ "$(grep -c 'warning: .*cluster_config.* is not used: ' "$work/err")" -eq 13 ] ||
    fail "reasons: $(cat "$work/err")"
starts 'what is taken back' 'checkpoint: {steps: 1}' --set \
    'backend.cluster_config={mgmt_address: null, notifications: [], job_time_sec: null}'
[ ! -s "$work/err" ] || fail "null: $(cat "$work/err")"

# Flags of cstorch.backends.csx, dotted as the ModelZoo writes them, and nested.
starts 'flags of csx' 'precision: {fp16_type: bfloat16}' --set logging.log_level=DEBUG \
    --set 'backend={backend_type: CSX, csx.debug.implicit_cast_cb16_to_fp32: true,
    csx.precision.optimization_level: 0, csx: {performance: {micro_batch_size: auto},
    debug.execute_crd_memory_gi: 120}}'
for line in 'debug: backend.backend_type .*the step runs on the CPU' \
    'debug: .*csx.debug.implicit_cast_cb16_to_fp32 is not used: ' \
    'debug: .*csx.performance.micro_batch_size is not used: write train_dataloader' \
    'debug: .*csx.debug.execute_crd_memory_gi is not used: .*--memory_bytes' \
    'info: no effect here, as on other hardware: '; do
    grep -q "$line" "$work/err" || fail "no line $line: $(cat "$work/err")"
done
says 'an unknown flag' csx.debug.inii 'accepted: precision.optimization_level and those of' \
    '' --set 'backend.csx={debug: {inii: 1}}'
says 'two levels' 'optimization level is 2 here and 1 at' '; keep one' \
    'precision: {fp16_type: bfloat16, precision_opt_level: 1}' \
    --set 'backend.cluster_config={precision_opt_level: 2}'
starts 'a level without a format' '' --set 'backend.cluster_config={precision_opt_level: 2}'
grep -q 'precision_opt_level is not used: the run computes in float32' "$work/err" ||
    fail "a level: $(cat "$work/err")"

says 'a label that is none' job_labels 'is no label; accepted: key=value' '' \
    --set 'backend.cluster_config.job_labels=[a=b=c]'
says 'another priority' job_priority 'accepted: one of p1, p2, p3' '' --job_priority p0
says 'no time' job_time_sec 'out of range' '' --job_time_sec 0
says 'a folder that is missing' mount_dirs 'is no folder of this machine; make it, or' '' \
    --mount_dirs "[$work/nowhere]"
says 'a file for a folder' python_paths 'is no folder of this machine' '' \
    --python_paths "[$work/example.yaml]"

# The level of CSConfig is that of the precision: the same step is compiled.
for place in precision backend.cluster_config; do
    starts "a level in $place" 'precision: {fp16_type: cbfloat16, loss_scaling_factor: dynamic,
    emulate_accumulation: true, tile_length: 4}' --set "$place.precision_opt_level=0"
    grep 'Weights digest' "$work/out" >"$work/digest.$place"
done
starts 'another level' 'precision: {fp16_type: cbfloat16, loss_scaling_factor: dynamic,
    emulate_accumulation: true, tile_length: 4}' --set backend.cluster_config.precision_opt_level=2
cmp -s "$work/digest.precision" "$work/digest.backend.cluster_config" || fail 'levels differ'
grep -qvF "$(cat "$work/digest.precision")" "$work/out" &&
    ! grep -qF "$(cat "$work/digest.precision")" "$work/out" || fail 'levels make no difference'

# A relative path of the data is looked for in mount_dirs, then in those of the defaults' file; a
# relative library in python_paths.
printf 'x,y\n1,0\n0,1\n1,1\n0,0\n' >"$work/data/points.csv"
mkdir -p "$work/more"
cp "$work/data/points.csv" "$work/more/others.csv"
printf 'mount_dirs: [%s, %s]\n' "$work/data" "$work/more" >"$work/defaults.yaml"
points='fit.train_dataloader={data_processor: csv, path: points.csv, label: y, batch_size: 2}'
model='model={name: fc_mnist, input_size: 1, hidden_sizes: [4], num_classes: 2}'
starts 'data in mount_dirs' 'checkpoint: {steps: 1}' --mount_dirs "[$work/more, $work/data]" \
    --set "$points" --set "$model" --set fit.val_dataloader=null
export CSE_CLUSTER_DEFAULTS="$work/defaults.yaml"
for file in points others; do
    starts "data in defaults: $file" 'checkpoint: {steps: 1}' --set "$points" --set "$model" \
        --set "fit.train_dataloader.path=$file.csv" --set fit.val_dataloader=null
done
printf 'folders: [%s]\n' "$work/data" >"$work/defaults.yaml"
says 'defaults of another form' CSE_CLUSTER_DEFAULTS 'mount_dirs: \[...\]' ''
unset CSE_CLUSTER_DEFAULTS

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

[ "$count" -ge 50 ] || fail "only $count examples"
exit "$failed"
