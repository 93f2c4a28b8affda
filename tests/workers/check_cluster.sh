#!/bin/sh
# `csengine start` as a cluster of processes: the same digest and losses for any number of
# processes, with kills and freezes, and no processes or files left behind however the run ends.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:?}/configs/synthetic.yaml
work=$(mktemp -d)
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 "$XDG_RUNTIME_DIR"
failed=0

complain() {
    echo "$*"
    failed=1
}

# Processes that belong to this test: workers have the path of their socket in their command line,
# coordinators and supervisors that of their model_dir. The pattern does not match its own command
# line.
pattern=${work%?}[${work#"${work%?}"}]
members() { grep -las -- "$pattern" /proc/[0-9]*/cmdline | tr -cd '0-9\n'; }
workers() {
    for number in $(members); do
        grep -qas -- '--role=' "/proc/$number/cmdline" && echo "$number"
    done
}

wait_for() { # condition...: up to 20 s
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 400 ] || return 1
        sleep 0.05
    done
}

no_members() { [ -z "$(members)" ]; }
has_lines() { [ -s "$1" ]; }
has_workers() { [ -n "$(workers)" ]; }

nothing_left() { # name
    wait_for no_members || complain "$1: processes are left: $(members)"
    [ -z "$(ls "$XDG_RUNTIME_DIR")" ] || complain "$1: files are left: $(ls "$XDG_RUNTIME_DIR")"
}

digest_of() { sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p' "$1"; }
losses_of() {
    sed -n 's/.*"event":"step","step":\([0-9]*\).*"loss_bits":"\([0-9a-f]*\)".*/\1 \2/p' "$1"
}

start() { # name, arguments...
    launch "$@"
    wait "$process"
}

launch() { # as start, but goes on; the process's number is in $process
    name=$1
    shift
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --json "$@" >"$work/$name.out" 2>"$work/$name.err" &
    process=$!
}

# The number of processes is not part of the result.
for reduce in fp32 bf16; do
    start "$reduce" --weight-grad-reduce $reduce --num_csx 1 --num_workers_per_csx 1 ||
        complain "$reduce: exit code $?: $(cat "$work/$reduce.err")"
    [ -n "$(digest_of "$work/$reduce.out")" ] || complain "$reduce: no digest"
    [ -n "$(losses_of "$work/$reduce.out")" ] || complain "$reduce: no losses"
    for csx in 1 2 3 4; do
        for count in 1 2 3; do
            [ "$reduce" = bf16 ] && [ "$count" -ne 1 ] && continue
            run=$reduce-$csx-$count
            start "$run" --weight-grad-reduce $reduce --num_csx $csx --num_workers_per_csx $count ||
                complain "$run: exit code $?: $(cat "$work/$run.err")"
            [ "$(digest_of "$work/$run.out")" = "$(digest_of "$work/$reduce.out")" ] ||
                complain "$run: another digest"
            [ "$(losses_of "$work/$run.out")" = "$(losses_of "$work/$reduce.out")" ] ||
                complain "$run: other losses"
        done
    done
done
start servers --max_wgt_servers 2 || complain "servers: exit code $?"
[ "$(digest_of "$work/servers.out")" = "$(digest_of "$work/fp32.out")" ] ||
    complain "servers: another digest"
[ "$(digest_of "$work/bf16.out")" != "$(digest_of "$work/fp32.out")" ] ||
    complain "bf16: the payload makes no difference"
nothing_left "whole runs"

# Interrupted once: a checkpoint, and the next start ends with the bits of an
# uninterrupted run.
long="--num_steps 1000000 --max_steps 6000"
start whole $long || complain "whole: exit code $?"
launch interrupted $long
wait_for has_lines "$work/interrupted.out" || complain "interrupted: does not begin"
kill -INT $process
wait $process
code=$?
[ $code -eq 130 ] || complain "interrupted: exit code $code"
[ -n "$(find "$work/interrupted" -maxdepth 1 -name '*.mdl')" ] ||
    complain "interrupted: no checkpoint"
nothing_left "interrupted"
start interrupted $long || complain "gone on: exit code $?"
[ "$(digest_of "$work/interrupted.out")" = "$(digest_of "$work/whole.out")" ] ||
    complain "gone on: another digest"

# A worker that is killed in the middle changes no bit.
launch struck $long
wait_for has_lines "$work/struck.out" || complain "struck: does not begin"
for number in $(workers | head -n 2); do kill -KILL "$number" 2>/dev/null; done
wait $process || complain "struck: exit code $?: $(cat "$work/struck.err")"
[ "$(digest_of "$work/struck.out")" = "$(digest_of "$work/whole.out")" ] ||
    complain "struck: another digest"
nothing_left "struck"

# Ended from outside: TERM, HUP and KILL to what the shell started.
for way in TERM HUP KILL; do
    launch "$way" --num_steps 1000000
    wait_for has_lines "$work/$way.out" || complain "$way: does not begin"
    wait_for has_workers || complain "$way: has no workers"
    kill -$way $process
    wait $process
    code=$?
    [ $code -ne 0 ] || complain "$way: exit code 0"
    nothing_left "$way"
done

rm -rf "$work"
exit $failed
