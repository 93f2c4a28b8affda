#!/bin/sh
# Completion: the files in completion/ are what the program prints, real shells complete with them,
# the names of jobs come from the server, and a server that does not answer delays nothing for long.
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
top=$(cd "${top_srcdir:-.}" && pwd)
python=
for choice in ${PYTHON:-} python3 /usr/bin/python3; do
    "$choice" -c 'import pty' 2>/dev/null && python=$choice && break
done
[ -n "$python" ] || { echo "python3 is not there: skipped"; exit 77; }
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill $server 2>/dev/null; wait; rm -rf "$work"' EXIT
unset CSE_SERVER CSE_TOKEN_FILE
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR

fail() {
    echo "FAIL: $*" | tee -a "$work/failures" # pipelines run in processes of their own
}

for shell in bash zsh fish; do
    "$csengine" --print-completion $shell | cmp - "$top/completion/csengine.$shell" ||
        fail "completion/csengine.$shell is old: csengine --print-completion $shell"
done
"$csengine" --print-completion csh 2>/dev/null && fail "a completion for csh"

# offers TEXT WORDS...: a candidate or directive is among what can follow.
offers() {
    wanted=$1
    shift
    "$csengine" complete "$@" >"$work/offered" 2>"$work/errors" || fail "complete $*: exit code $?"
    cut -f1 "$work/offered" | grep -qxF -e "$wanted" ||
        fail "complete $*: no $wanted in: $(cut -f1 "$work/offered" | tr '\n' ' ')"
    [ ! -s "$work/errors" ] || fail "complete $* prints $(cat "$work/errors")"
}

# Every command that is not hidden, and every option of each; every setting of the configuration.
"$csengine" list commands | while read -r command rest; do
    offers "$command" ''
    "$csengine" "$command" --help | sed -n 's/^  \(--[a-z0-9_]*\).*/\1/p' >"$work/options"
    [ ! -s "$work/options" ] || offers "$(head -n 1 "$work/options")" "$command" --
    while read -r option; do
        cut -f1 "$work/offered" | grep -qxF -e "$option" || fail "complete $command --: no $option"
    done <"$work/options"
done
"$csengine" list settings | grep '^trainer' |
    grep -vxE 'trainer.(init.(model|objective|optimizer)|fit.(train|val)_dataloader)' \
        >"$work/settings"
[ "$(wc -l <"$work/settings")" -gt 40 ] || fail "few settings: $(cat "$work/settings")"
"$csengine" complete start --set trainer. | cut -f1 >"$work/offered"
while read -r setting; do
    grep -qxF "$setting=" "$work/offered" || fail "--set does not offer $setting"
done <"$work/settings"
for optimizer in $("$csengine" list optimizers | cut -d' ' -f1); do
    offers "optimizer.$optimizer.learning_rate=" start --set "optimizer.$optimizer."
done
offers exit_codes list ''
offers :directory pause ''
offers ':file .yaml' start ''
offers ':file .mdl' checkpoint verify ''
offers :nospace start --set loop.
for words in 'nonsense x' 'start --nonsense x' 'start --set =' '--' 'worker x' 'list nonsense x'; do
    # shellcheck disable=SC2086 # several words
    "$csengine" complete $words >"$work/offered" 2>&1 || fail "complete $words: exit code $?"
    grep -qi error "$work/offered" && fail "complete $words: $(cat "$work/offered")"
done
"$csengine" complete || fail "complete without words"

# A server that takes the connection and says nothing: the rest is offered, within two seconds.
"$python" -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(600)' >"$work/port" &
silent=$!
until [ -s "$work/port" ]; do sleep 0.05; done
begin=$(date +%s)
CSE_SERVER=http://127.0.0.1:$(cat "$work/port")
export CSE_SERVER
timeout 20 "$csengine" complete pause '' >"$work/offered" 2>&1 || fail "silent server: exit code $?"
[ "$(cat "$work/offered")" = :directory ] || fail "silent server: $(cat "$work/offered")"
[ $(($(date +%s) - begin)) -le 10 ] || fail "a silent server holds the completion up"
kill $silent
CSE_SERVER=http://127.0.0.1:9
offers :directory pause ''
unset CSE_SERVER

"$csengine" serve --root "$work/queue" >"$work/serve" 2>&1 &
server=$!
until "$csengine" get jobs >/dev/null 2>&1; do
    kill -0 $server || fail "no server: $(cat "$work/serve")"
    sleep 0.1
done
for id in job-one job-two; do
    "$csengine" submit "$top/configs/synthetic.yaml" --id $id --max_steps 2 --no_check \
        >/dev/null || fail "submit $id"
done
offers job-one pause job
offers job-two get job ''
offers job-two submit --resume_from ''
CSE_SERVER=$work/queue
export CSE_SERVER
for shell in bash zsh fish; do
    if ! command -v $shell >/dev/null; then
        echo "$shell is not installed: its completion was not tried"
        continue
    fi
    mkdir "$work/$shell"
    "$python" "$top/tests/cli/completion_test.py" "$csengine" "$top" "$work/$shell" $shell ||
        fail "$shell"
done
[ ! -e "$work/failures" ] || exit 1
echo "all as expected"
