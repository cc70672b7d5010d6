#!/usr/bin/env bash
# What changed in a version, as CHANGELOG.md has it under "## VERSION". Fails if there
# is no such part, or nothing in it.
#
#   deploy/release/notes.sh VERSION [CHANGELOG]
set -euo pipefail
version=${1:?the version, as 1.2.3}
changelog=${2:-$(dirname "$0")/../../CHANGELOG.md}

notes=$(awk -v want="$version" '/^## / { on = $2 == want; next } on' "$changelog" | sed -e '/./,$!d')
[ -n "$notes" ] || {
	echo "$changelog has no part \"## $version\", or it is empty: name what is there \"## Unreleased\" so, or give a version that is there as VERSION" >&2
	exit 1
}
printf '%s\n' "$notes"
