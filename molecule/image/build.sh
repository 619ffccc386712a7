#!/bin/bash
# build.sh SUITE…: Debian images that boot systemd and answer SSH, made from this machine's own Debian mirror.
# Several suites are built at once. An image is kept until its recipe changes or it is IMAGE_MAX_AGE_DAYS old.
#   FORCE=1 builds again; BOOTSTRAP=debootstrap avoids mmdebstrap; DEBIAN_MIRROR and DEBIAN_SECURITY_MIRROR choose mirrors.
# No container registry is involved, and nothing of the product is in the image.
set -euo pipefail
((EUID == 0)) || exec sudo --non-interactive env CONTAINER_ENGINE="${CONTAINER_ENGINE:-}" FORCE="${FORCE:-}" \
    BOOTSTRAP="${BOOTSTRAP:-}" DEBIAN_MIRROR="${DEBIAN_MIRROR:-}" DEBIAN_SECURITY_MIRROR="${DEBIAN_SECURITY_MIRROR:-}" \
    IMAGE_MAX_AGE_DAYS="${IMAGE_MAX_AGE_DAYS:-}" "$0" "$@"
here=$(cd "$(dirname "$0")" && pwd)
engine=$here/../engine.sh
checkout=$(cd "$here/../.." && pwd)
cache=$checkout/.cache
architecture=$(dpkg --print-architecture)
# Old enough to spare a rebuild on most days, young enough that security updates do not pile up in every test.
max_age_days=${IMAGE_MAX_AGE_DAYS:-7}
packages=(systemd systemd-sysv dbus libnss-systemd openssh-server sudo python3 python3-apt ca-certificates iproute2 procps)

# Local certificate authorities: a host behind an inspecting proxy needs the same ones as this machine.
authorities() { find /usr/local/share/ca-certificates -name '*.crt' 2>/dev/null | sort; }

recipe() { { cat "$here"/build.sh "$here"/inside.sh; authorities | xargs -r cat; } | sha256sum | cut -c1-16; }

# "address suite" of every source that apt knows here, whatever format it is written in.
sources() {
    # shellcheck disable=SC2016  # apt fills these in
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(SITE)' 'Identifier: Packages' 'Component: main' 2>/dev/null | sort -u
}

# address of the first source whose suite matches: a bare code name is the archive itself, NAME-security the other one.
# Only Debian's own archives have both, which keeps third parties' sources out.
mirror_of() {
    sources | awk -v want="$1" '$2 ~ want && $1 ~ /debian/ { sub(/\/$/, "", $1); print $1; exit }'
}

bootstrap() { # SUITE ROOT
    local suite=$1 root=$2 joined from=$mirror
    joined=$(IFS=,; echo "${packages[*]}")
    if [[ ${BOOTSTRAP:-} != debootstrap && -n $mirror ]] && command -v mmdebstrap >/dev/null; then
        mmdebstrap --mode=root --variant=minbase --include="$joined" --dpkgopt=force-unsafe-io \
            --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
            --aptopt='Acquire::Languages "none"' --aptopt='Acquire::Retries "3"' "$suite" "$root" <<<"$(source_lines "$suite" "$from")"
    else
        # A machine that is no Debian names no mirror; debootstrap knows one.
        debootstrap --variant=minbase --include="$joined" "$suite" "$root" ${from:+"$from"}
        [[ -n $from ]] || from=$(awk '$1 == "deb" { print $2; exit }' "$root/etc/apt/sources.list")
        source_lines "$suite" "$from" >"$root/etc/apt/sources.list"
        chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get -q update && apt-get -qy upgrade && apt-get clean'
    fi
}

source_lines() { # SUITE MIRROR
    echo "deb $2 $1 main"
    echo "deb $2 $1-updates main"
    [[ -z $security ]] || echo "deb $security $1-security main"
}

assemble() { # SUITE IMAGE DIRECTORY
    local root=$3/root
    bootstrap "$1" "$root"
    authorities | xargs -r cp -t "$root/usr/local/share/ca-certificates/"
    install -m 0755 "$here/inside.sh" "$root/inside.sh"
    chroot "$root" /inside.sh
    rm "$root/inside.sh"
    tar -C "$root" --numeric-owner --xattrs -c . | "$engine" import \
        --change 'CMD ["/sbin/boot"]' --change 'STOPSIGNAL SIGRTMIN+3' --change 'ENV container=oci' \
        --change "LABEL recipe=$(recipe)" --change "LABEL built=$(date +%s)" - "$2"
}

is_fresh() { # IMAGE
    local recipe_there built_there
    read -r recipe_there built_there < <("$engine" image inspect \
        --format '{{index .Config.Labels "recipe"}} {{index .Config.Labels "built"}}' "$1" 2>/dev/null) || return 1
    [[ -z ${FORCE:-} && $recipe_there == "$(recipe)" ]] && (($(date +%s) - built_there < max_age_days * 86400))
}

build() { # SUITE
    local suite=$1 image=localhost/talaria-test:$1-$architecture work old
    local log=$cache/image-$suite.log
    exec 9>"$cache/image-$suite.lock"
    flock 9 # two runs in one checkout: the second finds the first one's image
    if is_fresh "$image"; then
        echo "$image is up to date."
        return
    fi
    echo "Building $image from ${mirror:-the mirror that debootstrap knows} (about a minute; log: $log)"
    work=$(mktemp -d /var/tmp/talaria-image.XXXXXX)
    # shellcheck disable=SC2064  # the directory of now
    trap "rm -rf --one-file-system '$work'" EXIT
    old=$("$engine" image inspect --format '{{.Id}}' "$image" 2>/dev/null || true)
    # In the background, because `||` would take `set -e` away from everything before it.
    assemble "$suite" "$image" "$work" >"$log" 2>&1 &
    wait $! || { tail -20 "$log" >&2; echo "The image for $suite was not built. The whole story: $log" >&2; return 1; }
    # Untagged now; in use by a running host it stays until that is gone.
    [[ -z $old ]] || "$engine" image rm "$old" >/dev/null 2>&1 || true
    echo "Built $image."
}

mkdir -p "$cache"
mirror=${DEBIAN_MIRROR:-$(mirror_of '^[a-z]+$')}
security=${DEBIAN_SECURITY_MIRROR:-$(mirror_of '-security$')}
pids=()
for suite in "$@"; do
    (build "$suite") &
    pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
exit "$failed"
