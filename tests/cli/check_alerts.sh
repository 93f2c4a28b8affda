#!/bin/sh
# Alerts of a run: told once each in its log, in its store, to a program and to a web address; those
# that were told are those that a trial on the run's curves gives; bad settings are refused with
# their place before anything is trained.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:?}/configs/synthetic.yaml
work=$(mktemp -d)
listener=
trap 'test -z "$listener" || kill "$listener" 2>/dev/null; wait; rm -rf "$work"' EXIT
fail() {
    echo "FAIL: $*"
    exit 1
}

cat >"$work/listen.py" <<'END'
import http.server, sys

class Take(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[1] + "/posted", "ab") as file:
            file.write(body + b"\n")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Take)
with open(sys.argv[1] + "/port.new", "w") as file:
    file.write(str(server.server_port))
import os
os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
server.serve_forever()
END
python3 "$work/listen.py" "$work" &
listener=$!
for _ in $(seq 300); do
    [ -s "$work/port" ] && break
    sleep 0.1
done
port=$(cat "$work/port")

low='loss < 0.5 * max(loss)'
jump='loss > 3 * median(loss, 100)'
train() { # folder last_step
    "$csengine" start "$config" --model_dir "$work/$1" --compile_dir "$work/compiled" \
        --no_dashboard --max_steps "$2" --set loop.num_steps=null --set fit.val_dataloader=null \
        --set checkpoint.steps=500 --set "alerts={when: [\"$low\", \"$jump\", \"no step for 9 h\"],
            webhook: \"http://127.0.0.1:$port/hook\", program: sh,
            arguments: [-c, 'cat >>$work/given']}" >"$work/out" 2>&1 || {
        cat "$work/out"
        fail "$1 does not train"
    }
}
alerts() { "$csengine" alerts "$work/$1" --json "$low" "$jump"; }

train run 1000
grep -q "warning: alert: loss < 0.5 \* max(loss) (step [0-9]*: loss 0.[0-9]*, max(loss) " \
    "$work/out" || fail "the log does not tell of it: $(cat "$work/out")"
"$csengine" alerts "$work/run" --json >"$work/told" || fail 'alerts'
alerts run >"$work/tried" || fail 'alerts with conditions'
cmp "$work/told" "$work/tried" || fail 'what was told is not what a trial gives'
python3 - "$work" "$jump" <<'END' || exit 1
import json, sys
work, jump = sys.argv[1:]
told = json.load(open(work + "/told"))
given = [json.loads(line) for line in open(work + "/given")]
posted = [json.loads(line) for line in open(work + "/posted")]
assert len(told) > 2 and told[0]["condition"].startswith("loss < 0.5") and told[0]["begins"], told
assert given == posted and given, (given, posted)
assert all(one.pop("model_dir") == work + "/run" for one in given), given
# Within a minute a condition is announced once, with its end.
assert [one for one in told if one in given] == given, (told, given)
for condition in {one["condition"] for one in told}:
    assert sum(one["begins"] for one in given if one["condition"] == condition) == 1, given
END

# A run that goes on tells only what is new, and has one history.
train run 1500
"$csengine" alerts "$work/run" --json >"$work/told" || fail 'alerts'
alerts run >"$work/tried" || fail 'alerts with conditions'
cmp "$work/told" "$work/tried" || fail 'the history of a run that went on is another'
"$csengine" alerts "$work/run" | grep -q "begins  loss < 0.5 \* max(loss) " || fail 'the table'
"$csengine" alerts "$work/run" 'loss > 1e9' | grep -qx 'none of the conditions ever held' ||
    fail 'a condition that never held'

# What is wrong with a condition, and what names there are.
refused() { # exit_code message command...
    wanted=$1 message=$2
    shift 2
    "$@" >"$work/out" 2>&1
    code=$?
    [ "$code" -eq "$wanted" ] || fail "exit code $code, not $wanted: $* $(cat "$work/out")"
    grep -qF "$message" "$work/out" || fail "no \"$message\": $(cat "$work/out")"
}
refused 64 'the run has no value of los; it has: lr/0, loss, samples_per_second' \
    "$csengine" alerts "$work/run" 'los > 3'
refused 64 'ends too early' "$csengine" alerts "$work/run" 'loss >'
refused 66 'there is no such directory' "$csengine" alerts "$work/nothing" 'loss > 3'
set_alerts() {
    "$csengine" start "$config" --model_dir "$work/bad" --no_dashboard --set "alerts=$1"
}
refused 78 'alerts: --set' set_alerts '{when: ["loss >"]}'
refused 78 'has no effect without `when`' set_alerts '{program: cat}'
refused 78 'has no effect without `program`' set_alerts '{when: ["loss > 3"], arguments: [x]}'
refused 78 'for https use program: curl' set_alerts '{when: ["loss > 3"], webhook: "https://a.b/"}'
refused 78 'did you mean "when"' set_alerts '{whn: ["loss > 3"]}'
[ ! -e "$work/bad" ] || fail 'something is left of a run that was refused'

# Receivers that fail cost a warning each; a name without any value is told at the end.
"$csengine" start "$config" --model_dir "$work/failing" --compile_dir "$work/compiled" \
    --no_dashboard --max_steps 300 --set loop.num_steps=null --set fit.val_dataloader=null \
    --set "alerts={when: [\"$low\", \"los > 3\"], webhook: \"http://127.0.0.1:1/\",
        program: 'false'}" >"$work/out" 2>&1 ||
    fail "a receiver that fails ends the run: $(cat "$work/out")"
grep -q 'warning: alert: http://127.0.0.1:1/: ' "$work/out" || fail 'no warning of the address'
grep -q 'warning: alert: false ended with exit code 1' "$work/out" || fail 'none of the program'
grep -q 'warning: alert "los > 3" had no value of los' "$work/out" || fail 'none of the name'
exit 0
