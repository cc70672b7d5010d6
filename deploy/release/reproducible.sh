#!/usr/bin/env bash
# Makes a release twice, the second time in a clone elsewhere, with an empty build cache,
# another umask (git's for archives, too), time zone, user name and, as root, host name,
# and compares the bytes. Takes some minutes.
#
#   deploy/release/reproducible.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:?the version, as 1.2.3}

elsewhere() { # command...
	unshare --uts true 2>/dev/null || { "$@"; return; }
	unshare --uts sh -c 'hostname elsewhere && exec "$@"' sh "$@"
}

other=$(mktemp -d)
trap 'chmod -R u+w "$other" && rm -rf "$other"' EXIT
commit=$(git rev-parse HEAD) # which may be another one when the first build is done
deploy/release/release.sh "$version" "$commit"
git clone -q . "$other/a clone"
(umask 077 && cd "$other/a clone" && git checkout -q "$commit" && git config tar.umask user &&
	elsewhere env TZ=Pacific/Auckland LANG=tr_TR.UTF-8 USER=somebody GOCACHE="$other/cache" deploy/release/release.sh "$version")
diff -r "bin/release/$version" "$other/a clone/bin/release/$version" || { echo "two builds of one commit differ" >&2; exit 1; }
echo "the same bytes: $(wc -l <"bin/release/$version/SHA256SUMS") files"
