# Runs as a service of a booted Debian, with /lockgw.deb and /next.deb.
set -euo pipefail
trap 'echo "failed in line $LINENO: $BASH_COMMAND"' ERR
fail() { echo "$1"; exit 1; }
exec 2>&1

sockets=(lockgw-http.socket lockgw-resp.socket lockgw-tcp.socket)
main() { systemctl show -P MainPID lockgw; }
until_true() { # seconds, command...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || fail "still not: $*"
		sleep 0.1
	done
}
status() { curl -sS "localhost:7420/v1/locks/$1"; }
fence() { status "$1" | sed -n 's/.*"state":"held".*"fence":\([0-9]*\).*/\1/p'; }
held() { [ -n "$(fence "$1")" ]; }
free() { ! held "$1"; }
logged() { journalctl -q -u lockgw | grep "$1" >/dev/null; } # -q would break the pipe
another() { [ "$(main)" != 0 ] && [ "$(main)" != "$1" ]; } # process than this

echo "== install, $(systemctl --version | head -n 1)"
dpkg -i /lockgw.deb >/tmp/dpkg.log
systemctl is-active lockgw.service "${sockets[@]}" >/dev/null || fail 'the installation does not start it all'
systemctl is-enabled lockgw.service "${sockets[@]}" >/dev/null || fail 'the installation does not enable it all'
lockgw doctor

echo '== sockets'
want() { [ "$(stat -c '%U:%G %a' "$1")" = "$2" ] || fail "$1 is $(stat -c '%U:%G %a' "$1"), want $2"; }
want /run/lockgw 'root:root 755'
want /run/lockgw/http.sock 'root:lockgw 660'
want /run/lockgw/resp.sock 'root:lockgw 660'
want /var/lib/lockgw 'lockgw:lockgw 700'
for call in 'curl -fsS localhost:7420/livez' 'curl -fsS --unix-socket /run/lockgw/http.sock http://lockgw/livez' 'lockgw ls'; do
	systemctl stop lockgw.service 2>/dev/null
	[ "$(main)" = 0 ] || fail 'a stop does not stop it'
	$call >/dev/null || fail "it is not started by: $call"
done
useradd alice --groups lockgw
useradd bob
as() { setpriv --reuid "$1" --regid "$1" --init-groups "${@:2}"; }
as alice lockgw run nightly -- true || fail 'a member of the group may not use the socket'
! as bob lockgw run nightly -- true 2>/dev/null || fail 'anybody may use the socket'
as alice curl -fsS -o /dev/null -X PUT --unix-socket /run/lockgw/http.sock "http://lockgw/v1/locks/bound?bind=pid:$$" 2>/dev/null &&
	fail 'one may bind to a process of root'
as alice bash -c 'curl -fsS -o /dev/null -X PUT --unix-socket /run/lockgw/http.sock "http://lockgw/v1/locks/bound?bind=pid:$$"; exec sleep 2' ||
	fail 'the sandbox hides the processes of clients'
until_true 10 free bound

echo '== another group'
groupadd people
usermod -aG people bob
for socket in http resp; do
	mkdir "/etc/systemd/system/lockgw-$socket.socket.d"
	printf '[Socket]\nSocketGroup=people\n' >"/etc/systemd/system/lockgw-$socket.socket.d/override.conf"
done
systemctl daemon-reload
regroup() { systemctl restart lockgw.service lockgw-http.socket lockgw-resp.socket; } # as docs/systemd.md has it
regroup
want /run/lockgw/http.sock 'root:people 660'
want /run/lockgw/resp.sock 'root:people 660'
as bob lockgw run nightly -- true || fail 'a member of another group, which was let in, may not use the socket'
rm -r /etc/systemd/system/lockgw-{http,resp}.socket.d
systemctl daemon-reload
regroup
want /run/lockgw/resp.sock 'root:lockgw 660'

echo '== sandbox'
systemd-analyze security --no-pager --threshold=20 lockgw | tail -n 1
pid=$(main)
for line in "Uid:.*$(id -u lockgw)" 'CapEff:.*0000000000000000' 'CapBnd:.*0000000000000000' 'NoNewPrivs:.*1' 'Seccomp:.*2'; do
	grep -q "^$line" "/proc/$pid/status" || fail "the process has: $(grep "^${line%%:*}" "/proc/$pid/status")"
done
inside() { nsenter -t "$pid" -m "$@"; }
for dir in / /etc /etc/lockgw /usr /var /opt; do
	! inside touch "$dir/mine" 2>/dev/null || fail "it may write to $dir"
