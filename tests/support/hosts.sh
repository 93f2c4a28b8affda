# Several hosts on one machine, for test scripts: network namespaces on a bridge, each with a
# hostname, a /tmp and process numbers of its own. To be sourced:
#
#     . "$top_srcdir/tests/support/hosts.sh"
#     hosts_enter "$0" "$@"       # starts the script again in namespaces of its own, or skips it
#     hosts_make 3                # n1, n2, n3 at 10.99.0.11, .12, .13; this script is at 10.99.0.1
#     hosts_link n2 1gbit         # what n2 sends and receives is limited
#     hosts_on n2 sh -c 'hostname' &
#     hosts_sent n2; hosts_received n2     # bytes on the wire, so far
#     hosts_down n2; hosts_up n2           # its cable; nobody is told
#     hosts_group n2 1                     # hosts of different groups do not reach each other
#     hosts_kill n2; hosts_boot n2         # as by power: all its processes, at once
#
# All lies in one private mount, network, process, hostname and IPC namespace, whose first process
# is the child of this script's: when the script ends, whatever ends it, the kernel ends all
# processes and removes all that was made. Every mount is private, so nothing reaches the machine.
# $hosts_folder is seen by all hosts, as a shared file system.

# Says why hosts cannot be made here; silent when they can.
hosts_obstacle() {
    [ "$(id -u)" -eq 0 ] || { echo 'not root'; return; }
    for hosts_tool in ip tc unshare nsenter hostname mount; do
        command -v "$hosts_tool" >/dev/null || { echo "no $hosts_tool"; return; }
    done
    unshare -m -n -p -u -i -f --mount-proc --kill-child true 2>/dev/null ||
        { echo 'no namespaces may be made'; return; }
    unshare -n sh -c 'ip link add br0 type bridge && ip link add v1 type veth peer name v2 &&
        tc qdisc add dev v1 root tbf rate 1gbit burst 256kb latency 50ms' >/dev/null 2>&1 ||
        echo 'the kernel has no bridges, veth devices or traffic limits'
}

hosts_skip() { # reason
    echo "skipped: $*"
    exit 77
}

hosts_enter() { # script, arguments...
    if [ -z "${HOSTS_INSIDE-}" ]; then
        hosts_why=$(hosts_obstacle)
        [ -z "$hosts_why" ] || hosts_skip "hosts need root and namespaces: $hosts_why"
        # The first process takes the ended children of others, which a script need not wait for.
        HOSTS_INSIDE=yes exec unshare -m -n -p -u -i -f --mount-proc --kill-child \
            sh -c 'sh "$@" & wait $!' init "$@"
    fi
    mount --make-rprivate /
    mount -t tmpfs run /run
    hosts_folder=/run/hosts
    mkdir "$hosts_folder"
    hostname head
    sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null || :
    ip link set lo up
    ip link add br0 type bridge
    ip link set br0 up
    ip addr add 10.99.0.1/24 dev br0
    printf '127.0.0.1 localhost\n10.99.0.1 head\n' >"$hosts_folder/hosts"
    mount --bind "$hosts_folder/hosts" /etc/hosts
    cat >"$hosts_folder/on" <<'ON'
#!/bin/sh
# on HOST COMMAND...: runs it there, in this folder; as the template of a launcher, too.
host=$1
shift
exec nsenter -t "$(cat "/run/hosts/$host.init")" -m -n -p -u -i \
    sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
ON
    chmod 755 "$hosts_folder/on"
}

hosts_address() { echo "10.99.0.$((10 + ${1#n}))"; } # host

# The template for the host launcher exec.
hosts_template() { echo "$hosts_folder/on {host} {command}"; }

hosts_make() { # how many
    hosts_count=$1
    for hosts_k in $(seq "$hosts_count"); do
        echo "10.99.0.$((10 + hosts_k)) n$hosts_k" >>"$hosts_folder/hosts"
    done
    for hosts_k in $(seq "$hosts_count"); do
        ip netns add "n$hosts_k"
        ip link add "v$hosts_k" type veth peer name e0 netns "n$hosts_k"
        ip link set "v$hosts_k" master br0 up
        ip netns exec "n$hosts_k" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null || :
        ip -n "n$hosts_k" addr add "10.99.0.$((10 + hosts_k))/24" dev e0
        ip -n "n$hosts_k" link set lo up
        ip -n "n$hosts_k" link set e0 up
        hosts_boot "n$hosts_k"
    done
}

