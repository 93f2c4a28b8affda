#!/bin/sh
# The hosts that tests make on one machine (tests/support/hosts.sh): they reach each other, have
# names, files and processes of their own, keep to their rate, count what they send, can be cut off
# and killed; and none of it is seen outside.
set -u
. "${top_srcdir:?}/tests/support/hosts.sh"
if [ -z "${HOSTS_INSIDE-}" ]; then
    hosts_why=$(hosts_obstacle)
    [ -z "$hosts_why" ] || hosts_skip "hosts need root and namespaces: $hosts_why"
    look() { # what of the machine could have changed
        stat -c '%F %t %T' /dev/null
        ls /run/netns 2>&1
        ip -o link | sed 's/@.*//; s/:.*state/ state/'
        hostname
        cksum /etc/hosts
        grep -c . /proc/self/mountinfo
        cat /proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null
    }
    before=$(look)
    HOSTS_TEST_BACK=$(mktemp)
    export HOSTS_TEST_BACK
    trap 'rm -f "$HOSTS_TEST_BACK"' EXIT
    (hosts_enter "$0" "$@")
    code=$?
    if [ "$before" != "$(look)" ]; then
        echo 'the machine is not as it was:'
        echo "$before"
        look
        code=1
    fi
    left=$(cat "$HOSTS_TEST_BACK")
    [ -n "$left" ] || { echo 'the script was not run to its end'; code=1; }
    for mark in $left; do # a sleep with this argument ran on a host
        if pgrep -f "sleep $mark" >/dev/null; then
            echo "a process of a host is left: sleep $mark"
            code=1
        fi
    done
    exit $code
fi
hosts_enter "$0" "$@"
failed=0
complain() {
    echo "$*"
    failed=1
}

holds() { awk "BEGIN { exit !($1) }"; } # a condition on numbers

hosts_make 3
for host in n1 n2 n3; do
    [ "$(hosts_on $host hostname)" = $host ] || complain "$host has another name"
done
hosts_on n1 touch /tmp/mine
hosts_on n2 test ! -e /tmp/mine || complain 'n2 sees the /tmp of n1'
[ ! -e /tmp/mine ] || complain 'the /tmp of n1 is seen outside'
hosts_on n1 touch "$hosts_folder/shared"
hosts_on n2 test -e "$hosts_folder/shared" || complain 'n2 does not see the shared folder'
hosts_on n1 test -x "$CSENGINE_EXECUTABLE" || complain 'n1 does not see the program'
hosts_on n3 sh -c 'exit 7'
[ $? -eq 7 ] || complain 'an exit code is lost'
[ "$(cd / && hosts_on n1 pwd)" = / ] || complain 'a command runs in another folder'
hosts_on n1 sh -c 'test $(ls -d /proc/[0-9]* | wc -l) -lt 8' || complain 'n1 sees other processes'

# Sends BYTES from host A to host B; prints seconds from connect to the receiver's answer. Fails
# when it takes longer than LIMIT seconds.
cat >"$hosts_folder/receive.py" <<'END'
import socket, sys
server = socket.create_server((sys.argv[1], 7000))
open(sys.argv[2], "w").close()
peer, _ = server.accept()
while peer.recv(1 << 16):
    pass
peer.sendall(b"!")
END
cat >"$hosts_folder/send.py" <<'END'
import socket, sys, time
begun = time.monotonic()
peer = socket.create_connection((sys.argv[1], 7000), float(sys.argv[3]))
peer.sendall(bytes(int(sys.argv[2])))
peer.shutdown(socket.SHUT_WR)
assert peer.recv(1) == b"!"
print(time.monotonic() - begun)
END
transfer() { # from, to, bytes, limit
    rm -f "$hosts_folder/listens"
    hosts_on "$2" python3 "$hosts_folder/receive.py" "$(hosts_address "$2")" \
        "$hosts_folder/listens" &
    receiver=$!
    for _ in $(seq 500); do
        [ ! -e "$hosts_folder/listens" ] || break
        sleep 0.02
    done
    hosts_on "$1" python3 "$hosts_folder/send.py" "$2" "$3" "$4" 2>"$hosts_folder/send.err"
    transferred=$?
    kill $receiver 2>/dev/null
    hosts_on "$2" pkill -f receive.py
    wait $receiver 2>/dev/null
    return $transferred
}

