#!/bin/bash
# make_repository.sh PATH BRANCH REMOTE NAME EMAIL IDENTITY KNOWN_HOSTS: a repository of the account `vault`, cloned, or empty with one commit.
# It is made under another name and moved into place when it is whole.
set -euo pipefail
path=$1 branch=$2 remote=$3 name=$4 email=$5 identity=$6 known_hosts=$7
new=$path.new

as_vault() {
    runuser -u vault -- env HOME=/var/lib/vault GIT_TERMINAL_PROMPT=0 GIT_SSH_COMMAND="$ssh" LC_ALL=C.UTF-8 "$@"
}

ssh="ssh -F /dev/null -o BatchMode=yes -o ConnectTimeout=10"
[[ -z $identity ]] || ssh+=" -o IdentitiesOnly=yes -i $identity"
[[ -z $known_hosts ]] || ssh+=" -o UserKnownHostsFile=$known_hosts"

cd /
rm -rf -- "$new"
install -d -o vault -g vault -m 0750 "$new"
as_vault git init --quiet --initial-branch "$branch" "$new"
if [[ -n $remote ]]; then
    as_vault git -C "$new" remote add origin "$remote"
    heads=$(as_vault git -C "$new" ls-remote --heads origin | sed 's|.*refs/heads/||')
    if [[ -n $heads ]]; then
        grep -qxF -- "$branch" <<<"$heads" || {
            echo "The remote has no branch $branch. Set vault_repository_branch to one of: ${heads//$'\n'/, }." >&2
            exit 1
        }
        as_vault git -C "$new" fetch --quiet origin
        as_vault git -C "$new" checkout --quiet -B "$branch" --track "origin/$branch"
    fi
fi
as_vault git -C "$new" rev-parse --quiet --verify HEAD >/dev/null ||
    as_vault git -C "$new" -c "user.name=$name" -c "user.email=$email" commit --quiet --allow-empty -m "Begin the vault"
mv -T -- "$new" "$path"
