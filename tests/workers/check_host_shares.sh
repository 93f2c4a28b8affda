#!/bin/sh
# The cut of microbatches over hosts, which here are agents on one machine: the weights are the same
# with equal shares, with the planned cut, and when a host gets slow in the middle of a run, whose
# microbatches go to the others then; the log tells that.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:?}/configs/synthetic.yaml
. "${top_srcdir:?}/tests/support/runs.sh"
runs_folder
steps=${CSE_SHARE_STEPS:-300}

run() { # name, arguments...
    name=$1
    shift
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --set logging.log_steps=20 --num_steps "$steps" --num_csx 1 \
        --set "model.hidden_sizes=[256,256]" --set train_dataloader.batch_size=256 \
        --set train_dataloader.micro_batch_size=8 "$@" \
        >"$work/$name.out" 2>"$work/$name.err"
}

several() { # name, arguments...
    name=$1
    shift
    run "$name" --hosts a,b,c --host_launcher local "$@"
}

run one
several even --set backend.cluster_config.host_shares=even
same even one
grep -q 'microbatches of a step' "$work/even.err" && complain 'equal shares are changed'
several measured
same measured one

# A host whose replica stands still most of the time, until that is told: how long that takes
# depends on what else the machine does, so the run has no end of its own, and is compared where it
# stopped.
several slowed --num_steps 1000000 &
process=$!
wait_for grep -qs 'Step=40,' "$work/slowed.out" || complain 'slowed: it did not begin'
leader=$(child "$(child $process start)" start)
[ -n "$leader" ] || leader=$(child $process start)
agent=$(child "$leader" agent)
slow=$(child "$agent" role=replica)
[ -n "$slow" ] || complain 'no replica of another host is found'
tries=0
until grep -qs 'host b .*slow' "$work/slowed.err" || ! kill -STOP "$slow" || [ $tries -gt 1200 ]; do
    tries=$((tries + 1))
    sleep 0.08
    kill -CONT "$slow"
    sleep 0.02
done
kill -CONT "$slow"
kill -INT "$(child $process start)" 2>/dev/null || kill -INT $process
wait $process
saved=$(ls "$work/slowed" | sed -n 's/^checkpoint_\([0-9]*\).mdl$/\1/p' | sort -n | tail -n 1)
run alone --num_steps "${saved:?slowed: no checkpoint}"
same slowed alone
grep -q 'microbatches of a step, from step [0-9]* on:.* host b [0-9]* -> [0-9]* (slow: ' \
    "$work/slowed.err" || complain "a slow host is not told: $(cat "$work/slowed.err")"
grep -h 'microbatches of a step' "$work/measured.err" "$work/slowed.err"

[ $failed -eq 0 ] && rm -rf "$work"
exit $failed
