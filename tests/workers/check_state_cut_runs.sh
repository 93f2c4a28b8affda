#!/bin/sh
# Optimizer states that are cut over hosts, which here are agents on one machine: the digests of one
# host, for any number of hosts and copies, optimizers and formats; from a checkpoint with another
# number of hosts; when a process or a host dies, with the part on one host and on two; and what
# cannot work is refused by name.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:?}/configs/gpt2_tiny.yaml
. "${top_srcdir:?}/tests/support/runs.sh"
runs_folder

run() { # name, options...
    name=$1
    shift
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --set backend.cluster_config.host_launcher=local --set logging.log_steps=1 \
        --set model.num_layers=2 --num_csx 1 "$@" >"$work/$name.out" 2>"$work/$name.err"
}

# ---- any number of hosts ----

cut='--set states.shard=optimizer'
# shellcheck disable=SC2086 # options
equal() { # name, hosts and further options of the cut run, options of both...
    case=$1 hosts=$2 further=$3
    shift 3
    [ -f "$work/one.$case.out" ] || run "one.$case" --set loop.num_steps=4 "$@"
    run "cut.$case.$hosts" --set loop.num_steps=4 --hosts "$hosts" $cut $further "$@"
    same "cut.$case.$hosts" "one.$case"
}
equal adam a,b '' --set checkpoint.steps=2
equal adam a,b,c '' --set checkpoint.steps=2
equal adam 'n[1-4]' '--set states.shard_copies=2' --set checkpoint.steps=2
equal momentum a,b,c '' --set 'optimizer={SGD: {momentum: 0.9}}' \
    --set precision.max_gradient_norm=null --weight_grad_reduce bf16
equal scaled a,b '' --set precision.fp16_type=float16 --set precision.graphamp.preset=mp2 \
    --set precision.loss_scaling_factor=dynamic --set precision.initial_loss_scale=4294967296 \
    --set precision.max_loss_scale=4294967296
# Executions that follow each other: validations between steps, and last batches of another size.
equal validated a,b,c '--set states.shard_copies=2' --set loop.eval_frequency=2 \
    --set 'fit.val_dataloader={data_processor: text_bytes, path: /usr/share/common-licenses/GPL-3,
        sequence_length: 64, batch_size: 12, micro_batch_size: 3}'
equal last_batch a,b,c '' --set train_dataloader.drop_last=false --set loop.num_steps=48
# The sums of gradients, too: with a norm of all of them, and without one.
gradients='--set states.shard=gradients'
equal adam d,e "$gradients" --set checkpoint.steps=2
equal adam d,e,f "$gradients" --set checkpoint.steps=2
equal momentum d,e "$gradients" --set 'optimizer={SGD: {momentum: 0.9}}' \
    --set precision.max_gradient_norm=null --weight_grad_reduce bf16
equal momentum d,e,f "$gradients --set states.shard_copies=2" \
    --set 'optimizer={SGD: {momentum: 0.9}}' --set precision.max_gradient_norm=null \
    --weight_grad_reduce bf16
# One host has all.
run alone --num_steps 4 $cut --set checkpoint.steps=2
same alone one.adam

# A checkpoint of three hosts goes on with two, and with one that has all.
for hosts in a,b a; do
    mkdir "$work/resumed.$hosts"
    cp "$work/cut.adam.a,b,c/checkpoint_2.mdl" "$work/resumed.$hosts"
    # shellcheck disable=SC2086
    run "resumed.$hosts" --max_steps 4 --set checkpoint.steps=2 \
        $([ $hosts = a ] || echo --hosts $hosts $cut)
    same "resumed.$hosts" one.adam
done

# ---- what a plan says ----

# shellcheck disable=SC2086 # options
"$csengine" plan "$config" --memory $cut >"$work/plan" 2>&1 ||
    complain "$(cat "$work/plan")"
# Without a norm, a host of four has its own sum and a quarter of those of three others.
# shellcheck disable=SC2086 # options
"$csengine" plan "$config" --memory $gradients --set precision.max_gradient_norm=null \
    --set backend.cluster_config.num_csx=1 >"$work/plan_of_sums" 2>&1 ||
    complain "$(cat "$work/plan_of_sums")"
awk '/^of the sums of gradients/ {
    for (i = 1; i < NF; i++) if ($(i + 1) == "MB" && $(i + 2) == "on") all = $i
    for (i = 1; i < NF; i++)
        if ($(i + 1) == "MB" && $(i + 2) == "of" && $(i + 3) == "4,") four = $i
    found = four / all > 1.7 && four / all < 1.8
} END { exit !found }' "$work/plan_of_sums" || complain "the plan says: $(cat "$work/plan_of_sums")"
# Of weights and two moments, each a third: with three hosts 3 + 2 * 3 / 3 of 9.
awk '/states.shard: of the states/ {
    for (i = 1; i < NF; i++) if ($(i + 1) == "MB" && $(i + 2) == "on") all = $i
    for (i = 1; i < NF; i++)
        if ($(i + 1) == "MB" && $(i + 2) == "of" && $(i + 3) == "3,") three = $i
    found = three / all > 0.54 && three / all < 0.57
} END { exit !found }' "$work/plan" || complain "the plan says: $(cat "$work/plan")"

