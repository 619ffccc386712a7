#!/bin/bash
# machine.sh PURPOSE…: Debian packages that this machine lacks for a purpose are named, then installed by apt.
#   python   the virtual environment in .venv        deploy   reaching hosts by SSH
#   lint     what the linters are not in .venv       unit     the real servers that tests start
#   hosts    test hosts: a container engine and what builds a Debian system
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin # a user's PATH on Debian has no place for sshd
here=$(cd "$(dirname "$0")" && pwd)
missing=()

need() { # COMMAND PACKAGE…
    command -v "$1" >/dev/null || missing+=("${@:2}")
}

python_is_complete() { "${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null; }

engine_packages() {
    [[ $("$here/../molecule/engine.sh" --name) == podman ]] || return 0
    # The network of podman is a Recommends, and the hosts find each other by name with aardvark-dns.
    need podman podman conmon netavark aardvark-dns
    # On the control groups of version 1 crun refuses; Debian's podman is content with either.
    need runc runc
    need iptables iptables
}

for purpose in "$@"; do
    case $purpose in
        python) python_is_complete || missing+=(python3-venv) ;;
        deploy) need ssh openssh-client ;;
        lint) need shellcheck shellcheck; need git git ;;
        unit) need git git; need ssh openssh-client; need sshd openssh-server; need prometheus prometheus; need chromium chromium fonts-dejavu-core ;;
        hosts)
            need ssh openssh-client
            need dpkg dpkg
            command -v debootstrap >/dev/null || need mmdebstrap mmdebstrap
            [[ -e /usr/share/keyrings/debian-archive-keyring.gpg ]] || missing+=(debian-archive-keyring)
            engine_packages
            ;;
        *) echo "machine.sh: unknown purpose $purpose" >&2; exit 2 ;;
    esac
done

as_root=()
if ((EUID != 0)) && { ((${#missing[@]})) || [[ " $* " == *" hosts "* ]]; }; then
    as_root=(sudo)
    if ! command -v sudo >/dev/null; then
        echo "This needs root for: ${missing[*]:-test hosts}. Run it as root, or install sudo." >&2
        exit 1
    fi
    sudo --validate # asks here, where it is seen, and not in the middle of something
fi
((${#missing[@]})) || exit 0

if ! command -v apt-get >/dev/null; then
    echo "This machine lacks what Debian has in: ${missing[*]}. Install them by your system's own means." >&2
    exit 1
fi
echo "This machine lacks ${missing[*]}. Installing them with apt-get."
# Tests start their own sshd and Prometheus: the packages must not start, now or at the next boot, one that is open to
# the network. An SSH server that was there before stays as it is.
declare -A services=([openssh-server]="ssh.service ssh.socket" [prometheus]=prometheus.service)
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    # shellcheck disable=SC2016  # expanded when the trap runs
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 0755 /dev/stdin "$policy"
fi

apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qy -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >/dev/null
}
if ! apt install --no-install-recommends "${missing[@]}" 2>/dev/null; then
    apt update
    apt install --no-install-recommends "${missing[@]}" || {
        echo "apt-get could not install them. See what it says: apt-get install ${missing[*]}" >&2
        exit 1
    }
fi
for package in "${missing[@]}"; do
    for unit in ${services[$package]:-}; do "${as_root[@]}" systemctl disable --quiet "$unit" 2>/dev/null || true; done
done
if [[ " $* " == *" python "* ]] && ! python_is_complete; then
    echo "${PYTHON:-python3} cannot make virtual environments, although python3-venv is installed. Set PYTHON to Debian's own: make PYTHON=/usr/bin/python3 …" >&2
    exit 1
fi
