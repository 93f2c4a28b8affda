#!/bin/sh
# The dashboard of `csengine start` exists only while its run does: starts that fail, runs that are
# killed at any moment, and output that is read to its end.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=$(cd "${top_srcdir:-.}" && pwd)/configs/synthetic.yaml
work=$(mktemp -d)
trap 'kill -9 $(ours) 2>/dev/null; rm -rf "$work"' EXIT
failures=0
unset CSE_DASHBOARD CSE_SERVER CSE_TOKEN_FILE
mkdir "$work/run"
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# Every process that was started for this test has its folder among its words.
ours() { pgrep -f "$work/" | grep -vx $$; }
servers() { pgrep -f "serve --run $work/"; }

# until_true WHAT COMMAND...: fails the test when it does not become true in time.
until_true() {
    what=$1
    shift
    for i in $(seq 600); do
        "$@" && return 0
        sleep 0.05
    done
    fail "$what: $(cat "$work/out" 2>/dev/null; pgrep -fa "$work/")"
    return 1
}
none_is_left() { [ -z "$(ours)" ]; }
has_server() { [ -n "$(servers)" ]; }

# The library is missing: 20 starts that fail fast. The reader of their output sees its end.
sed 's/model: .*/model: {name: m, library: .\/nowhere.so}/' "$source" >"$work/fails.yaml"
for i in $(seq 20); do
    timeout 60 sh -c '"$0" start "$1" --model_dir "$2" 2>&1 | cat' "$csengine" "$work/fails.yaml" \
        "$work/fails$i" >"$work/out" || fail "failing start $i: the output does not end"
    [ "$(grep -c 'error: ' "$work/out")" = 1 ] && grep -q 'nowhere.so' "$work/out" ||
        fail "failing start $i: not one error: $(cat "$work/out")"
    grep -q 'Dashboard' "$work/out" && fail "failing start $i has a dashboard"
done
until_true "failing starts leave processes" none_is_left

# Data are looked at before, too.
sed 's/data_processor: synthetic/data_processor: csv/; s/features: .*/path: nowhere.csv/
    /classes:\|samples:/d' "$source" >"$work/data.yaml"
"$csengine" start "$work/data.yaml" --model_dir "$work/data" >"$work/out" 2>&1 &&
    fail "there are no data, but: $(cat "$work/out")"
grep -q 'Dashboard' "$work/out" && fail "no data, but a dashboard"

# A good run: one address, its log in the run's folder, nothing behind it.
timeout 100 sh -c '"$0" start "$1" --model_dir "$2" 2>&1 | cat' "$csengine" "$source" "$work/good" \
    >"$work/out" || fail "a good start: $(cat "$work/out")"
page='^Dashboard: http://127.0.0.1:[0-9]*/?token=[A-Za-z0-9_-]\{43\}$'
[ "$(grep -c "$page" "$work/out")" = 1 ] ||
    fail "not one address: $(cat "$work/out")"
grep -q 'error\|warning' "$work/out" && fail "a good start: $(cat "$work/out")"
[ -f "$work/good/logs/dashboard.log" ] || fail "the dashboard has no log"
[ -s "$work/good/logs/dashboard.log" ] && fail "its log: $(cat "$work/good/logs/dashboard.log")"
until_true "a good run leaves processes" none_is_left

# long NAME: a run without end in the background; $run is its supervisor.
long() {
    "$csengine" start "$source" --model_dir "$work/$1" --max_steps 2000000000 --log_steps 100000 \
        --compile_dir "$work/compiled" >"$work/$1.out" 2>&1 &
    run=$!
}

# The server has three streams, none of which is its parent's.
long streams
until_true 'a long run gets no server' has_server
server=$(servers)
until_true 'the server prints no address' grep -q '^Dashboard: http' "$work/streams.out"
for link in /proc/"$server"/fd/*; do
    case $(readlink "$link") in
    "$work/streams.out") fail "the server holds its parent's output: $link" ;;
    esac
done
[ "$(readlink /proc/"$server"/fd/2)" = "$work/streams/logs/dashboard.log" ] ||
    fail "its errors go to $(readlink /proc/"$server"/fd/2)"

# A port that is taken: known before anything is started.
taken=$(sed -n 's/^Dashboard: http:..\(127.0.0.1:[0-9]*\).*/\1/p' "$work/streams.out")
timeout 100 "$csengine" start "$source" --model_dir "$work/taken" --listen "$taken" \
    >"$work/out" 2>&1
[ $? = 69 ] && [ "$(grep -c "error: .*$taken" "$work/out")" = 1 ] ||
    fail "a taken port: $(cat "$work/out")"
[ -d "$work/taken" ] && fail 'a taken port: the run has begun'
kill -INT "$run"
wait "$run"
until_true "a stopped run leaves processes" none_is_left

# Killed before, while and after the server starts: supervisor and coordinator, or one of them.
killed_servers=0
for moment in 0 0.02 0.05 0.1 0.15 0.2 0.3 0.4 0.6 0.8 server server; do
    for which in both supervisor coordinator; do
        name=killed-$moment-$which
        rm -rf "$work/$name"
        : >"$work/$name.out" # it may be killed before it has opened that
        long "$name"
        if [ "$moment" = server ]; then
            until_true "$name: no server" has_server && killed_servers=$((killed_servers + 1))
        else
            sleep "$moment"
        fi
        coordinator=$(pgrep -P "$run" | head -n 1)
        case $which in
        both) kill -9 "$run" $coordinator ;;
        supervisor) kill -9 "$run" ;;
        coordinator) # the supervisor starts another one, and then ends that
            kill -9 ${coordinator:-$run}
            sleep 0.2
            kill -TERM "$run"
            ;;
        esac 2>/dev/null
        wait "$run" 2>/dev/null
        until_true "$name leaves processes" none_is_left
        [ "$(grep -c 'error: ' "$work/$name.out")" -le 1 ] ||
            fail "$name: more than one error: $(cat "$work/$name.out")"
    done
done
[ "$killed_servers" = 6 ] || fail "$killed_servers runs were killed with a server, not 6"

# What serve follows: nobody, somebody who is gone, and its input.
sh -c 'exit 0' &
gone=$!
wait "$gone"
timeout 20 "$csengine" serve --run "$work/good" --follow "$gone" >"$work/out" 2>&1 ||
    fail "following a process that is gone: $?: $(cat "$work/out")"
timeout 20 "$csengine" serve --run "$work/nowhere" --follow "$gone" >>"$work/out" 2>&1 ||
    fail "the same without a run: $?: $(cat "$work/out")"
timeout 20 "$csengine" serve --run "$work/good" --follow - </dev/null >>"$work/out" 2>&1 ||
    fail "following an input that has ended: $?: $(cat "$work/out")"
[ -s "$work/out" ] && fail "following what is gone says: $(cat "$work/out")"
for word in 0 x -5 12x ''; do
    timeout 20 "$csengine" serve --run "$work/good" --follow "$word" >"$work/out" 2>&1
    [ $? = 64 ] || fail "--follow '$word': $(cat "$work/out")"
done
sleep 1000 &
followed=$!
"$csengine" serve --run "$work/good" --follow "$followed" >"$work/out" 2>&1 &
server=$!
until_true 'following a process' grep -q '^Dashboard' "$work/out"
kill "$followed"
wait "$server" || fail "the end of what is followed: $?"

[ "$failures" = 0 ] || exit 1
echo "all as expected"
