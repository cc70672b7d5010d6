#!/usr/bin/env bash
# What somebody new does in the first minute, in a Debian with nothing but curl:
# install the package, start a gateway, run a job under a lock, look at it, break
# it, and read why. Each step says what it expects, and the first that gets
# something else ends the script. Needs root, and bin/packages of make packages.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/packages/root.sh

needs ip=iproute2
debs=(bin/packages/lockgw_*_"$(dpkg --print-architecture)".deb)
[ -f "${debs[0]}" ] || { echo "no package in bin/packages: run make packages" >&2; exit 1; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
clean_root "$root"
cp "${debs[0]}" "$root/lockgw.deb"
in_root "$root" <deploy/newcomer_steps.sh
