#!/usr/bin/env bash
# Installs, upgrades, removes and purges the packages of bin/packages in clean
# roots, with a gateway and a lock in between. Needs root. Ends with "ok" or with
# the line that failed.
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/packages/root.sh

needs rpm=rpm ip=iproute2
roots=$(mktemp -d)
trap 'rm -rf "$roots"' EXIT

# only NAME PATTERN: the one file of that pattern
only() {
	local found=(bin/packages/$1)
	[ ${#found[@]} -eq 1 ] && [ -f "${found[0]}" ] || { echo "want one $1 in bin/packages: run make packages" >&2; return 1; }
	echo "${found[0]}"
}

case $(uname -m) in
x86_64) sbom=$(only 'lockgw_*_amd64.cdx.json') deb=$(only 'lockgw_*_amd64.deb') rpm=$(only 'lockgw-*.x86_64.rpm') ;;
aarch64) sbom=$(only 'lockgw_*_arm64.cdx.json') deb=$(only 'lockgw_*_arm64.deb') rpm=$(only 'lockgw-*.aarch64.rpm') ;;
*) echo "no package for $(uname -m)" >&2; exit 1 ;;
esac

echo "== $sbom"
# Each module of the packaged program is in it, and nothing else but Go itself.
program=$(mktemp -p "$roots")
dpkg-deb --fsys-tarfile "$deb" | tar -xO ./usr/bin/lockgw >"$program"
diff <(go version -m "$program" | awk '$1 == "dep" { print $2 "@" $3 }' | sort) \
	<(sed -n 's|^      "purl": "pkg:golang/\(.*\)",\{0,1\}$|\1|p' "$sbom" | sed 's/%2B/+/g' | grep -v '^std@' | grep -v '^github.com/lockgw/lockgw@' | sort) ||
	{ echo "$sbom does not name what is in $deb" >&2; exit 1; }

echo "== $deb"
clean_root "$roots/deb"
cp "$deb" "$roots/deb/lockgw.deb"
cat deploy/packages/{gateway,test_deb}.sh | in_root "$roots/deb"

echo "== $rpm"
clean_root "$roots/rpm"
files=$(rpm -qpl "$rpm")
for f in /usr/bin/lockgw /etc/lockgw/lockgw.yaml /usr/lib/systemd/system/lockgw{,-http,-resp,-tcp}.s{ervice,ocket} \
	/usr/share/man/man1/lockgw.1.gz /usr/share/bash-completion/completions/lockgw; do
	case $f in */lockgw.socket | */lockgw-*.service) continue ;; esac
	grep -qxF "$f" <<<"$files" || { echo "$f is not in the rpm" >&2; exit 1; }
done
[ "$(rpm -qp --qf '%{BUILDHOST}' "$rpm")" != "$(uname -n)" ] || { echo "the rpm names the machine that it was built on" >&2; exit 1; }
rpm --force-debian --root "$roots/rpm" -i --nodeps "$rpm"
cat deploy/packages/{gateway,test_rpm}.sh | in_root "$roots/rpm"
rpm --force-debian --root "$roots/rpm" -e --nodeps lockgw
[ ! -e "$roots/rpm/usr/bin/lockgw" ] || { echo "the rpm leaves its program" >&2; exit 1; }
left=$(find "$roots/rpm" -path "$roots/rpm/var/lib/rpm" -prune -o -iname '*lockgw*' -print)
[ "$left" = "$roots/rpm/var/lib/lockgw" ] || { echo "the rpm leaves: $left" >&2; exit 1; }

echo ok
