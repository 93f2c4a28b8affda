#!/bin/sh
# Hosts join and leave while a run goes on: from one to three to two hosts, and a host that was lost
# and comes back, with the weights of a run on one host; and what is refused.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
source=${top_srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TMPDIR=$work/tmp
XDG_CACHE_HOME=$work/cache
export TMPDIR XDG_CACHE_HOME
mkdir "$TMPDIR"
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

start() { # name, flags...
    name=$1
    shift
    timeout 200 "$csengine" start "$source/configs/gpt2_tiny.yaml" --model_dir "$work/$name" \
        --compile_dir "$work/compiled" --no_dashboard --num_csx 1 --max_steps 160 \
        --set "logging.log_steps=10" --set "backend.cluster_config.host_launcher=local" "$@" \
        >"$work/$name.out" 2>&1
}
digest_of() { sed -n 's/^Weights digest: //p' "$work/$1.out"; }

# Waits until the run logs a step from this one on, of the attempt of this number.
wait_step() { # name, step, number of checkpoints that were loaded
    for _ in $(seq 1 600); do
        awk -v wanted="$2" -v loaded="$3" '
            /^loaded checkpoint/ { count++ }
            match($0, /Step=[0-9]+/) { step = substr($0, RSTART + 5, RLENGTH - 5) + 0 }
            END { exit !(count >= loaded && step >= wanted) }' "$work/$1.out" 2>/dev/null && return
        sleep 0.1
    done
    fail "$1 does not reach step $2 after $3 changes: $(tail -n 3 "$work/$1.out")"
}
refused() { # part of the message, arguments of scale...
    part=$1
    shift
    "$csengine" scale "$work/changed" "$@" >"$work/refused" 2>&1 && fail "$*: is accepted"
    grep -q -e "$part" "$work/refused" || fail "$*: $(cat "$work/refused")"
}

start one
[ -n "$(digest_of one)" ] || { cat "$work/one.out"; exit 1; }

start changed &
run=$!
wait_step changed 10 0
refused 'no list of hosts yet' --hosts +b
refused 'give either' --hosts a,b --num_csx 1
scale() {
    "$csengine" scale "$work/changed" "$@" >"$work/out" 2>&1 || fail "$*: $(cat "$work/out")"
}
scale --hosts a,b,c
wait_step changed 30 1
refused 'leads the run' --hosts -a
refused 'leads the run' --hosts b,a
refused 'is no host of the run' --hosts -d
scale --hosts -b
wait $run || fail "the run whose hosts changed: $(tail -n 5 "$work/changed.out")"
[ "$(digest_of changed)" = "$(digest_of one)" ] || fail "other weights with 1, 3 and 2 hosts"
[ "$(grep -c '^loaded checkpoint' "$work/changed.out")" -eq 2 ] || fail "two changes were asked for"
grep -q "^Processed 1920 training" "$work/changed.out" ||
    fail "samples: $(grep Processed "$work/changed.out")"

# A host is lost, and is there again; the quarantine of the second loss is ended by hand.
start lost --hosts a,b,c --set backend.cluster_config.host_return_s=1 &
run=$!
wait_step lost 10 0
# The agent that was started last, of this test's run: others may run beside it.
newest_agent() {
    for pid in $(ps -eo pid=,args= --sort=start_time |
        awk -v p="$csengine" '$2 == p && $3 == "agent" { print $1 }'); do
        grep -qsF "$work" "/proc/$pid/environ" && echo "$pid"
    done | tail -n 1
}
kill -9 "$(newest_agent)" || fail "no agent to kill"
wait_step lost 40 1
grep -q 'host c is in quarantine for 1 s' "$work/lost.out" || fail "the first quarantine"
kill -9 "$(newest_agent)" || fail "no agent to kill the second time"
wait $run || fail "the run that lost a host: $(tail -n 5 "$work/lost.out")"
[ "$(digest_of lost)" = "$(digest_of one)" ] || fail "other weights after a host was lost"
grep -q 'host c is in quarantine for 2 s' "$work/lost.out" ||
    fail "the second quarantine: $(grep quarantine "$work/lost.out")"
exit $failed
