#!/usr/bin/env bash
# Boots a Debian with systemd in a container and installs the package of
# bin/packages there: sockets, sandbox, watchdog, restarts and an upgrade under
# load, removal. Needs root. Ends with "ok" or with the line that failed.
#
#   deploy/packages/boot.sh [bookworm|trixie]
set -euo pipefail
cd "$(dirname "$0")/../.."
suite=${1:-bookworm}
[ "${2-}" = contained ] || exec deploy/contained.sh deploy/packages/boot.sh "$suite" contained
. deploy/packages/root.sh

needs systemd-nspawn=systemd-container dpkg-deb=dpkg
debs=(bin/packages/lockgw_*_"$(dpkg --print-architecture)".deb)
[ -f "${debs[0]}" ] || { echo "no package in bin/packages: run make packages" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
root_with "$root" "$suite" curl,systemd,systemd-sysv,dbus

cp "${debs[0]}" "$root/lockgw.deb"
# The next version, for an upgrade.
dpkg-deb -R "${debs[0]}" "$work/next"
sed -i 's/^Version: .*/&+next/' "$work/next/DEBIAN/control"
dpkg-deb -Znone -b "$work/next" "$root/next.deb" >/dev/null

cp deploy/packages/boot_steps.sh deploy/packages/boot_load.sh "$root"
# What docs/systemd.md says for those who have no package, where its commands find what they install.
mkdir "$root/by_hand"
cp -r --parents deploy/systemd "$root/by_hand"
sed -n '/^```sh$/,/^```$/p' docs/systemd.md | sed -e 1d -e '/^```$/,$d' >"$root/by_hand/commands"
cat >"$root/etc/systemd/system/boot-test.service" <<'END'
[Unit]
SuccessAction=exit
FailureAction=exit
[Service]
Type=exec
ExecStart=/bin/bash /boot_steps.sh
Environment=HOME=/root
StandardOutput=append:/steps.log
StandardError=append:/steps.log
[Install]
WantedBy=multi-user.target
END
systemctl --root "$root" -q enable boot-test.service

echo "== $suite, ${debs[0]}"
# systemd-nspawn keeps things of its own in /run, and wants that in memory.
mount -t tmpfs tmpfs /run
: >"$root/steps.log"
tail -f -n +1 "$root/steps.log" &
tail=$!
status=0
timeout 600 systemd-nspawn --quiet --register=no --keep-unit --boot --private-network --console=pipe \
	-D "$root" </dev/null >"$work/console" 2>&1 || status=$?
sleep 1 # for the last lines
kill $tail
[ $status = 0 ] && grep -qx ok "$root/steps.log" && exit
echo "it ended with $status; the last of the console, and of the journal:" >&2
tail -n 20 "$work/console" >&2
journalctl -D "$root/var/log/journal" -u lockgw.service -n 60 --no-pager >&2 || true
exit 1
