#!/bin/sh
# Loss scaling from the command line: a power of two changes no weight, another factor does;
# overflow at the least scale ends the run with the names of the parameters; contradictory settings
# are reported with line and column.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
config=${top_srcdir:-.}/configs/synthetic.yaml
own=$work/own.yaml

fail() {
    echo "FAIL: $1"
    failed=1
}

weights() { # settings...: the digests of the model's and the optimizer's tensors after 40 steps
    rm -rf "$work/model"
    "$csengine" start "$config" --model_dir "$work/model" --compile_dir "$work/compiled" \
        --num_steps 40 "$@" >"$work/out" 2>&1 || fail "$*: $(tail -n 5 "$work/out")"
    for prefix in model. optimizer.; do
        "$csengine" checkpoint digest "$work/model/checkpoint_40.mdl" --prefix $prefix
    done
}

plain=$(weights)
[ -n "$plain" ] || fail "no digest"
for scale in 1024 65536; do
    scaled=$(weights --set precision.loss_scaling_factor=$scale)
    [ "$scaled" = "$plain" ] || fail "scale $scale changes the weights"
done
scaled=$(weights --set precision.loss_scaling_factor=1000)
[ "$scaled" != "$plain" ] || fail "scale 1000 rounds, and changes no weight"
moving=$(weights --set precision.loss_scaling_factor=dynamic --set precision.steps_per_increase=5 \
    --set precision.initial_loss_scale=4)
[ "$moving" = "$plain" ] || fail "a scale that moves changes the weights"

# One column of 1e25: its weights' gradients have squares that no scale makes finite.
{
    echo 'a,b,label'
    for i in 0 1 2 3 4 5 6 7; do echo "$i,1e25,$((i % 2))"; done
} >"$work/large.csv"
cat >"$own" <<END
trainer:
  init:
    model_dir: $work/large
    model: {name: fc_mnist, input_size: 2, hidden_sizes: [4], num_classes: 2}
    optimizer: {SGD: {lr: 0.1}}
    loop: {num_steps: 9}
    precision: {loss_scaling_factor: dynamic, initial_loss_scale: 2, min_loss_scale: 1}
  fit:
    train_dataloader: {data_processor: csv, path: $work/large.csv, label: label, batch_size: 8,
      micro_batch_size: 4}
END
"$csengine" start "$own" >"$work/out" 2>&1
[ $? -eq 1 ] || fail "a scale at its floor: $(cat "$work/out")"
grep -q 'step 2: gradients overflow at the least loss scale, 1: those of .*fc_layers.0.weight' \
    "$work/out" || fail "no names: $(cat "$work/out")"
grep -q 'fc_layers.0.bias' "$work/out" && fail "a finite gradient is named: $(cat "$work/out")"

# refused TEXT SECTION: the section is refused with TEXT, at the place of WORD in it.
refused() { # WORD TEXT SECTION
    sed "s/^    loop:/    precision: $3\n    loop:/" "$config" >"$own"
    line=$(grep -n "^    precision:" "$own" | cut -d : -f 1)
    column=$(sed -n "${line}p" "$own" | sed "s/$1.*//" | tr -d '\n' | wc -c)
    "$csengine" compile "$own" --model_dir "$work/model" >/dev/null 2>"$work/err"
    [ $? -eq 78 ] || fail "accepted: $3"
    grep -q "own.yaml:$line:$((column + 1)): .*$2" "$work/err" || fail "$3: $(cat "$work/err")"
}
refused '0.5}' 'max_gradient_norm.*exclude each other' \
    '{max_gradient_norm: 1.0, max_gradient_value: 0.5}'
refused '-1}' 'loss_scaling_factor: "-1" is not accepted; .* a number, 0 for none, or dynamic' \
    '{loss_scaling_factor: -1}'
refused 'fp61' 'weight_grad_reduce: "fp61".*fp32, bf16, bf16sr, fp16, cb16' \
    '{weight_grad_reduce: fp61}'
refused 'kahan}' 'weight_update: "kahan".*fp32, bf16, bf16sr, bf16_kahan' '{weight_update: kahan}'
refused '0.00001' 'min_loss_scale.*out of range' \
    '{loss_scaling_factor: dynamic, min_loss_scale: 0.00001}'

# cbfloat16 without dynamic scaling trains, with one warning; with it there is none.
warning='warning: precision.fp16_type: cbfloat16 without loss_scaling_factor: dynamic; .*2^-39'
for factor in 1024 1.0 0.0 dynamic; do
    rm -rf "$work/cb16"
    "$csengine" start "$config" --model_dir "$work/cb16" --compile_dir "$work/compiled" \
        --num_steps 2 --set precision.fp16_type=cbfloat16 \
        --set precision.loss_scaling_factor=$factor >"$work/out" 2>"$work/err" ||
        fail "cbfloat16 with $factor: $(cat "$work/err")"
    expected=$([ $factor = dynamic ] && echo 0 || echo 1)
    [ "$(grep -c "$warning" "$work/err")" -eq "$expected" ] ||
        fail "cbfloat16 with $factor, warnings: $(cat "$work/err")"
done
# A factor of 0 is no scaling: the weights and the states are those of none.
[ "$(weights --set precision.loss_scaling_factor=0.0)" = "$plain" ] || fail "0 is not none"
"$csengine" checkpoint info "$work/model/checkpoint_40.mdl" 2>/dev/null | grep -q grad_scaler &&
    fail "a scaler for a factor of 0"

# log_loss_scale: null where it is dynamic, true and false as they say.
logged() { # settings...: values of loss_scale
    rm -rf "$work/logged"
    "$csengine" start "$config" --model_dir "$work/logged" --compile_dir "$work/compiled" \
        --num_steps 3 --log_steps 1 --set 'loggers=[CSVLogger]' "$@" >"$work/out" 2>&1 ||
        fail "$*: $(cat "$work/out")"
    awk -F, '$3 == "loss_scale" { print $4 }' "$work/logged/metrics.csv" | tr '\n' ' '
}
dynamic='--set precision.loss_scaling_factor=dynamic --set precision.initial_loss_scale=64'
[ "$(logged $dynamic)" = "64 64 64 " ] || fail "dynamic, null: $(logged $dynamic)"
[ -z "$(logged $dynamic --set precision.log_loss_scale=false)" ] || fail "dynamic, false"
static='--set precision.loss_scaling_factor=8'
[ -z "$(logged $static)" ] || fail "static, null"
[ "$(logged $static --set precision.log_loss_scale=true)" = "8 8 8 " ] || fail "static, true"
[ "$(logged --set precision.log_loss_scale=true)" = "1 1 1 " ] || fail "none, true"
exit "$failed"