# What is counted: the bytes and their headers, 66 bytes in each frame of up to 64 KiB, into which
# the kernel cuts what stays on one machine.
sent=$(hosts_sent n1)
received=$(hosts_received n2)
other=$(hosts_received n3)
transfer n1 n2 20000000 60 >/dev/null || complain 'n1 does not reach n2'
sent=$(($(hosts_sent n1) - sent))
received=$(($(hosts_received n2) - received))
other=$(($(hosts_received n3) - other))
echo "20000000 bytes: n1 sent $sent, n2 received $received, n3 received $other"
for count in "$sent" "$received"; do
    [ "$count" -ge 20000000 ] && [ "$count" -le 20900000 ] || complain "counted: $count"
done
[ "$other" -lt 10000 ] || complain "n3 received $other bytes that were not for it"

# A rate holds within a tenth; a busy machine may make one attempt slower.
hosts_link n2 100mbit
for attempt in 1 2 3; do
    seconds=$(transfer n1 n2 25000000 60) || complain 'no transfer at 100 Mbit/s'
    rate=$(awk -v s="$seconds" 'BEGIN { print 25000000 * 8 / s / 1e6 }')
    echo "attempt $attempt: $rate Mbit/s of 100 at the receiver's link"
    close=no
    holds "$rate > 90 && $rate < 110" && close=yes && break
done
[ $close = yes ] || complain 'the rate is off by more than a tenth'
seconds=$(transfer n2 n1 12500000 60) || complain 'no transfer at 100 Mbit/s'
holds "$seconds > 0.9" || complain 'n2 sends faster than its rate'
hosts_link n2
seconds=$(transfer n1 n2 25000000 60) || complain 'no transfer without a limit'
holds "$seconds < 1.8" || complain "the limit stays: $seconds s"

why=$(hosts_delay_obstacle)
if [ -n "$why" ]; then
    echo "not tested: delays: $why"
else
    hosts_link n2 '' 100ms
    seconds=$(transfer n1 n2 1000 60) || complain 'no transfer with a delay'
    holds "$seconds > 0.2" || complain "no delay: $seconds s"
    hosts_link n2
fi

# Cut off, in another group, killed.
hosts_down n2
transfer n1 n2 1000 1 >/dev/null && complain 'n1 reaches n2, whose cable is out'
hosts_up n2
transfer n1 n2 1000 30 >/dev/null || complain 'n1 does not reach n2 again'
hosts_group n2 1
hosts_group n3 1
transfer n1 n2 1000 1 >/dev/null && complain 'n1 reaches n2 of another group'
transfer n3 n2 1000 30 >/dev/null || complain 'n3 does not reach n2 of its group'
hosts_group n2 0
hosts_group n3 0
transfer n1 n2 1000 30 >/dev/null || complain 'n1 does not reach n2 of its group again'
mark=98765.$$
hosts_on n2 sh -c "setsid sleep $mark & sleep $mark" &
command=$!
for _ in $(seq 500); do
    [ "$(pgrep -fc "^sleep $mark")" != 2 ] || break
    sleep 0.02
done
[ "$(pgrep -fc "^sleep $mark")" = 2 ] || complain 'the processes of n2 are not seen'
hosts_kill n2
wait $command
[ $? -ge 128 ] || complain 'the command on n2 outlived it'
pgrep -f "^sleep $mark" && complain 'processes of n2 outlived it'
hosts_boot n2
[ "$(hosts_on n2 hostname)" = n2 ] || complain 'n2 does not start again'
transfer n1 n2 1000 30 >/dev/null || complain 'n1 does not reach n2 after it was started again'

# One that is left behind, for the outer script to look for.
hosts_on n3 setsid sleep 4321.$$ &
sleep 0.2
echo "$mark 4321.$$" >"$HOSTS_TEST_BACK"
exit $failed
