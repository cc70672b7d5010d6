# Sourced by the tests of the packages: a Debian with nothing but its required
# packages and curl, and a way to run scripts in it. Needs root.

needs() { # command=package...
	local pair missing=()
	for pair in "$@"; do
		command -v "${pair%=*}" >/dev/null || missing+=("${pair#*=}")
	done
	[ ${#missing[@]} -eq 0 ] && return
	apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# The images are made once and kept in bin.
clean_root() { # directory
	root_with "$1" bookworm curl
}

root_with() { # directory, suite, packages beside the required ones, options of mmdebstrap...
	mkdir -p bin
	local image=bin/root-$2${3#curl}.tar
	image=${image//,/-}
	if [ ! -f "$image" ]; then
		needs mmdebstrap=mmdebstrap
		mmdebstrap --quiet --format=tar --variant=minbase --include="$3" "${@:4}" "$2" "$image.part"
		mv "$image.part" "$image"
	fi
	mkdir -p "$1"
	tar -x -f "$image" -C "$1"
}

# in_root runs a script of standard input with processes, mounts and a network of
# its own, so that nothing outside is met and nothing is left running.
in_root() { # directory, arguments of the script...
	local dir=$1
	shift
	# shellcheck disable=SC2016
	unshare --mount --pid --net --ipc --fork --kill-child sh -c '
		set -e
		dir=$1
		shift
		ip link set lo up
		mount -t proc proc "$dir/proc"
		mount -t tmpfs tmpfs "$dir/run"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 chroot "$dir" bash -s -- "$@"
	' sh "$dir" "$@"
}
