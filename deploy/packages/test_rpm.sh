# Runs in a clean root in which the rpm is installed.
set -euo pipefail
trap 'echo "failed in line $LINENO: $BASH_COMMAND" >&2' ERR

lockgw version
getent passwd lockgw
start_gateway
[ "$(lockgw run nightly -- sh -c 'echo $LOCKGW_LOCK')" = nightly ]
stop_gateway
