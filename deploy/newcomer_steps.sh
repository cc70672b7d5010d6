# The steps of newcomer.sh, run by it in a clean root.
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# step TEXT WANT COMMAND...: shows a command with its answer, and wants a text in it.
step() {
	local text=$1 want=$2 got status=0
	shift 2
	printf '\n# %s\n$ %s\n' "$text" "$*"
	got=$(bash -c "$*" 2>&1) || status=$?
	printf '%s\n' "$got" | head -n 12
	grep -q -e "$want" <<<"$got" || { printf 'exit %d; wanted in the answer: %s\n' "$status" "$want" >&2; exit 1; }
}

until_says() { # WANT COMMAND...: asks for 10 s
	local want=$1
	shift
	for _ in $(seq 100); do
		bash -c "$*" 2>&1 | grep -q -e "$want" && return
		sleep 0.1
	done
	step 'still not there after 10 s' "$want" "$*"
}

step 'install' 'Setting up lockgw' 'dpkg -i /lockgw.deb'
step 'which version' '^lockgw ' 'lockgw version'
step 'is this machine in order' '^ok .*state_dir' 'lockgw doctor'
step 'without a gateway nothing is locked, and the answer says so' 'is .lockgw serve. running' \
	'lockgw run nightly -- echo never'

printf '\n# start; where systemd runs, the package has done so already\n$ lockgw serve &\n'
lockgw serve 2>/tmp/gateway.log &
until_says 200 "curl -s -o /dev/null -w '%{http_code}' localhost:7420/livez"

step 'a job under a lock' '^backup with fence [0-9]' \
	"lockgw run nightly -- sh -c 'echo backup with fence \$LOCKGW_FENCE'"

printf '\n# a long one\n$ lockgw run nightly -- sleep 1000 &\n'
lockgw run --note 'backup of db1' nightly -- sleep 1000 2>/tmp/run.log &
run=$!
until_says 'State: *held' 'lockgw status nightly'

step 'who holds it' 'backup of db1' 'lockgw status nightly'
step 'all of them' 'nightly' 'lockgw top'
step 'the same for a program' '"state":"held"' 'curl -s localhost:7420/v1/locks/nightly'
step 'the page that a browser shows' '<title>' "curl -s localhost:7420/ | grep '<title>'"
step 'somebody else waits in vain, and is told for whom' 'held by .*pid' \
	'lockgw run --wait 1s nightly -- echo never'

fence=$(lockgw status -o json nightly | sed -n 's/.*"fence": *\([0-9]*\).*/\1/p')
step 'break it' 'nightly' "lockgw break nightly --fence $fence"
status=0
wait $run || status=$?
step 'why the job was ended' 'was lost: broken' 'cat /tmp/run.log'
[ $status = 122 ] || { echo "the job ended with $status, wanted 122" >&2; exit 1; }
step 'and who did it' 'uid 0' 'grep -i -e broke /tmp/gateway.log'

step 'a wrong setting is found, with its line' 'lockgw.yaml:1: .*did you mean' \
	'echo "bakend: {}" >/tmp/lockgw.yaml; lockgw config check --config /tmp/lockgw.yaml'
step 'remove' 'Purging' 'dpkg -P lockgw'
printf '\nok\n'
