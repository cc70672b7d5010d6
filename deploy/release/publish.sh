#!/usr/bin/env bash
# Publishes bin/release/VERSION at a Forgejo or Gitea: a release of the tag vVERSION with
# the notes, and its files.
#
#   API=https://forge.example/api/v1/repos/OWNER/NAME TOKEN=... deploy/release/publish.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:?the version, as 1.2.3}
files=bin/release/$version
: "${API:?the address of the repository in the API}" "${TOKEN:?an access token}"

request() { # curl's arguments...
	curl -fsS --retry 3 -H @<(printf 'Authorization: token %s\n' "$TOKEN") "$@"
}

python3 - "$version" "$files/NOTES.md" <<'END' >"$files.json"
import json, sys
print(json.dumps({"tag_name": "v" + sys.argv[1], "name": sys.argv[1], "body": open(sys.argv[2], encoding="utf-8").read()}))
END
id=$(request -H 'Content-Type: application/json' --data-binary "@$files.json" "$API/releases" | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
for f in "$files"/*; do
	request -o /dev/null -F "attachment=@$f" "$API/releases/$id/assets?name=$(basename "$f")"
done
