#!/bin/sh
# MLflowLogger against a small server: experiment, run, parameters and every value, also after
# faults; a run that goes on; a server that is slow, wrong or gone, which neither stops nor holds up
# training.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
source=${top_srcdir:-.}
config=$source/configs/synthetic.yaml
work=$(mktemp -d)
servers=
trap 'kill $servers 2>/dev/null; rm -rf "$work"' EXIT
failed=0
unset MLFLOW_TRACKING_TOKEN

fail() {
    echo "FAIL: $*"
    failed=1
}

# serve NAME [FAULTS [SECONDS]]: sets $uri; the state is in $work/NAME.json.
serve() {
    name=$1
    shift
    python3 "$source/tests/run/loggers/mlflow_server.py" "$work/$name.port" \
        "$work/$name.json" "$@" 2>"$work/$name.errors" &
    servers="$servers $!"
    for _ in $(seq 100); do
        [ -f "$work/$name.port" ] && break
        sleep 0.1
    done
    uri=http://127.0.0.1:$(cat "$work/$name.port")
}

# start FOLDER STEPS SETTINGS...: of the logger.
start() {
    folder=$1 steps=$2
    shift 2
    timeout 60 "$csengine" start "$config" --no_dashboard --model_dir "$work/$folder" \
        --log_steps 1 --num_steps "$steps" --set "loggers=[JSONLLogger, {MLflowLogger: {$*}}]" \
        >"$work/out" 2>&1 ||
        fail "$folder: $(cat "$work/out")"
}

# Two faults first: told once, and nothing is lost.
serve first 2
MLFLOW_TRACKING_TOKEN=secret
export MLFLOW_TRACKING_TOKEN
start run 300 "tracking_uri: \"$uri\", experiment_name: \"a/b c\", run_name: r, \
params: [lr=0.1, \"x=a=b\"], tags: [t=1]"
unset MLFLOW_TRACKING_TOKEN
[ "$(grep -c 'answers 503' "$work/out")" = 1 ] || fail "a fault is told once: $(cat "$work/out")"
start run 40 "tracking_uri: \"$uri\", experiment_name: \"a/b c\""
python3 - "$work" <<'END' || fail "what was sent"
import json, sys
state = json.load(open(f"{sys.argv[1]}/first.json"))
assert list(state["experiments"]) == ["a/b c"] and list(state["runs"]) == ["run1"], state
run = state["runs"]["run1"]
assert run["status"] == "FINISHED" and run["run_name"] == "r", run["status"]
assert run["params"] == [{"key": "lr", "value": "0.1"}, {"key": "x", "value": "a=b"}], run["params"]
assert run["tags"] == [{"key": "t", "value": "1"}]
assert "Bearer secret" in state["tokens"] and None in state["tokens"]
lines = [json.loads(line) for line in open(f"{sys.argv[1]}/run/metrics.jsonl")]
wanted = {(one["name"], one["step"]): one["value"] for one in lines}
found = {(one["key"], one["step"]): one["value"] for one in run["metrics"]}
assert found == wanted and len(run["metrics"]) == len(lines), (len(found), len(wanted))
assert all(abs(one["timestamp"] / 1000 - lines[0]["time_s"]) < 600 for one in run["metrics"])
END

# A server that answers after 2 seconds: training does not wait, its end for at most 5.
serve slow 0 2
start slow 60 "tracking_uri: \"$uri\""
python3 - "$work/slow/metrics.jsonl" <<'END' || fail "training waited for a slow server"
import json, sys
times = [json.loads(line)["time_s"] for line in open(sys.argv[1]) if '"loss"' in line]
assert max(b - a for a, b in zip(times, times[1:])) < 1.5, times
END

# Nobody there, and a server that is none.
start gone 20 'tracking_uri: "http://127.0.0.1:9"'
[ "$(grep -c 'warning: MLflowLogger: http://127.0.0.1:9' "$work/out")" = 1 ] ||
    fail "$(cat "$work/out")"
grep -q 'values were not sent; they are in' "$work/out" || fail "not told: $(cat "$work/out")"
cmp "$work/gone/mlflow_unsent.jsonl" "$work/gone/metrics.jsonl" || fail "what was not sent is lost"

for wrong in 'tracking_uri: "ftp://x"' 'tracking_uri: "http://x", params: [lr]' \
    'tracking_uri: "http://x:99999999"'; do
    "$csengine" start "$config" --no_dashboard --model_dir "$work/wrong" --num_steps 2 \
        --set "loggers=[{MLflowLogger: {$wrong}}]" >"$work/out" 2>&1 && fail "accepted: $wrong"
    grep -q 'accepted is' "$work/out" || fail "$wrong: $(cat "$work/out")"
done
"$csengine" start "$config" --no_dashboard --model_dir "$work/wrong" --num_steps 2 \
    --set 'loggers=[{MLflowLogger: {tracking_url: x}}]' >"$work/out" 2>&1 && fail "an unknown key"
grep -q 'tracking_uri' "$work/out" || fail "$(cat "$work/out")"
exit $failed
