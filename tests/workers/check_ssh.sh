#!/bin/sh
# The host launcher ssh with a server of OpenSSH: one of its own, at a port of its own, with keys
# and a configuration in a temporary folder. Commands get their input and give their lines and exit
# codes; a host whose key is not known, and a key that is not let in, are told and never asked for;
# a run on two hosts has the weights of one, when nothing fails, when the client of ssh is killed,
# and when the agent is. Skipped where sshd is not installed.
set -u
skip() { # reason
    echo "skipped: $*"
    exit 77
}
sshd=$(command -v sshd || ls /usr/sbin/sshd 2>/dev/null) || skip 'OpenSSH is not installed: no sshd'
command -v ssh >/dev/null || skip 'OpenSSH is not installed: no ssh'
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:?}/configs/synthetic.yaml
program=$(cd "${top_builddir:?}" && pwd)/tests/workers/check_host_launchers
work=$(mktemp -d)
failed=0
complain() {
    echo "$*"
    failed=1
}

# ---- the server ----

mkdir "$work/tmp" "$work/cache"
for key in server user other; do
    ssh-keygen -q -t ed25519 -N '' -C "$key" -f "$work/$key.key"
done
cp "$work/user.key.pub" "$work/authorized"
port=$(python3 -c '
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
cat >"$work/sshd_config" <<CONFIG
Port $port
ListenAddress 127.0.0.1
ListenAddress 127.0.0.2
HostKey $work/server.key
PidFile none
AuthorizedKeysFile $work/authorized
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
SetEnv XDG_CACHE_HOME=$work/cache TMPDIR=$work/tmp CSE_DASHBOARD=0
CONFIG
# Root's sshd wants a folder in /run, which the machine may not have: here it has a /run of its own.
set -- "$sshd" -D -e -f "$work/sshd_config"
if [ "$(id -u)" -ne 0 ] || [ -d /run/sshd ]; then
    "$@" 2>"$work/sshd.log" &
else
    unshare -m true 2>/dev/null || skip 'sshd of root needs /run/sshd, or namespaces'
    unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs run /run &&
        mkdir -m 755 /run/sshd && exec "$@"' sh "$@" 2>"$work/sshd.log" &
fi
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
for host in 127.0.0.1 127.0.0.2; do
    echo "[$host]:$port $(cut -d' ' -f1,2 "$work/server.key.pub")"
done >"$work/known"
options="-F none -p $port -i $work/user.key -o IdentitiesOnly=yes -o UserKnownHostsFile=$work/known
    -o GlobalKnownHostsFile=none"
tries=0
until grep -q 'Server listening on 127.0.0.1' "$work/sshd.log"; do
    tries=$((tries + 1))
    kill -0 $server 2>/dev/null && [ $tries -lt 500 ] ||
        { echo "sshd does not start: $(cat "$work/sshd.log")"; exit 1; }
    sleep 0.02
done
# shellcheck disable=SC2086 # one word each
if ! ssh $options -o BatchMode=yes 127.0.0.1 true 2>"$work/first"; then
    grep -q 'account is locked' "$work/sshd.log" && skip "this user's account is locked"
    echo "ssh does not get in: $(cat "$work/first" "$work/sshd.log")"
    exit 1
fi

# ---- commands ----

mkdir "$work/shared"
CSE_TEST_LAUNCHER=ssh CSE_TEST_OPTIONS=$options CSE_TEST_LEFT=stays CSE_TEST_HOST=127.0.0.2 \
    CSE_TEST_HOSTNAME=$(hostname) CSE_TEST_SHARED=$work/shared "$program" ||
    complain 'the launcher fails'

# ---- runs ----

CSE_DASHBOARD=0
XDG_CACHE_HOME=$work/cache
TMPDIR=$work/tmp
export CSE_DASHBOARD XDG_CACHE_HOME TMPDIR
steps=600

launch() { # name, arguments...
    name=$1
    shift
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --set logging.log_steps=100 --num_steps $steps --num_csx 1 "$@" \
        >"$work/$name.out" 2>"$work/$name.err" &
    process=$!
}

several() { # name, options of ssh
    launch "$1" --hosts 127.0.0.1,127.0.0.2 --host_launcher ssh \
        --set "backend.cluster_config.host_launcher_options=$2" \
        --set backend.cluster_config.lease_s=2
}

digest() { # name
    sed -n 's/^Weights digest: //p' "$work/$1.out"
}

same() { # name
    wait $process || complain "$1: the run failed"
    [ -n "$(digest "$1")" ] && [ "$(digest "$1")" = "$(digest alone)" ] ||
        complain "$1: other weights: $(cat "$work/$1.err")"
}

begun() { # name
    tries=0
    until grep -qs 'Step=200,' "$work/$1.out"; do
        tries=$((tries + 1))
        [ $tries -lt 6000 ] || { complain "$1: it did not begin"; return; }
        sleep 0.01
    done
}

of() { # pattern of a command line: the first such process of this test
    for pid in $(ps -eo pid=,args= | awk -v p="$1" '$0 ~ p && !/awk/ { print $1 }'); do
        grep -qsaF "$work" "/proc/$pid/environ" "/proc/$pid/cmdline" && echo "$pid" && return
    done
}

launch alone
wait $process
several together "$options"
same together

several client "$options"
begun client
kill -9 "$(of ' ssh .* 127.0.0.2 ')" || complain 'client: nothing to kill'
same client

several agent "$options"
begun agent
kill -9 "$(of '^ *[0-9]+ [^ ]*/csengine agent$')" || complain 'agent: nothing to kill'
same agent
grep -q 'host 127.0.0.2 is lost' "$work/agent.err" || complain "agent: $(cat "$work/agent.err")"

refused() { # name, words that must be told, options of ssh
    several "$1" "$3"
    wait $process
    [ $? -eq 69 ] || complain "$1: not with exit code 69"
    grep -q "$2" "$work/$1.err" || complain "$1: $(cat "$work/$1.err")"
}
: >"$work/nobody"
refused unknown 'Host key verification failed' \
    "-o UserKnownHostsFile=$work/nobody $options"
refused stranger 'Permission denied' "$(echo "$options" | sed 's/user.key/other.key/')"
[ -z "$(of '/csengine agent$')" ] || complain 'agents are left'
exit $failed
