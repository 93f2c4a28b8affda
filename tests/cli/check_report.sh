#!/bin/sh
# A report holds every API response that its pages need, with the losses that the run printed to the
# last bit; making it does not change the run.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=${top_srcdir:-.}
python=
for choice in ${PYTHON:-} python3 /usr/bin/python3; do
    "$choice" -c 'import json' 2>/dev/null && python=$choice && break
done
[ -n "$python" ] || { echo "python3 is not there: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
unset CSE_SERVER CSE_TOKEN_FILE
export XDG_RUNTIME_DIR="$work/runtime"

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

for steps in 30 60; do
    timeout 100 "$csengine" start "$source/configs/synthetic.yaml" --json --no_dashboard \
        --log_steps 1 --model_dir "$work/a <run>" --compile_dir "$work/compiled" \
        --set loop.num_steps=null --max_steps $steps >>"$work/out" 2>"$work/errors" ||
        fail "start: $(cat "$work/errors")"
done
find "$work/a <run>" ! -name '*-shm' ! -name '*-wal' | sort >"$work/before"
"$csengine" report "$work/a <run>" --json >"$work/data.json" || fail "report --json"
find "$work/a <run>" ! -name '*-shm' ! -name '*-wal' | sort | cmp - "$work/before" ||
    fail "the report left files in the run"
"$python" - "$work/out" "$work/data.json" <<'PYTHON' || fail "the data"
import json
import struct
import sys

printed = {}
for line in open(sys.argv[1]):
    event = json.loads(line)
    if event.get("event") == "step":
        printed[event["step"]] = event["loss_bits"]
with open(sys.argv[2]) as file:
    data = json.load(file)
(job,) = data["/api/v1/jobs"]["jobs"]
base = "/api/v1/jobs/" + job["id"]
names = {name[len(base):] for name in data if name.startswith(base)}
wanted = {"", "/transitions", "/metrics", "/closures", "/checkpoints", "/alerts",
          "/membership", "/logs", "/config",
          "/graph", "/precision", "/topology", "/tensors", "/numerics", "/trace",
          "/kernels", "/goodput", "/data", "/history", "/notes"}
assert names == wanted, names ^ wanted
assert data[base] == job and job["state"] == "SUCCEEDED" and job["attempt"] == 2, job
loss = {}
for series in data[base + "/metrics"]["series"]:
    if series["name"] == "loss":
        assert series["level"] == 0
        loss.update(zip(series["step"], series["value"]))
bits = {step: struct.pack(">f", value).hex() for step, value in loss.items()}
assert bits == printed and len(bits) == 60, (bits, printed)
states = [one["to"] for one in data[base + "/transitions"]["transitions"]]
assert states.count("SUCCEEDED") == 2 and states[-1] == "SUCCEEDED", states
steps = [one["step"] for one in data[base + "/checkpoints"]["checkpoints"]]
assert sorted(steps) == [30, 60], steps
assert all(json.loads(line) for line in data[base + "/logs"].splitlines())
assert "synthetic" in data[base + "/config"]["yaml"]
assert data[base + "/graph"]["nodes"]
PYTHON

# The page, where this build has pages.
if "$csengine" report "$work/a <run>" -o "$work/run.html" >"$work/shown" 2>"$work/errors"; then
    [ "$(cat "$work/shown")" = "$work/run.html" ] || fail "shown: $(cat "$work/shown")"
    "$python" - "$work/run.html" "$work/data.json" <<'PYTHON' || fail "the page"
import html.parser
import json
import sys


class Page(html.parser.HTMLParser):
    """The text of the element that holds the data, and whatever would be fetched."""
    inside, text, links = False, "", []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.inside = attributes.get("id") == "report-data"
        if tag in ("script", "img", "link"):
            self.links += [attributes[k] for k in ("src", "href") if attributes.get(k)]

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.text += data


page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
shown, data = json.loads(page.text), json.load(open(sys.argv[2]))
assert shown == data, {k: (shown.get(k), v) for k, v in data.items() if shown.get(k) != v}
assert all(link.startswith("data:") for link in page.links), page.links
PYTHON
else
    grep -q 'was built without pages: install nodejs and npm' "$work/errors" ||
        fail "report: $(cat "$work/errors")"
fi

"$csengine" report "$work" --json >/dev/null 2>"$work/errors"
[ $? = 66 ] && grep -q 'there is no run store' "$work/errors" || fail "$(cat "$work/errors")"
"$csengine" report some-job --json >/dev/null 2>"$work/errors"
[ $? = 69 ] && grep -q 'no server is known' "$work/errors" || fail "$(cat "$work/errors")"
[ "$failures" = 0 ]
