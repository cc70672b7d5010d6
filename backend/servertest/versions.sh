#!/usr/bin/env bash
# Runs the tests of the stores with servers of other versions than this machine has: in roots
# made of the packages of other releases of Debian and Ubuntu. Needs root, and Debian.
#
#   backend/servertest/versions.sh            all
#   backend/servertest/versions.sh PART...    those whose names have one of the parts
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/packages/root.sh

# name, release, packages, store
versions='
redis-8        trixie   redis-server                            redis
valkey-8       trixie   valkey-server                           redis
valkey-9       sid      valkey-server                           redis
postgresql-12  focal    postgresql,pgbouncer                    postgres
postgresql-14  jammy    postgresql,pgbouncer                    postgres
postgresql-16  noble    postgresql,pgbouncer                    postgres
postgresql-17  trixie   postgresql,pgbouncer                    postgres
postgresql-18  sid      postgresql,pgbouncer                    postgres
mysql-8.0      noble    mysql-server-core-8.0                   mysql
mysql-8.4      resolute mysql-server-core                       mysql
mysql-9        sid      mysql-server-core                       mysql
mariadb-10.6   jammy    mariadb-server                          mysql
mariadb-11     trixie   mariadb-server                          mysql
etcd-3.5       trixie   etcd-server                             etcd
zookeeper-3.9  trixie   libzookeeper-java,default-jre-headless  zookeeper
'

# --in ROOT STORE: the script calls itself with mounts of its own, which are gone with it. Who
# removes the root never sees what of this machine is mounted there.
if [ "${1-}" = --in ]; then
	root=$2 store=$3
	show() { # directory of this machine, where in the root, option
		mkdir -p "$root$2"
		mount -o "bind$3" "$1" "$root$2"
	}
	show . /src ,ro
	show "$(go env GOROOT)" /usr/local/go ,ro
	show "$(go env GOMODCACHE)" /root/go/pkg/mod ,ro
	show "$(go env GOCACHE)" /root/.cache/go-build ''
	mount --rbind /dev "$root/dev"
	mount --rbind /sys "$root/sys"
	mount -t tmpfs tmpfs "$root/tmp"
	in_root "$root" "$store" <<-'END'
		echo 127.0.0.1 localhost "$(uname -n)" >/etc/hosts
		export PATH=/usr/local/go/bin:$PATH GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-buildvcs=false
		for f in /usr/bin/valkey-*; do # under the names that Redis has for them
			[ ! -e "$f" ] || ln -sf "$f" "/usr/bin/redis-${f#*-}"
		done
		[ ! -e /usr/sbin/mysqld ] || [ -e /usr/sbin/mariadbd ] || export LOCKGW_MYSQLD=/usr/sbin/mysqld
		cd /src
		go test -count=1 -timeout 20m "./backend/$1/..."
	END
	exit
fi

chosen() { # name, parts...
	[ $# -gt 1 ] || return 0
	local part
	for part in "${@:2}"; do
		[[ $1 != *$part* ]] || return 0
	done
	return 1
}

needs unshare=util-linux ip=iproute2 mmdebstrap=mmdebstrap
go mod download
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # apt reads keys in it as another user
ran=0 failed=
while read -r name release packages store; do
	[ "$name" ] && chosen "$name" "$@" || continue
	echo "== $name"
	case $release in
	focal | jammy | noble | resolute)
		[ -d "$work/keys" ] || root_with "$work/keys" trixie curl,ubuntu-archive-keyring
		options=(--components=main,universe --keyring="$work/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg")
		;;
	*) options=(--aptopt='Acquire::Check-Valid-Until "false"') ;; # a copy that is some days old is good enough
	esac
	root=$work/$name
	root_with "$root" "$release" "curl,ca-certificates,netcat-openbsd,openssl,procps,$packages" "${options[@]}"
	unshare --mount "$0" --in "$root" "$store" </dev/null || failed+=" $name"
	rm -rf "$root"
	ran=$((ran + 1))
done <<<"$versions"
[ "$ran" -gt 0 ] || { echo "no version has $* in its name" >&2; exit 1; }
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
echo ok
