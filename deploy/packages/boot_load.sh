# boot_load.sh DIRECTORY: takes and gives back locks, each time on a new connection,
# until DIRECTORY/enough exists. Whatever goes wrong is a line in DIRECTORY/wrong;
# an answer that the gateway is stopping is not wrong: the command asks again.
dir=$1

ask() { # name, arguments of curl...
	local name=$1 code status
	shift
	for _ in $(seq 100); do
		status=0
		code=$(curl -sS -m 30 -o "$dir/answer.$name" -w '%{http_code}' "$@" 2>"$dir/error.$name") || status=$?
		if [ $status != 0 ]; then
			echo "curl ends with $status: $(cat "$dir/error.$name")" >>"$dir/wrong"
		elif [ "$code" != 503 ]; then
			break
		fi
		sleep 0.05
	done
	case $code in
	20?) cat "$dir/answer.$name" ;;
	*) echo "$code: $(cat "$dir/answer.$name")" >>"$dir/wrong" ;;
	esac
}

over() { # name, base, arguments of curl...
	local name=$1 base=$2 n=0 token
	shift 2
	until [ -e "$dir/enough" ]; do
		n=$((n + 1))
		token=$(ask "$name" "$@" -X PUT -H 'Accept: text/plain' -H "Idempotency-Key: take-$name-$n" "$base/v1/locks/$name-$n?max_hold=1m")
		ask "$name" "$@" -X DELETE --oauth2-bearer "$token" -H "Idempotency-Key: drop-$name-$n" "$base/v1/locks/$name-$n" >/dev/null
		echo $n >"$dir/count.$name"
	done
}

commands() {
	local n=0
	until [ -e "$dir/enough" ]; do
		n=$((n + 1))
		lockgw run --wait 10s "job-$n" -- true 2>"$dir/error.run" || echo "lockgw run ends with $?: $(cat "$dir/error.run")" >>"$dir/wrong"
		echo $n >"$dir/count.run"
	done
}

over tcp http://localhost:7420 -H "Lockgw-Secret: $(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" &
over unix http://lockgw --unix-socket /run/lockgw/http.sock &
commands &
wait
