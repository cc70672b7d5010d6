#!/usr/bin/env bash
# Makes all files of a release in bin/release/VERSION, out of what is committed: the
# source, a static program for each system, deb and rpm, the chart, what each program was
# built from (CycloneDX), the notes, and SHA256SUMS. The image is built from the source.
# The same commit, version and Go give the same bytes, wherever and whenever.
#
#   deploy/release/release.sh VERSION [COMMIT]
set -euo pipefail
cd "$(dirname "$0")/../.."

version=${1:?the version, as 1.2.3}
commit=$(git rev-parse --verify "${2:-HEAD}^{commit}")
systems="linux/amd64 linux/arm64 darwin/amd64 darwin/arm64"
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "$version is no version as 1.2.3" >&2; exit 2; }

# A tag of that name is that commit, and the version is that of the notes.
tagged=$(git rev-parse -q --verify "refs/tags/v$version^{commit}" || true)
[ -z "$tagged" ] || [ "$tagged" = "$commit" ] || { echo "the tag v$version is $tagged, and not $commit" >&2; exit 1; }

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022
out=$PWD/bin/release/$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$out"
mkdir -p "$out"

# archive puts a directory below $work into a file whose bytes depend on nothing else.
archive() { # directory, file
	tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=ustar -c "$1" | gzip -9n >"$2"
}

source=lockgw-$version
mkdir "$work/$source"
# The rights of the files do not depend on a setting of git, nor on whether root unpacks them.
git -c tar.umask=022 archive "$commit" | tar -x -C "$work/$source"
archive "$source" "$out/lockgw_${version}_source.tar.gz"
cd "$work/$source"
. deploy/program.sh
deploy/release/notes.sh "$version" CHANGELOG.md >"$out/NOTES.md"

deploy/packages/build.sh "$version" amd64 arm64
cp bin/packages/*.deb bin/packages/*.rpm "$out"

program "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$version" "$work/native"
for system in $systems; do
	os=${system%/*} arch=${system#*/}
	name=lockgw_${version}_${os}_$arch
	mkdir "$work/$name"
	program "$os" "$arch" "$version" "$work/$name/lockgw"
	documents "$work/native" "$work/$name"
	cp LICENSE README.md CHANGELOG.md "$work/$name"
	archive "$name" "$out/$name.tar.gz"
	go run ./deploy/packages/sbom lockgw "$version" "$work/$name/lockgw" >"$out/$name.cdx.json"
done

# As helm package does: all in a directory of the chart's name, with its version in it.
mkdir "$work/lockgw"
cp -r helm/. "$work/lockgw"
rm -r "$work/lockgw/check"
sed -i -E "s/^(version|appVersion): .*/\1: $version/" "$work/lockgw/Chart.yaml"
archive lockgw "$out/lockgw-chart-$version.tgz"

cd "$out"
sha256sum -- * >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" .
ls -l
