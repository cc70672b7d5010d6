#!/bin/sh
# openapi.yaml against a gateway of its own, by requests that Schemathesis makes of it.
# usage: schemathesis.sh LOCKGW SCHEMATHESIS [its flags]
#
# Left out are streams, which do not end, and the checks that take for granted that a
# request of the right form is accepted: a lock may be held by somebody else, and a
# parameter may not stand in the query and in the body.
set -eu
program=$(realpath "$1") tester=$2 here=$(realpath "$(dirname "$0")")
shift 2
dir=$(mktemp -d)
gateway=
trap '[ -z "$gateway" ] || kill "$gateway"; rm -rf "$dir"' EXIT
cd "$dir" # it writes its reports and examples here

head -c 32 /dev/urandom | base64 > token
chmod 600 token
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$program" serve --http-listen "127.0.0.1:$port" --socket-dir "$dir/s" --state-dir "$dir/state" --lock-max-wait 2s --admin-token-file token 2> log &
gateway=$!
until curl -fs -o /dev/null "http://127.0.0.1:$port/readyz"; do
  kill -0 "$gateway" || { cat log; exit 1; }
  sleep 0.1
done

status=0
"$tester" run "$here/openapi.yaml" --url "http://127.0.0.1:$port" --header "Authorization: Bearer $(cat token)" \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,unsupported_method,allow_header_conformance,use_after_free \
  --exclude-operation-id hold --exclude-operation-id sessionEvents --exclude-operation-id events \
  --continue-on-failure --request-timeout 30 --max-examples 20 --generation-database none "$@" || status=$?
kill -0 "$gateway" || { echo "the gateway has ended:"; cat log; exit 1; }
exit $status
