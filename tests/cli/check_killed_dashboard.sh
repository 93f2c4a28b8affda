#!/bin/sh
# A dashboard that was killed leaves its note, its socket and its token: commands say so and send
# the token nowhere, not even to a program that listens at the address by now; the run removes them
# at its end, the next start at its beginning, and the next dashboard replaces them.
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
source=${top_srcdir:?}
python=${PYTHON:-python3}
"$python" -c 'import http.server' 2>/dev/null || { echo 'there is no python3: skipped'; exit 77; }
work=$(mktemp -d)
servers=
trap 'kill $servers 2>/dev/null; rm -rf "$work"' EXIT
unset CSE_SERVER CSE_TOKEN_FILE CSE_DASHBOARD
export XDG_RUNTIME_DIR="$work/runtime"
mkdir -p -m 700 "$work/runtime/csengine"
failed=0

complain() {
    echo "FAIL: $*"
    failed=1
}

wait_for() { # command...
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { complain "not in time: $*"; return 1; }
        sleep 0.1
    done
}

expect() { # code, text, arguments...
    code=$1 text=$2
    shift 2
    timeout 60 "$csengine" "$@" >"$work/output" 2>&1 </dev/null
    got=$?
    [ $got = "$code" ] || complain "csengine $*: exit code $got: $(cat "$work/output")"
    grep -qF -e "$text" "$work/output" || complain "csengine $*: $(cat "$work/output")"
}

number() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$work/run/server.json"; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }
left() { ls "$work/run" 2>/dev/null | grep -c '^server\|^token'; }
has_left() { [ "$(left)" = "$1" ]; }

# While the run goes on: it removes them at its end.
"$csengine" start "$source/configs/synthetic.yaml" --model_dir "$work/run" --num_steps 100000000 \
    --json >"$work/out" 2>&1 &
run=$!
servers="$servers $run"
wait_for has_left 3
dashboard=$(number pid)
kill -KILL "$dashboard"
wait_for is_gone "$dashboard"
expect 69 "(process $dashboard) was killed: nobody listens there" get jobs --server "$work/run"
kill -TERM $run
wait $run
has_left 0 || complain "behind the end of the run: $(ls "$work/run")"

# Behind its end: the next dashboard replaces them, the next start removes them.
serve_and_kill() {
    "$csengine" serve --run "$work/run" >"$work/served" 2>&1 &
    server=$!
    servers="$servers $server"
    wait_for grep -q Dashboard "$work/served"
    [ "$(number pid)" = $server ] || complain "the note is not of $server"
    "$csengine" get jobs --server "$work/run" >"$work/output" 2>&1 ||
        complain "a server: $(cat "$work/output")"
    token=$(cat "$work/run/token")
    kill -KILL $server
    wait $server 2>/dev/null
    has_left 3 || complain "the killed server has left $(ls "$work/run")"
}
serve_and_kill
first=$token
serve_and_kill
[ "$token" != "$first" ] || complain 'the token of the killed server is used again'
"$csengine" start "$source/configs/synthetic.yaml" --model_dir "$work/run" --max_steps 1 \
    --no_dashboard >"$work/out" 2>&1
has_left 0 || complain "behind the next start: $(ls "$work/run")"

# Another program at its address.
printf '0123456789abcdef0123\n' >"$work/token"
chmod 600 "$work/token"
"$python" "$source/tests/cli/scripted_server.py" 0 "$work/record" "$work/ready" &
servers="$servers $!"
wait_for test -s "$work/ready"
address=$(cat "$work/ready")
mkdir "$work/queue"
for socket in null "\"$work/queue/server.sock\""; do
    printf '{"url": "%s", "socket": %s, "pid": %s, "mode": "root", "token_file": "%s"}\n' \
        "$address" "$socket" "$dashboard" "$work/token" >"$work/queue/server.json"
    cp "$work/queue/server.json" "$work/runtime/csengine/server.json"
    expect 69 'was killed' get jobs --server "$work/queue"
    expect 69 'was killed' get jobs
    "$csengine" get jobs --server "$address" >"$work/output" 2>&1 # its operator may mean it
done
[ -s "$work/record" ] || complain 'the other program saw no request'
grep -qi authorization "$work/record" && complain "it got the token: $(cat "$work/record")"
exit $failed
