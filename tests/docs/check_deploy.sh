#!/bin/sh
# The files in deploy/ are valid: systemd-analyze verifies the unit, the Grafana dashboard is JSON
# whose panels each have a position, an id and a query, and what restarts a run goes by the exit
# codes that a repetition can mend.
set -u
source=${top_srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# The codes that no repetition mends are those of the table, by the names they have there.
for code in $(sed -n 's/^RestartPreventExitStatus=//p' "$source/deploy/csengine.service"); do
    grep -q "^| $code | .* | no |" "$source/docs/operations.md" ||
        fail "exit code $code is retryable"
done
for code in $(sed -n 's/^ *values: \[\(.*\)\]$/\1/p' "$source/deploy/several_hosts.jobset.yaml" |
    tr -d ,); do
    grep -q "^| $code | .* | no |" "$source/docs/operations.md" ||
        fail "the JobSet ends with exit code $code, which is retryable"
done
sh -n "$source/deploy/several_hosts.sbatch" || fail 'the batch script'
for code in $(sed -n 's/^\([0-9]* | [0-9]*\))$/\1/p' "$source/deploy/several_hosts.sbatch" |
    tr -d '|'); do
    grep -q "^| $code | .* | yes |" "$source/docs/operations.md" ||
        fail "the batch script repeats exit code $code"
done
if command -v systemd-analyze >/dev/null; then
    # Of the program alone is asked that it is there; any will do.
    sed 's|^ExecStart=/usr/bin/csengine|ExecStart=/bin/true|' "$source/deploy/csengine.service" \
        >"$work/csengine.service"
    said=$(systemd-analyze verify --man=no "$work/csengine.service" 2>&1 | grep csengine.service)
    [ -z "$said" ] || fail "the unit: $said"
fi
python=
for choice in ${PYTHON:-} python3 /usr/bin/python3; do
    "$choice" -c 'import json' 2>/dev/null && python=$choice && break
done
[ -n "$python" ] || exit "$failures"
if "$python" -c 'import yaml' 2>/dev/null; then
    "$python" - "$source/deploy/several_hosts.jobset.yaml" <<'PYTHON' || fail "the JobSet"
import sys

import yaml

with open(sys.argv[1]) as file:
    spec = yaml.safe_load(file)["spec"]
jobs = {job["name"]: job for job in spec["replicatedJobs"]}
leader, host = (jobs[name]["template"]["spec"] for name in ("leader", "host"))
assert spec["failurePolicy"]["rules"][0] == {
    "action": "FailJobSet", "targetReplicatedJobs": ["leader"],
    "onJobFailureReasons": ["PodFailurePolicy"]}
rule = leader["podFailurePolicy"]["rules"][0]
assert rule["action"] == "FailJob" and rule["onExitCodes"]["values"] == [64, 65, 78], rule
assert jobs["leader"]["dependsOn"] == [{"name": "host", "status": "Ready"}]
command = leader["template"]["spec"]["containers"][0]["command"]
names = command[command.index("--hosts") + 1]
assert names.endswith(f"csengine-host-0-[0-{host['completions'] - 1}].csengine"), names
PYTHON
fi
"$python" - "$source/deploy/grafana.json" <<'PYTHON' || fail "the Grafana dashboard"
import json
import sys

with open(sys.argv[1]) as file:
    dashboard = json.load(file)
panels = dashboard["panels"]
assert len({panel["id"] for panel in panels}) == len(panels) >= 10
taken = set()
for panel in panels:
    place = panel["gridPos"]
    cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
             for y in range(place["y"], place["y"] + place["h"])}
    assert not cells & taken and place["x"] + place["w"] <= 24, panel["title"]
    taken |= cells
    assert panel["title"] and panel["targets"]
    for target in panel["targets"]:
        assert target["expr"].count("(") == target["expr"].count(")")
        assert 'instance=~"$instance"' in target["expr"], target["expr"]
variables = {one["name"] for one in dashboard["templating"]["list"]}
assert variables == {"datasource", "instance", "run"}, variables
PYTHON
[ "$failures" = 0 ]
