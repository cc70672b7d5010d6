#!/usr/bin/env bash
# Builds bin/packages/lockgw_VERSION_ARCH.{deb,rpm} for amd64 and arm64, with a
# static binary each, and beside them lockgw_VERSION_ARCH.cdx.json, which says what
# the binary was built from (CycloneDX). The same commit and version give the same bytes.
#
#   deploy/packages/build.sh VERSION [ARCH...]
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/program.sh

nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
version=${1:?the version, as 1.2.3}
shift
[ $# -gt 0 ] || set -- amd64 arm64

# nfpm takes the times of all files from SOURCE_DATE_EPOCH.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
VERSION=$version
export SOURCE_DATE_EPOCH VERSION ARCH TZ=UTC # the month in the manual pages is that of a time zone
stage=bin/stage
rm -rf "$stage"
mkdir -p "$stage" bin/packages
trap 'rm -rf "$stage"' EXIT

program "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$version" "$stage/native"
documents "$stage/native" "$stage"
gzip -9nc CHANGELOG.md >"$stage/CHANGELOG.md.gz"
rm -f bin/packages/lockgw[_-]*
for ARCH in "$@"; do
	program linux "$ARCH" "$version" "$stage/lockgw"
	go run ./deploy/packages/sbom lockgw "$version" "$stage/lockgw" >"bin/packages/lockgw_${version}_$ARCH.cdx.json"
	for kind in deb rpm; do
		go run "$nfpm" package -f deploy/packages/nfpm.yaml -p "$kind" -t bin/packages/
	done
done
