#!/bin/bash
# build_release.sh RELEASE ARCHIVE SHA256: a virtual environment from an archive of wheels, without any package index.
set -euo pipefail
umask 022
release=$1 archive=$2 sha256=$3

echo "$sha256  $archive" | sha256sum --check --quiet
rm -rf -- "$release"
mkdir -p "$release/wheels"
tar -xzf "$archive" -C "$release/wheels" --no-same-owner
/usr/bin/python3 -m venv "$release"
"$release/bin/python" -m pip install --quiet --no-color --disable-pip-version-check --no-cache-dir --no-index --require-hashes \
    --find-links "$release/wheels" --requirement "$release/wheels/requirements.txt"
# A release never changes: nothing in it can install packages.
"$release/bin/python" -m pip uninstall --quiet --yes pip setuptools
rm -rf -- "$release/wheels" "$archive"
sync -f "$release"
touch "$release/.complete"
