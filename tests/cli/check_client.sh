#!/bin/sh
# The commands over the API against a scripted server: requests, output, exit codes, lost
# connections, concurrent changes by other clients, interrupted streams.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=${top_srcdir:-.}
python=
for choice in ${PYTHON:-} python3 /usr/bin/python3; do
    "$choice" -c 'import http.server' 2>/dev/null && python=$choice && break
done
[ -n "$python" ] || { echo "python3 is not there: skipped"; exit 77; }
work=$(mktemp -d)
servers=
trap 'kill $servers 2>/dev/null; rm -rf "$work"' EXIT
failures=0
unset CSE_SERVER CSE_TOKEN_FILE
export XDG_RUNTIME_DIR="$work/runtime"

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# serve NAME ADDRESS [TOKEN]: the address in $work/NAME, requests in $work/NAME.record.
serve() {
    "$python" "$source/tests/cli/scripted_server.py" "$2" "$work/$1.record" "$work/$1" ${3:+"$3"} &
    servers="$servers $!"
    for i in $(seq 100); do
        [ -f "$work/$1" ] && return
        sleep 0.1
    done
    fail "the scripted server $1 does not start"
}

# expect CODE TEXT ARGUMENTS...: the exit code, and a text that the output must hold.
expect() {
    code=$1 text=$2
    shift 2
    timeout 60 "$csengine" "$@" >"$work/output" 2>&1 </dev/null
    got=$?
    [ "$got" = "$code" ] ||
        fail "csengine $*: exit code $got, expected $code: $(cat "$work/output")"
    grep -qF -e "$text" "$work/output" ||
        fail "csengine $*: no \"$text\" in: $(cat "$work/output")"
}

# sent EXPRESSION: Python over `r`, the list of requests so far, newest last.
sent() {
    "$python" -c 'import json, sys
r = [json.loads(line) for line in open(sys.argv[1])]
sys.exit(not eval(sys.argv[2]))' "$work/plain.record" "$1" ||
        fail "not sent: $1: $(tail -n 2 "$work/plain.record")"
}

# Without a server.
expect 69 'no server is known' get jobs
expect 69 'http://127.0.0.1:9 cannot be reached' get jobs --server http://127.0.0.1:9
expect 64 'is no address of a server; accepted: http://HOST:PORT' get jobs --server localhost
expect 64 '"../x" is no job' pause ../x --server http://127.0.0.1:9
expect 64 '--grace -1: accepted: a number from 0 to 86400' cancel a --grace=-1
expect 64 'give either --num_csx N or --hosts LIST' scale a
expect 64 'letters: f=follow' logs -q a

serve plain 0
CSE_SERVER=$(cat "$work/plain")
export CSE_SERVER

# Lists: every page, filters, columns for people, JSON for programs.
expect 0 'WAITING FOR' get jobs -l team=vision --label 'a b' --state running,paused
sent 'r[-2]["path"] == "/api/v1/jobs?limit=200&label=team%3Dvision&label=a%20b&state=RUNNING" \
    "&state=PAUSED" and "page_token=second" in r[-1]["path"]'
grep -Eq '^a +näme +RUNNING +p2 +[0-9]+d[0-9]+h +1h2m +250/1000 25% +team=vision +-$' \
    "$work/output" || fail "row of a job: $(cat "$work/output")"
grep -q '^b .*FAILED:NUMERICS' "$work/output" || fail "second page: $(cat "$work/output")"
expect 0 '"next_page_token":null,"total":2' get jobs --json
expect 0 'samples/s         10' get job a
expect 0 '"minimum_loss": null' get job a --json
expect 66 'there is no job "missing"' get job missing
expect 66 '"type": "urn:x"' get job missing --json
expect 64 "the job's id is missing" get job

# Submission: the text itself, labels, overrides; faults at their lines; lost connections.
printf 'trainer: {}\n' >"$work/good.yaml"
expect 0 'new-1 QUEUED' submit "$work/good.yaml" --name n --label k=v -l k2=v=2 --priority p1 \
    --num_csx 3 --set loop.num_steps=5 --max_num_restarts 2 --cores 1 --resume_from old@7
sent 'r[-1]["body"] == {"config": "trainer: {}\n", "name": "n", "labels": {"k": "v", "k2": "v=2"},
    "priority": "p1", "overrides": {"backend.cluster_config.num_csx": "3", "loop.num_steps": "5"},
    "restart_policy": {"max_num_restarts": 2}, "resources": {"cores": 1},
    "resume_from": {"job": "old", "step": 7}} and r[-1]["headers"]["content-type"] == \
    "application/json"'
