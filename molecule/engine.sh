#!/bin/bash
# engine.sh ARGUMENTS…: podman or docker as root, with the settings that this machine needs.
#   engine.sh --name        prints which of the two it is
# CONTAINER_ENGINE chooses; otherwise podman, or a docker whose daemon answers, whichever is there first.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)

if [[ -z ${CONTAINER_ENGINE:-} ]]; then
    CONTAINER_ENGINE=podman
    if ! command -v podman >/dev/null && command -v docker >/dev/null && docker info >/dev/null 2>&1; then
        CONTAINER_ENGINE=docker
    fi
fi
engine=${CONTAINER_ENGINE##*/}
case $engine in
    podman | docker) ;;
    *) echo "CONTAINER_ENGINE=$CONTAINER_ENGINE: use podman or docker." >&2; exit 2 ;;
esac
[[ ${1:-} != --name ]] || { echo "$engine"; exit 0; }

# Images are built by root and systemd hosts are privileged containers: a user's own store would not do.
if ((EUID != 0)); then
    exec sudo --non-interactive env CONTAINER_ENGINE="$CONTAINER_ENGINE" "$0" "$@"
fi

# Lines of containers.conf that an ordinary machine does not need; none there, so that the user's own file stays in force.
podman_settings() {
    # crun refuses the mixed control groups of an old kernel set-up.
    [[ $(stat -fc %T /sys/fs/cgroup) == cgroup2fs ]] || printf '[engine]\nruntime = "runc"\n'
    # A root without CAP_SYS_RESOURCE (itself in a container) cannot raise the limits that podman raises. The number of
    # processes stays well below the hard limit: at the limit itself runc is refused.
    if ! (ulimit -Hn 1048576 && ulimit -Hu 4194304) 2>/dev/null; then
        printf '[containers]\ndefault_ulimits = ["nofile=%s:%s", "nproc=16384:16384"]\n' "$(ulimit -Hn)" "$(ulimit -Hn)"
    fi
}

if [[ $engine == podman && -z ${CONTAINERS_CONF:-} ]]; then
    settings=$(podman_settings)
    if [[ -n $settings ]]; then
        CONTAINERS_CONF=$checkout/.cache/containers.conf
        mkdir -p "$checkout/.cache"
        if [[ "$(cat "$CONTAINERS_CONF" 2>/dev/null)" != "$settings" ]]; then
            printf '%s\n' "$settings" >"$CONTAINERS_CONF.$$"
            mv "$CONTAINERS_CONF.$$" "$CONTAINERS_CONF"
        fi
        export CONTAINERS_CONF
    fi
fi
exec "$CONTAINER_ENGINE" "$@"