# ---- what is refused ----

refused() { # words that must be told, options...
    words=$1
    shift
    run refused --num_steps 2 --hosts a,b "$@" && complain "it was not refused: $*"
    grep -q "$words" "$work/refused.err" || complain "$*: $(cat "$work/refused.err")"
    rm -rf "$work/refused"
}
refused 'shard: "weights" is not accepted here; accepted: one of none, optimizer, gradients' \
    --set states.shard=weights
refused 'shard_copies has no effect without shard' --set states.shard_copies=2
refused 'shard_copies: "3" is out of range' $cut --set states.shard_copies=3
refused 'shard: optimizer and keep_in: file do not go together' $cut --set states.keep_in=file \
    --set states.directory="$work" --set states.memory=1GiB
refused 'shard: gradients and keep_in: file do not go together' $gradients \
    --set states.keep_in=file --set states.directory="$work" --set states.memory=1GiB
refused 'with tensor statistics' $cut --set numerics.every=1
refused 'averages of the weights' $cut --set ema.decay=0.9

# ---- losses ----

run undisturbed --num_steps 60

disturb() { # name, options...
    name=$1
    shift
    # shellcheck disable=SC2086
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --set logging.log_steps=1 --set model.num_layers=2 --num_csx 1 --num_steps 60 \
        --hosts a,b,c --host_launcher local --set backend.cluster_config.lease_s=2 \
        --set backend.cluster_config.host_return_s=0 $cut "$@" >"$work/$name.out" \
        2>"$work/$name.err" &
    process=$!
    wait_for grep -qs 'Step=25,' "$work/$name.out" || complain "$name: it did not begin"
    leader=$(child $process start)
    agent=$(child "$leader" agent)
}
ends_as_undisturbed() { # name
    wait $process || complain "$1: the run failed: $(cat "$work/$1.err")"
    same "$1" undisturbed
}

for victim in mover replica leaders_mover; do
    disturb $victim
    case $victim in
        mover | replica) killed=$(child "$agent" role=$victim) ;;
        leaders_*) killed=$(child "$leader" "role=${victim#leaders_}") ;;
    esac
    kill -9 "$killed" || complain "$victim: nothing to kill"
    ends_as_undisturbed $victim
done

# Each part on two hosts: no step is done again.
disturb two --set states.shard_copies=2
kill -9 "$agent"
ends_as_undisturbed two
grep -q 'loaded checkpoint .*checkpoint_\([3-9].\|2[5-9]\)' "$work/two.out" ||
    complain "the parts were not cut anew: $(grep loaded "$work/two.out")"
[ "$(grep -c 'Step=26,' "$work/two.out")" -eq 1 ] || complain 'a step was done again'

# Of sums of gradients, the others have no more than their parts: what is missing is made again.
disturb two_gradients $gradients --set states.shard_copies=2
kill -9 "$agent"
ends_as_undisturbed two_gradients
[ "$(grep -c 'Step=26,' "$work/two_gradients.out")" -eq 1 ] || complain 'a step was done again'

run undisturbed_parts --num_steps 60 --set precision.max_gradient_norm=null
disturb parts $gradients --set states.shard_copies=2 --set precision.max_gradient_norm=null
kill -9 "$agent"
wait $process || complain "parts: the run failed: $(cat "$work/parts.err")"
same parts undisturbed_parts

disturb lost_gradients $gradients --set checkpoint.steps=20
kill -9 "$agent"
ends_as_undisturbed lost_gradients
grep -q 'loaded checkpoint .*checkpoint_20' "$work/lost_gradients.out" ||
    complain "it did not go on from step 20: $(cat "$work/lost_gradients.out")"

# On one: from the last checkpoint.
disturb lost --set checkpoint.steps=20
kill -9 "$agent"
ends_as_undisturbed lost
grep -q 'goes on from its last checkpoint' "$work/lost.err" ||
    complain "the restart is not told: $(cat "$work/lost.err")"
grep -q 'loaded checkpoint .*checkpoint_20' "$work/lost.out" ||
    complain "it did not go on from step 20: $(cat "$work/lost.out")"

# The leading one: another host leads, from the last checkpoint.
disturb lead --set checkpoint.steps=20
kill -9 $process "$leader"
wait_for test -f "$work/lead/checkpoint_60.mdl" || complain 'nobody took the lead'
wait_for no_agents || complain 'agents are left'
[ "$("$csengine" checkpoint digest "$work/lead/checkpoint_60.mdl")" = "$(digest undisturbed)" ] ||
    complain 'the weights of the run whose leader was lost differ'

[ $failed -eq 0 ] && rm -rf "$work"
exit $failed
