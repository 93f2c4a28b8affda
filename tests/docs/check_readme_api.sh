#!/bin/sh
# The examples of the README's section on the API, run unchanged against a server of this test:
# each command succeeds, and where "# -> TEXT" follows, its output holds TEXT.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=$(cd "${top_srcdir:-.}" && pwd)
command -v curl >/dev/null || { echo "curl is not there: skipped"; exit 77; }
[ "${CSE_SANITIZE:-no}" = no ] || { echo "a sanitizer makes jobs slow: skipped"; exit 77; }
work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null
    [ -z "$server" ] || wait "$server" 2>/dev/null
    for lock in "$work"/here/runs/*/run.lock; do
        [ -f "$lock" ] && "$csengine" kill "${lock%/run.lock}" >/dev/null 2>&1
    done
    rm -rf "$work"
}
trap finish EXIT
# The commands of the marked block; one that goes on in the next line is joined with it.
awk '
/^<!-- run by tests\/docs\/check_readme_api.sh -->$/ { marked = 1; next }
marked && /^```sh$/ { inside = 1; next }
inside && /^```$/ { exit }
inside && /[\\|]$/ { sub(/\\$/, ""); joined = joined $0; next }
inside && /[^ ]/ { print joined $0; joined = "" }
' "$source/README.md" >"$work/commands"
[ "$(wc -l <"$work/commands")" -ge 20 ] || { echo "FAIL: the README has no examples"; exit 1; }

mkdir "$work/here"
cp -r "$source/configs" "$work/here/configs"
chmod -R u+w "$work/here"
cd "$work/here" || exit 1
case $csengine in /*) ;; *) csengine=$OLDPWD/$csengine ;; esac
export CSENGINE_EXECUTABLE="$csengine"
"$csengine" serve --root runs --listen 127.0.0.1:0 >"$work/served" 2>&1 &
server=$!
for i in $(seq 100); do
    [ -f runs/server.json ] && break
    sleep 0.1
done
url=$(sed -n 's/.*"url": "\([^"]*\)".*/\1/p' runs/server.json)
[ -n "$url" ] || { echo "FAIL: no server: $(cat "$work/served")"; exit 1; }

# No example may wait for ever: all of them have two minutes.
cat >"$work/run.sh" <<'SCRIPT'
failures=0
ran=0
fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}
while IFS= read -r line; do
    case $line in '#'*) continue ;; esac
    expected=
    case $line in *'# -> '*) expected=${line#*'# -> '} ;; esac
    command=$(printf '%s\n' "${line%%'# -> '*}" | sed "s|http://127.0.0.1:8080|$url|g")
    ran=$((ran + 1))
    eval "$command" >"$work/output" 2>&1 </dev/null || fail "$command: exit code $?"
    [ -z "$expected" ] || grep -qF -e "$expected" "$work/output" ||
        fail "$command: no $expected in: $(head -c 2000 "$work/output")"
done <"$work/commands"
echo "$ran examples, $failures failures"
[ "$failures" = 0 ]
SCRIPT
export url work
timeout 120 sh -u "$work/run.sh"