done
inside touch /var/lib/lockgw/mine && rm /var/lib/lockgw/mine
touch /root/mine /home/mine
for file in /root/mine /home/mine; do
	! inside test -e $file || fail 'it sees into homes'
done
! inside test -e /dev/console || fail 'it sees devices'

echo '== reload'
printf 'log: {level: debug}\n' >>/etc/lockgw/lockgw.yaml
systemctl reload lockgw
until_true 10 logged reloaded
[ "$(main)" = "$pid" ] || fail 'a reload is a restart'

echo '== watchdog'
T=$(curl -fsS -X PUT -H 'Accept: text/plain' 'localhost:7420/v1/locks/held?max_hold=1h')
held_fence=$(fence held)
lockgw run --ttl 1m job -- sleep 1000 2>/tmp/run.log &
run=$!
until_true 10 held job
job_fence=$(fence job)
kept() {
	[ "$(fence held)" = "$held_fence" ] || fail "$1: the lock is lost: $(status held)"
	[ "$(fence job)" = "$job_fence" ] || fail "$1: the lock of lockgw run is lost: $(status job)"
	kill -0 $run || fail "$1: lockgw run has ended: $(cat /tmp/run.log)"
}
kept 'at first'
sleep 9 # so that the last renewal is nearly a third of the lease ago
since=$SECONDS
kill -STOP "$pid"
until_true 90 another "$pid"
curl -fsS localhost:7420/livez >/dev/null
echo "back after $((SECONDS - since)) s"
kept 'after a hang'
logged 'goroutine 1 ' || fail 'the journal has no stacks of the gateway that hung'

echo '== restarts under load'
mkdir /tmp/load
bash /boot_load.sh /tmp/load &
load=$!
for _ in 1 2 3 4 5; do
	sleep 1
	pid=$(main)
	systemctl restart lockgw
	[ "$(main)" != "$pid" ] || fail 'a restart does not restart it'
	kept 'after a restart'
done
echo '== an upgrade under load'
pid=$(main)
dpkg -i /next.deb >>/tmp/dpkg.log
[ "$(main)" != "$pid" ] || fail 'an upgrade leaves the old one running'
kept 'after an upgrade'
sleep 1
touch /tmp/load/enough
wait $load
echo "taken and given back: $(cat /tmp/load/count.tcp) over TCP, $(cat /tmp/load/count.unix) over http.sock, $(cat /tmp/load/count.run) by lockgw run"
[ ! -e /tmp/load/wrong ] || fail "under load: $(sort /tmp/load/wrong | uniq -c)"
curl -fsS -o /dev/null -X DELETE --oauth2-bearer "$T" localhost:7420/v1/locks/held || fail 'the token is forgotten'
kill $run
wait $run || true
userdel alice
userdel bob
cp /usr/bin/lockgw /by_hand

echo '== purge'
dpkg -P lockgw >>/tmp/dpkg.log
! systemctl is-active lockgw.service "${sockets[@]}" >/dev/null || fail 'a purge leaves something running'
! systemctl cat lockgw.service >/dev/null 2>&1 || fail 'systemd still knows the service'
systemctl --failed --no-legend | grep lockgw && fail 'a purge leaves a failed unit'
left=$(find /run /var /etc /usr -xdev -iname '*lockgw*' -not -path '/var/lib/dpkg/*' -not -path '/var/log/*' -not -path '/run/systemd/*' -not -path '/run/credentials/*')
[ -z "$left" ] || fail "a purge leaves: $left"
! getent passwd lockgw || fail 'a purge leaves the user'

echo '== by hand'
useradd alice
cd /by_hand
bash -ex commands >/tmp/by_hand.log 2>&1 || fail "$(cat /tmp/by_hand.log)"
systemctl is-active lockgw.service "${sockets[@]}" >/dev/null || fail 'the commands of docs/systemd.md do not start it all'
as alice lockgw run nightly -- true || fail 'the member of the group may not use the socket'

echo '== without TCP' # as docs/systemd.md has it
systemctl mask -q --now lockgw-tcp.socket || fail 'the socket cannot be masked'
mkdir -p /etc/lockgw
printf 'http: {listen: []}\n' >/etc/lockgw/lockgw.yaml
systemctl restart lockgw.service
! curl -s localhost:7420/livez >/dev/null || fail 'it still answers over TCP'
as alice lockgw run nightly -- true || fail 'without TCP it does not serve its sockets'
echo ok
