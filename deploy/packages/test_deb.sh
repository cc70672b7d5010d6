# Runs in a clean Debian with /lockgw.deb.
set -euo pipefail
trap 'echo "failed in line $LINENO: $BASH_COMMAND" >&2' ERR
fail() { echo "$1" >&2; exit 1; }

list() { # every file that is not the package manager's or a backup of useradd's
	find / -xdev \( -path /proc -o -path /run -o -path /tmp -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path '/etc/*-' \) -prune -o -print | sort
}

list >/tmp/before
cp /etc/passwd /etc/group /tmp

dpkg -i /lockgw.deb
lockgw version
[ "$(stat -c '%U %a' /usr/bin/lockgw)" = 'root 755' ] || fail 'the program is not root:755'
! ldd /usr/bin/lockgw >/dev/null 2>&1 || fail 'the program is not static'
for f in /usr/lib/systemd/system/lockgw{.service,-http.socket,-resp.socket,-tcp.socket} /etc/lockgw/lockgw.yaml \
	/usr/share/man/man1/lockgw.1.gz /usr/share/bash-completion/completions/lockgw \
	/usr/share/zsh/vendor-completions/_lockgw /usr/share/fish/vendor_completions.d/lockgw.fish /usr/share/doc/lockgw/{copyright,CHANGELOG.md.gz}; do
	[ "$(stat -c '%U:%G %a' "$f")" = 'root:root 644' ] || fail "$f is not root:root 644"
done
for f in sockets.target.wants/lockgw-{http,resp,tcp}.socket multi-user.target.wants/lockgw.service; do
	[ -L "/etc/systemd/system/$f" ] || fail "$f is not enabled"
done
getent passwd lockgw | grep -q nologin || fail 'no user lockgw without a shell'
lockgw config check --config /etc/lockgw/lockgw.yaml

start_gateway
[ "$(lockgw run nightly -- sh -c 'echo $LOCKGW_LOCK')" = nightly ]
stop_gateway

echo '# mine' >>/etc/lockgw/lockgw.yaml
# systemctl, as far as the package asks: it writes down what for.
mkdir -p /run/systemd/system
printf '#!/bin/sh\necho "$@" >>/tmp/systemctl.log\ncase "$*" in *is-enabled*) echo enabled ;; esac\n' >/usr/bin/systemctl
chmod +x /usr/bin/systemctl

dpkg -i /lockgw.deb # as at an upgrade
grep -q 'try-restart lockgw.service' /tmp/systemctl.log || fail 'an upgrade does not exchange the service'
! grep -q -e stop -e 'start.*socket' /tmp/systemctl.log || fail 'an upgrade closes sockets'
grep -q '^# mine$' /etc/lockgw/lockgw.yaml || fail 'an upgrade loses the configuration'

dpkg -r lockgw
grep -q 'stop.*lockgw-http.socket' /tmp/systemctl.log || fail 'a removal leaves sockets open'

rm /tmp/systemctl.log
dpkg -i /lockgw.deb # what was removed does not run: all has to be started, as at the first time
grep -q ' start .*lockgw-http.socket' /tmp/systemctl.log && grep -q ' start .*lockgw.service' /tmp/systemctl.log ||
	fail 'an installation after a removal starts nothing'
dpkg -r lockgw
rm -r /usr/bin/systemctl /run/systemd
[ -f /etc/lockgw/lockgw.yaml ] || fail 'a removal takes the configuration'
[ -f /var/lib/lockgw/journal ] || fail 'a removal takes the state'

mount --bind /var/lib/lockgw /var/lib/lockgw # as one that is on a file system of its own
dpkg -P lockgw || fail 'a purge stops where the state has a file system of its own'
[ -z "$(ls -A /var/lib/lockgw)" ] || fail 'a purge leaves the state'
umount /var/lib/lockgw
rmdir /var/lib/lockgw
list >/tmp/after
diff /tmp/before /tmp/after || fail 'a purge leaves files'
diff /tmp/passwd /etc/passwd && diff /tmp/group /etc/group || fail 'a purge leaves the user'

dpkg -i /lockgw.deb
useradd --no-create-home --gid lockgw alice
dpkg -P lockgw || fail 'a purge stops where somebody has the group for a primary one'
getent passwd alice || fail 'a purge takes a user that is not its own'
