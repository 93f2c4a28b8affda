#!/bin/sh
# What a run computes in follows one rule, however its settings are given, and is told at the start
# of the run with the setting that decides and its place; levels stand where the documents put them.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CSE_DASHBOARD=0
failed=0

fail() {
    echo "FAIL: $1"
    failed=1
}

# configuration BACKEND SECTION: two steps; SECTION is in trainer.init, from line 6 on.
configuration() {
    cat <<YAML
trainer:
  init:
    backend: $1
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [8], num_classes: 4}
    optimizer: {SGD: {lr: 0.1}}
$(printf '%s\n' "$2" | sed 's/^/    /')
    loop: {num_steps: 1}
    seed: 1
  fit:
    train_dataloader: {data_processor: synthetic, features: [16], classes: 4, samples: 8,
      batch_size: 8}
YAML
}

# computes FORMAT REASON BACKEND SECTION [flags]
computes() {
    format=$1 reason=$2
    configuration "$3" "$4" >"$work/run.yaml"
    what="$3, $4, $(shift 4; echo "$*")"
    shift 4
    rm -rf "$work/model"
    "$csengine" start "$work/run.yaml" --model_dir "$work/model" --compile_dir "$work/compiled" \
        --no_dashboard "$@" >"$work/out" 2>"$work/err" || fail "$what: $(cat "$work/err")"
    line=$(grep 'computes in' "$work/out")
    case $line in
    *"computes in $format, because $reason"*) ;;
    *) fail "$what: $line" ;;
    esac
    # The line is in the record of the run, where the pages show it.
    "$csengine" logs "$work/model" 2>/dev/null | grep -q "computes in $format, because" ||
        grep -aq "computes in $format, because" "$work/model/run.db" "$work/model/run.db-wal" ||
        fail "$what: the record does not have the line"
}

none='neither precision.fp16_type nor precision.enabled is given (default)'
for backend in '{}' '{backend_type: CSX}' '{backend_type: CPU}'; do
    computes float32 "$none" "$backend" ''
    computes float32 "$none" "$backend" 'precision: {weight_grad_reduce: bf16}'
done
csx='{backend_type: CSX}'
computes float32 "$none" "$csx" 'precision: {max_gradient_norm: 1.0, loss_scaling_factor: 8.0}'
computes float32 "$none" "$csx" '' --weight_grad_reduce bf16
computes float32 "$none" "$csx" '' --weight-update bf16
computes float32 "precision.enabled is false ($work/run.yaml:6:26)" "$csx" \
    'precision: {enabled: false, fp16_type: bfloat16}'
computes bfloat16 "precision.enabled is true ($work/run.yaml:6:26)" '{}' \
    'precision: {enabled: true}'
computes float16 "precision.fp16_type is float16 ($work/run.yaml:7:18)" '{}' 'precision:
  fp16_type: float16'
computes bfloat16 'precision.fp16_type is bfloat16 (--set precision.fp16_type)' '{}' '' \
    --set precision.fp16_type=bfloat16
computes float32 'precision.graphamp.preset is mp0, which rounds nothing to bfloat16' '{}' \
    'precision: {fp16_type: bfloat16}' --preset mp0

# refused WHY BACKEND SECTION [flags]
refused() {
    why=$1
    configuration "$2" "$3" >"$work/run.yaml"
    what="$2, $3"
    shift 3
    "$csengine" start "$work/run.yaml" --model_dir "$work/model" --validate_only "$@" \
        >"$work/out" 2>"$work/err"
    [ $? -eq 78 ] || fail "$what is accepted"
    grep -q "$why" "$work/err" || fail "$what: $(cat "$work/err")"
}

# Levels are where the documents put them: in precision, in the cluster's settings and the flags.
low='precision: {fp16_type: bfloat16}'
for level in 3 -1 high true 1.5; do
    refused 'precision_opt_level.*accepted.*0 to 2\|precision_opt_level.*from 0 to 2' '{}' \
        "precision: {fp16_type: bfloat16, precision_opt_level: $level}"
    refused 'precision_opt_level.*from 0 to 2' \
        "{cluster_config: {precision_opt_level: $level}}" "$low"
done
refused 'precision_opt_level.*trainer.init.precision' '{}' 'precision_opt_level: 1'
refused 'precision_opt_level.*trainer.init.precision' '{precision_opt_level: 1}' ''
refused 'precision_opt_level has no effect without fp16_type' "$csx" \
    'precision: {precision_opt_level: 1}'
refused 'the precision optimization level is 0 here and 1 at' \
    '{cluster_config: {precision_opt_level: 0}}' \
    'precision: {fp16_type: bfloat16, precision_opt_level: 1}'
refused 'unknown flag .*csx.precision.level.*accepted: precision.optimization_level' \
    '{backend_type: CSX, csx.precision.level: 1}' "$low"
for level in 0 2; do
    computes bfloat16 'precision.fp16_type is bfloat16' \
        "{backend_type: CSX, csx.precision.optimization_level: $level}" "$low"
done

[ "$failed" -eq 0 ] && echo "what a run computes in: ok"
exit "$failed"
