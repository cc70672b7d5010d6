# Runs before a script in a root: a gateway as the units start it, a job, and an end.
export LOCKGW_SOCKET=/run/lockgw/resp.sock

start_gateway() {
	install -d -o lockgw -g lockgw -m 0755 /run/lockgw
	install -d -o lockgw -g lockgw -m 0700 /var/lib/lockgw
	setpriv --reuid lockgw --regid lockgw --clear-groups \
		lockgw serve --socket-dir /run/lockgw --state-dir /var/lib/lockgw "$@" 2>/tmp/gateway.log &
	gateway=$!
	for _ in $(seq 100); do
		curl -fsS localhost:7420/livez >/dev/null 2>&1 && return
		kill -0 $gateway 2>/dev/null || break
		sleep 0.1
	done
	cat /tmp/gateway.log
	return 1
}

stop_gateway() {
	kill $gateway
	wait $gateway
}
