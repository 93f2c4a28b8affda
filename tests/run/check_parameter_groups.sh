#!/bin/sh
# Parameter groups in a configuration: they have their effect, the same with 1 and 3 replicas and
# after a stop; each has its learning rate and its settings in the loggers; groups that change
# nothing change no weight; every key of a group counts as read, and a mistake in one is told with
# its place.
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

# train FOLDER REPLICAS MAX_STEPS OPTIMIZER SCHEDULERS [CALLBACKS]: prints the digest of the
# weights.
train() {
    timeout 100 "$csengine" start "$config" --no_dashboard --json --model_dir "$work/$1" \
        --compile_dir "$work/compiled" --num_csx "$2" --set loop.num_steps=null --max_steps "$3" \
        --set logging.log_steps=4 --set fit.val_dataloader=null --set 'loggers=[CSVLogger]' \
        --set "optimizer={$4}" --set "schedulers=$5" \
        --set "callbacks=${6:-null}" \
        2>"$work/errors" | sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p'
}

rates() { grep -o 'lr/[a-z0-9]*,[0-9.e-]*' "$work/$1/metrics.csv" | sort -u | tr '\n' ' '; }

adamw='AdamW: {lr: 0.01, weight_decay: 0.1'
groups="$adamw, params: [{params: ['*.bias'], weight_decay: 0, lr: 0.02, name: biases}]}"
logged='[{LogOptimizerParamGroup: {keys: [lr, weight_decay, betas]}}]'
one=$(train one 1 8 "$groups" null "$logged")
[ -n "$one" ] || fail "no digest: $(cat "$work/errors")"
! grep -q 'not used' "$work/errors" || fail "one: $(cat "$work/errors")"
rates=$(rates one)
case $rates in
'lr/1,0.01'*' lr/biases,0.02'*) ;;
*) fail "the rates are $rates" ;;
esac
decays=$(grep -o '[0-9]*,[0-9.]*,[wb]e[a-z_.0-9]*/.*' "$work/one/metrics.csv" |
    sed -n 's/^8,[0-9.]*,//p' | sort | tr '\n' ' ')
case $decays in
'betas.0/1,0.9'*'betas.0/biases,0.9'*'weight_decay/1,0.1'*'weight_decay/biases,0 ') ;;
*) fail "the groups have $decays" ;;
esac
three=$(train three 3 8 "$groups" null)
[ "$one" = "$three" ] || fail "1 replica: $one, 3: $three"
train halves 2 4 "$groups" null >"$work/half"
halves=$(train halves 1 8 "$groups" null)
[ "$one" = "$halves" ] || fail "at once: $one, with a stop: $halves"

plain=$(train plain 1 8 "$adamw}" null)
[ "$one" != "$plain" ] || fail "groups have no effect"
same=$(train same 1 8 "$adamw, params: [{params: ['*.weight', '*.bias']}]}" null)
[ -n "$plain" ] && [ "$plain" = "$same" ] || fail "without groups: $plain, with one of all: $same"

# Schedules of their own, by tags.
tagged="SGD: {momentum: 0.9,
    params: [{params: '*.bias', tags: [small], adjust_learning_rate: 0.5}]}"
schedules='[{LinearLR: {initial_learning_rate: 0.1, end_learning_rate: 0.01, total_iters: 8}},
    {ScalePerParamLR: {scheduler: {ConstantLR: {learning_rate: 0.25}}, param_group_tags: [small]}}]'
first=$(train tagged 1 8 "$tagged" "$schedules")
[ -n "$first" ] || fail "no digest: $(cat "$work/errors")"
! grep -q 'not used' "$work/errors" || fail "tagged: $(cat "$work/errors")"
case $(rates tagged) in
'lr/0,0.125 '*'lr/1,0.0'*) ;;
*) fail "the rates are $(rates tagged)" ;;
esac
second=$(train tagged3 3 8 "$tagged" "$schedules")
[ "$first" = "$second" ] || fail "tagged, 1 replica: $first, 3: $second"

# refused WORDS OPTIMIZER SCHEDULERS
refused() {
    train refused 1 8 "$2" "$3" >"$work/out"
    grep -q "$1" "$work/errors" && [ -z "$(cat "$work/out")" ] ||
        fail "$2, $3: expected '$1', not: $(cat "$work/errors" "$work/out")"
}
refused 'optimizer:1:[0-9]*.*matches no parameter' \
    "SGD: {lr: 1, params: [{params: ['*.bia']}]}" null
refused 'did you mean .momentum' "SGD: {lr: 1, params: [{params: ['*'], momentun: 0.5}]}" null
refused "no parameter group .* has the tag 'large'" "$tagged" \
    '[{ConstantLR: {learning_rate: 0.25, param_group_tags: [large]}}]'

[ $failed = 0 ] && echo "parameter groups: 7 runs, 3 refusals"
exit $failed