# The first process of a host. Its /tmp hides the machine's, but for the tree that is tested.
hosts_boot() { # host
    rm -f "$hosts_folder/$1.init"
    nsenter --net="/run/netns/$1" unshare -m -u -i -p -f --mount-proc --kill-child sh -c '
        hostname "$0"
        mkdir -p /run/outer_tmp
        mount --bind /tmp /run/outer_tmp
        mount -t tmpfs tmp /tmp
        chmod 1777 /tmp
        for tree in "$1" "$2"; do
            case $tree in
            /tmp/*) mkdir -p "$tree" && mount --bind "/run/outer_tmp/${tree#/tmp/}" "$tree" ;;
            esac
        done
        : >"/run/hosts/$0.up"
        while :; do sleep 1000 & wait $!; done' \
        "$1" "$(cd "${top_srcdir:-.}" && pwd)" "$(cd "${top_builddir:-.}" && pwd)" \
        >/dev/null 2>&1 </dev/null &
    hosts_outer=$!
    while [ ! -e "$hosts_folder/$1.up" ]; do
        kill -0 $hosts_outer || { echo "host $1 did not start"; exit 1; }
        sleep 0.01
    done
    rm "$hosts_folder/$1.up"
    tr -d ' ' <"/proc/$hosts_outer/task/$hosts_outer/children" >"$hosts_folder/$1.init"
    echo "$hosts_outer" >"$hosts_folder/$1.outer"
    ip link set "v${1#n}" up
}

hosts_on() { "$hosts_folder/on" "$@"; } # host, command...

# Power loss: the cable first, so that no connection says good-bye.
hosts_kill() { # host
    hosts_down "$1"
    kill -KILL "$(cat "$hosts_folder/$1.init")"
    wait "$(cat "$hosts_folder/$1.outer")" 2>/dev/null || :
}

hosts_down() { ip link set "v${1#n}" down; } # host
hosts_up() { ip link set "v${1#n}" up; }     # host

# Each group but 0 is a bridge without an address.
hosts_group() { # host, number
    ip link show "br$2" >/dev/null 2>&1 || ip link add "br$2" type bridge
    ip link set "br$2" up
    ip link set "v${1#n}" master "br$2"
}

# Says why messages cannot be delayed here; silent when they can.
hosts_delay_obstacle() {
    unshare -n tc qdisc add dev lo root netem delay 1ms 2>/dev/null ||
        echo 'the kernel has no netem'
}

# Limits both directions of a host; without a rate, no limit.
hosts_link() { # host, rate (1gbit), delay of each message it sends (5ms)
    hosts_parent=root
    [ -z "${2-}" ] || hosts_parent="parent 1:1"
    for hosts_end in "-n $1 e0" "v${1#n}"; do
        hosts_device=${hosts_end##* }
        hosts_where=${hosts_end% *}
        [ "$hosts_where" != "$hosts_end" ] || hosts_where=
        # shellcheck disable=SC2086 # an option and its value, or nothing
        tc $hosts_where qdisc del dev "$hosts_device" root 2>/dev/null || :
        [ -z "${2-}" ] || tc $hosts_where qdisc add dev "$hosts_device" root handle 1: \
            tbf rate "$2" burst 256kb latency 50ms
        [ -z "${3-}" ] || [ -z "$hosts_where" ] || tc $hosts_where qdisc add dev "$hosts_device" \
            $hosts_parent netem delay "$3"
    done
}

# Bytes of the frames that a host has sent, or received, since it was made. The kernel leaves what
# stays on one machine in frames of up to 64 KiB, so headers are a thousandth of them.
hosts_sent() { hosts_counter "$1" 2; }      # host
hosts_received() { hosts_counter "$1" 10; } # host
hosts_counter() {                           # host, column of its port of the bridge
    awk -v port="v${1#n}:" -v column="$2" '$1 == port { print $column }' /proc/net/dev
}
