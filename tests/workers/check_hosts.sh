#!/bin/sh
# Runs of several hosts, which here are agents on one machine: the bits are those of one host, for
# any number of them, with validations, from a checkpoint, with 16-bit sums, when a process of any
# host is killed, when a host is lost, and when the leading one is. A host that would compute other
# bits is refused, and nothing is left of a run that is stopped.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:?}/configs/synthetic.yaml
. "${top_srcdir:?}/tests/support/runs.sh"
runs_folder

run() { # name, arguments...
    name=$1
    shift
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --set backend.cluster_config.host_launcher=local --set logging.log_steps=100 "$@" \
        >"$work/$name.out" 2>"$work/$name.err"
}

# ---- any number of hosts ----

for type in fp32 bf16 bf16sr; do
    run one.$type --weight_grad_reduce $type --num_steps 40 --set loop.eval_frequency=20
    run three.$type --weight_grad_reduce $type --num_steps 40 --set loop.eval_frequency=20 \
        --hosts a,b,c --num_csx 1
    same three.$type one.$type
done
run two --num_steps 40 --hosts a,b --set checkpoint.steps=20
same two one.fp32

# More hosts than microbatches: some have nothing to compute, and take part.
run six --num_steps 40 --hosts 'n[1-6]' --num_csx 1
same six one.fp32

# From the middle on with another number of hosts.
mkdir "$work/part"
cp "$work/two/checkpoint_20.mdl" "$work/part"
run part --max_steps 40 --hosts a,b,c --num_csx 1
same part one.fp32

# ---- losses ----

steps=4000
run undisturbed --num_steps $steps

disturb() { # name
    rm -rf "${work:?}/$1"
    "$csengine" start "$config" --model_dir "$work/$1" --compile_dir "$work/compiled" \
        --set logging.log_steps=100 --num_steps $steps --num_csx 1 --hosts a,b,c \
        --host_launcher local --set backend.cluster_config.lease_s=2 >"$work/$1.out" \
        2>"$work/$1.err" &
    process=$!
    wait_for grep -qs 'Step=500,' "$work/$1.out" || complain "$1: it did not begin"
    leader=$(child $process start)
    agent=$(child "$leader" agent)
}

for victim in agent mover replica leaders_mover leaders_replica; do
    disturb $victim
    case $victim in
        agent) killed=$agent ;;
        mover | replica) killed=$(child "$agent" role=$victim) ;;
        leaders_*) killed=$(child "$leader" "role=${victim#leaders_}") ;;
    esac
    kill -9 "$killed" || complain "$victim: nothing to kill"
    wait $process || complain "$victim: the run failed"
    same $victim undisturbed
done
grep -q 'host b is lost: .*killed by signal 9' "$work/agent.err" ||
    complain "the loss of a host is not told: $(cat "$work/agent.err")"

# The leading host: another one has all states, saves them, and leads.
disturb lead
kill -9 $process "$leader"
wait_for test -f "$work/lead/checkpoint_$steps.mdl" || complain 'nobody took the lead'
wait_for no_agents || complain 'agents are left'
"$csengine" checkpoint digest "$work/lead/checkpoint_$steps.mdl" >"$work/lead.digest"
[ "$(cat "$work/lead.digest")" = "$(digest undisturbed)" ] ||
    complain 'the weights of the run whose leader was lost differ'

# ---- who is refused ----

refused() { # name, words that must be told, arguments...
    name=$1
    words=$2
    shift 2
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --num_steps 20 --hosts 127.0.0.1,127.0.0.2 --host_launcher exec "$@" \
        >"$work/$name.out" 2>"$work/$name.err" && complain "$name: it was not refused"
    grep -q "$words" "$work/$name.err" || complain "$name: $(cat "$work/$name.err")"
}

if CSE_ISA=avx2 "$csengine" doctor 2>/dev/null | grep -q AVX2; then
    refused isa 'its instruction set is baseline, that of the leading host avx' \
        --set 'backend.cluster_config.host_launcher_options=env CSE_ISA=baseline {command}'
fi
refused ended 'host 127.0.0.2 .*cannot start' \
    --set "backend.cluster_config.host_launcher_options=sh -c 'echo cannot start >&2; exit 3'"
echo | "$csengine" agent 2>"$work/agent.alone" && complain 'an agent runs without a leader'
grep -q 'csengine start --hosts' "$work/agent.alone" || complain "$(cat "$work/agent.alone")"

# ---- stopped ----

disturb stopped
kill -INT $process
wait $process
[ $? -eq 130 ] || complain 'a run that is stopped ends with another code than 130'
[ -n "$(digest stopped)" ] || complain 'a run that is stopped leaves no checkpoint'
no_agents || complain 'a run that was stopped leaves agents'
[ -z "$(ls -A "$TMPDIR")" ] || complain "files are left: $(ls "$TMPDIR")"

[ $failed -eq 0 ] && rm -rf "$work"
exit $failed
