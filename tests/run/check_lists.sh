#!/bin/sh
# Each optimizer and each schedule of the lists, in runs with real processes: the weights are the
# same with 1 and 3 replicas, and when the run is stopped halfway under 2 and resumed under 4; and
# no two runs end with the same weights. A run has one of each list. A new name without a line below
# fails.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# Settings with which all states and terms of an optimizer are there.
optimizer_settings() {
    case $1 in
    Adadelta) echo 'rho: 0.8, weight_decay: 0.1' ;;
    Adafactor) echo 'lr: 0.01, beta1: 0.9, weight_decay: 0.1' ;;
    Adagrad) echo 'lr_decay: 0.1, initial_accumulator_value: 0.1' ;;
    Adam) echo 'amsgrad: true, weight_decay: 0.1' ;;
    AdamW) echo 'weight_decay: 0.1, eps: 1e-8, eps_added_to: corrected' ;;
    Adamax | NAdam | RAdam | Lion | Lamb) echo 'betas: [0.8, 0.9], weight_decay: 0.1' ;;
    ASGD) echo 'lambd: 0.1, t0: 3' ;;
    RMSprop) echo 'momentum: 0.9, centered: true' ;;
    Rprop) echo 'step_sizes: [1e-4, 0.1]' ;;
    SGD) echo 'momentum: 0.9, nesterov: true' ;;
    SM3) echo 'momentum: 0.9, beta: 0.9' ;;
    *) return 1 ;;
    esac
}

# Settings of a schedule that changes within the 8 steps.
schedule_settings() {
    first='initial_learning_rate: 0.02'
    decay="$first, end_learning_rate: 0.001, total_iters: 6"
    case $1 in
    ChainedScheduler)
        echo "schedulers: [{LinearLR: {$decay}}, {StepLR: {$first, step_size: 2, gamma: 0.5}}]"
        ;;
    ConstantLR) echo 'learning_rate: 0.015' ;;
    CosineAnnealingLR) echo "$first, T_max: 3" ;;
    CosineAnnealingWarmRestarts) echo "$first, T_0: 2, T_mult: 2" ;;
    CosineDecayLR | LinearLR) echo "$decay" ;;
    CyclicLR) echo 'base_lr: 0.001, max_lr: 0.02, step_size_up: 3, mode: exp_range, gamma: 0.9' ;;
    ExponentialLR) echo "$first, total_iters: 2, decay_rate: 0.5" ;;
    InverseExponentialTimeDecayLR)
        echo "$first, step_exponent: 2, total_iters: 3, decay_rate: 0.5"
        ;;
    InverseSquareRootDecayLR) echo 'scale: 0.02, warmup_steps: 2' ;;
    LambdaLR) echo 'initial_learning_rate: 0.2' ;;
    MultiStepLR) echo "$first, gamma: 0.5, milestones: [2, 5]" ;;
    MultiplicativeLR) echo "$first, coefficient: 0.8" ;;
    OneCycleLR) echo "$first, max_lr: 0.05, total_steps: 8" ;;
    PiecewiseConstantLR) echo 'learning_rates: [0.02, 0.01, 0.03], milestones: [3, 6]' ;;
    PolynomialLR) echo "$decay, power: 2" ;;
    ScalePerParamLR) echo "scheduler: {PolynomialLR: {$decay, power: 3}}" ;;
    SequentialLR)
        echo "schedulers: [{LinearLR: {$first, end_learning_rate: 0.001, total_iters: 3}}, 0.03]"
        ;;
    StepLR) echo "$first, step_size: 3, gamma: 0.5" ;;
    *) return 1 ;;
    esac
}

# train FOLDER REPLICAS STEPS OPTIMIZER SCHEDULE: STEPS more; prints the digest of the weights.
train() {
    timeout 100 "$csengine" start "$config" --no_dashboard --json --model_dir "$work/$1" \
        --compile_dir "$work/compiled" --num_csx "$2" --num_steps "$3" \
        --set fit.val_dataloader=null --set "optimizer={$4}" --set "schedulers=[{$5}$decay]" \
        2>"$work/errors" | sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p'
}

decay= # of each run: another schedule of the list, after a comma

names_of() { "$csengine" list "$1" | cut -d' ' -f1; }

# check OPTIMIZER SCHEDULE
check() {
    of_optimizer=$(optimizer_settings "$1") || fail "no settings for the optimizer $1"
    of_schedule=$(schedule_settings "$2") || fail "no settings for the schedule $2"
    set -- "$1: {$of_optimizer}" "$2: {$of_schedule}"
    one=$(train one 1 8 "$1" "$2")
    [ -n "$one" ] || fail "$1, $2: $(cat "$work/errors")"
    three=$(train three 3 8 "$1" "$2")
    [ "$three" = "$one" ] || fail "$1, $2: 3 replicas: $three, not $one $(cat "$work/errors")"
    half=$(train cut 2 4 "$1" "$2")
    [ -n "$half" ] && [ "$half" != "$one" ] || fail "$1, $2: half: $half"
    cut=$(train cut 4 4 "$1" "$2")
    [ "$cut" = "$one" ] || fail "$1, $2: 2, then 4 replicas: $cut, not $one $(cat "$work/errors")"
    rm -rf "$work/one" "$work/three" "$work/cut"
    echo "$one" >>"$work/digests"
}

# The longer list decides; SGD where there are no more optimizers. Rprop looks at no schedule after
# its first step, and stands for itself.
names_of optimizers | grep -vx Rprop >"$work/optimizers"
names_of schedules >"$work/schedules"
paste -d ' ' "$work/optimizers" "$work/schedules" | sed 's/^ /SGD /; s/ $/ LinearLR/' >"$work/pairs"
while read -r optimizer schedule; do
    check "$optimizer" "$schedule"
done <"$work/pairs"
check Rprop LinearLR
check AdamW LinearLR
decay=', {CosineDecayWD: {initial_val: 0.3, end_val: 0.0, total_iters: 6}}'
check AdamW LinearLR
decay=', {LinearMomentum: {initial_val: 0.9, end_val: 0.5, total_iters: 6}}'
check SGD LinearLR
count=$(wc -l <"$work/digests")
[ "$count" -ge 22 ] || fail "$count runs"
[ "$(sort -u "$work/digests" | wc -l)" -eq "$count" ] || fail 'two runs end with the same weights'
exit "$failed"
