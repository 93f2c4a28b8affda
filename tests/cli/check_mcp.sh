#!/bin/sh
# `csengine mcp`: an assistant finds the server's operations as tools with schemas of their
# arguments, those that change nothing unless it is allowed more; calls give what the API gives;
# what is wrong is told by the codes of JSON-RPC, or as the tool's result; the end of the input is
# the end.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
case $csengine in /*) ;; *) csengine=$PWD/$csengine ;; esac
source=$(cd "${top_srcdir:-.}" && pwd)
work=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server" 2>/dev/null; wait; rm -rf "$work"' EXIT
"$csengine" mcp --server "unix:$work/nowhere" </dev/null >"$work/out" 2>"$work/err"
code=$?
[ $code -eq 69 ] && [ ! -s "$work/out" ] && grep -q 'nowhere' "$work/err" ||
    { echo "FAIL: no server: $code: $(cat "$work/out" "$work/err")"; exit 1; }
"$csengine" serve --root "$work/root" >"$work/served" 2>"$work/serve.err" &
server=$!
for _ in $(seq 100); do
    [ -s "$work/served" ] && break
    sleep 0.1
done
"$csengine" submit "$source/configs/synthetic.yaml" --server "$work/root" --name first \
    --set trainer.init.loop.num_steps=20 --follow >"$work/out" 2>&1 ||
    { echo "FAIL: submit: $(cat "$work/out")"; exit 1; }
python3 "$source/tests/cli/mcp_test.py" "$csengine" "$work/root" "$server"
