#!/usr/bin/env bash
# Runs a command with mounts and a cgroup (version 2) of its own, also on a machine
# that has both versions. Whatever the command leaves running is killed. Needs root.
#
#   deploy/contained.sh COMMAND ARGS...
#   deploy/contained.sh --root COMMAND ARGS...    the group is the root of all that it sees
set -euo pipefail

case ${CONTAINED-} in
'')
	[ "$(id -u)" = 0 ] || { echo 'needs root' >&2; exit 1; }
	unshare --mount true 2>/dev/null || { echo 'no mounts can be made here, so no container can run' >&2; exit 1; }
	CONTAINED=mounts exec unshare --mount "$0" "$@"
	;;
mounts)
	umount -l -R /sys/fs/cgroup
	mount -t cgroup2 cgroup2 /sys/fs/cgroup || { echo 'cgroups of version 2 cannot be mounted here, so no container can run' >&2; exit 1; }
	group=/sys/fs/cgroup/lockgw-test.$$
	mkdir "$group"
	trap : INT TERM # the command gets these too; what it leaves is still to be killed
	status=0
	(
		echo "$BASHPID" >"$group/cgroup.procs"
		unset CONTAINED
		[ "$1" = --root ] || exec "$@"
		shift
		CONTAINED=root exec unshare --mount --cgroup "$0" "$@"
	) || status=$?
	echo 1 >"$group/cgroup.kill"
	for _ in $(seq 100); do
		find "$group" -depth -type d -exec rmdir {} + 2>/dev/null && break
		sleep 0.1
	done
	exit $status
	;;
root)
	umount -l /sys/fs/cgroup
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	# A group that has processes can give its groups no controllers.
	mkdir /sys/fs/cgroup/self
	echo $$ >/sys/fs/cgroup/self/cgroup.procs
	unset CONTAINED
	exec "$@"
	;;
esac