printf 'untraceable\n' >"$work/deep.yaml"
expect 78 'deep.yaml:7:3: the shapes do not fit' submit "$work/deep.yaml"
grep -q 'fit; do not' "$work/output" && fail "a hint that says it again: $(cat "$work/output")"
expect 78 '"valid": false' submit "$work/deep.yaml" --json
sent 'r[-1]["path"] == "/api/v1/config:validate" and r[-1]["body"]["depth"] == "step"'
expect 0 'new-1 QUEUED' submit "$work/deep.yaml" --no_check
printf 'wrong\n' >"$work/wrong.yaml"
expect 78 "wrong.yaml:4:13: unknown setting \"x\"; remove it" submit "$work/wrong.yaml"
grep -q '/labels: too many' "$work/output" || fail "second fault: $(cat "$work/output")"
expect 78 '"errors": [{"line": 4' submit "$work/wrong.yaml" --json
printf 'lose\n' >"$work/lose.yaml"
expect 0 'new-1 QUEUED' submit "$work/lose.yaml"
sent 'len(set(q["headers"]["idempotency-key"] for q in r[-3:])) == 1'
sent 'len(set(q["headers"].get("idempotency-key") for q in r
    if q["method"] == "POST" and q["path"] == "/api/v1/jobs")) == 5'
"$csengine" submit - --id mine <"$work/good.yaml" >"$work/output" 2>&1 || fail "submit from stdin"
grep -q 'mine QUEUED' "$work/output" || fail "submit from stdin: $(cat "$work/output")"
sent 'r[-1]["method"] == "PUT" and r[-1]["path"] == "/api/v1/jobs/mine"'
expect 66 'nowhere.yaml cannot be opened' submit /nowhere.yaml
expect 64 '--label k: key=value is accepted' submit "$work/good.yaml" --label k
expect 64 'JOB or JOB@STEP is accepted' submit "$work/good.yaml" --resume_from a@b

# Orders.
for command in pause resume kill; do
    expect 0 'a PAUSING: taken' "$command" a --message why
    sent "r[-1]['path'] == '/api/v1/jobs/a/$command' and r[-1]['body'] == {'message': 'why'}"
    expect 1 'the job has ended: SUCCEEDED' "$command" done
done
expect 0 '"command": "cancel"' cancel a --grace 2.5 --save=false --json
sent 'r[-1]["body"] == {"grace_s": 2.5, "save": False}'
expect 0 'taken' scale a --num_csx 4
sent 'r[-1]["path"].endswith("/scale") and r[-1]["body"] == {"num_csx": 4}'
expect 0 'taken' checkpoint save a
sent 'r[-1]["path"] == "/api/v1/jobs/a/checkpoint" and "idempotency-key" in r[-1]["headers"]'

# Labels: somebody else's change in between is read again, then changed.
expect 0 'a p2 owner=me' label a owner=me team- --priority p0
sent 'r[-1]["body"] == {"priority": "p0", "labels": {"owner": "me", "team": None}}'
sent '[q["headers"].get("if-match") for q in r[-4:]] == [None, "\"r1\"", None, "\"r2\""]'
expect 64 '"=x" is no label' label a =x
expect 64 'nothing to change' label a

# Logs and following: a line once, a broken stream goes on, the exit code is the job's.
expect 0 'INFO    coordinator: line 1' logs a --level info --role x
sent 'r[-1]["path"] == "/api/v1/jobs/a/logs?after=0&limit=1000&role=x&level=INFO"'
expect 0 'line 3' logs streamed -f
[ "$(grep -c 'line 2' "$work/output")" = 1 ] || fail "a line twice: $(cat "$work/output")"
expect 1 'job failing: FAILED NUMERICS: the loss is nan' logs failing --follow
expect 0 'step    7, loss=0.25' submit "$work/good.yaml" --follow
grep -q 'state   RUNNING: step 1' "$work/output" && grep -q 'WARNING replica 2: slow disk' \
    "$work/output" || fail "followed: $(cat "$work/output")"
expect 0 '"type":"metric"' submit "$work/good.yaml" --follow --json

# A browser is not needed.
DISPLAY='' WAYLAND_DISPLAY='' expect 0 "$CSE_SERVER/jobs/a" open a
DISPLAY='' WAYLAND_DISPLAY='' expect 0 "$CSE_SERVER/" open

# A token, from a file that nobody else can read; a unix socket; the local server's file.
serve guarded "$work/socket" 0123456789abcdef
printf '0123456789abcdef\n' >"$work/token"
chmod 644 "$work/token"
expect 77 'give its token by --token_file or CSE_TOKEN_FILE' get jobs --server "unix:$work/socket"
expect 77 'can be read by others (mode 644); chmod 600 it' \
    get jobs --server "unix:$work/socket" --token-file "$work/token"
chmod 600 "$work/token"
expect 0 'WAITING FOR' get jobs --server "unix:$work/socket" --token-file "$work/token"
grep -q 'authorization' "$work/plain.record" && fail "a token was sent to another server"
expect 64 'is a unix socket' open --server "unix:$work/socket" --token_file "$work/token"
unset CSE_SERVER
mkdir -p "$work/runtime/csengine"
printf '{"url": "unix:%s"}\n' "$work/socket" >"$work/runtime/csengine/server.json"
CSE_TOKEN_FILE=$work/token expect 0 'WAITING FOR' get jobs
expect 77 'give its token' get jobs
mkdir "$work/queue"
printf '{"url": "unix:%s", "token_file": "%s"}\n' "$work/socket" "$work/token" \
    >"$work/queue/server.json"
expect 0 'WAITING FOR' get jobs --server "$work/queue"
[ "$failures" = 0 ]
