#!/bin/sh
# whose_caddy.sh PORT…: one sentence a line on what shows that the Caddy of this host, or a port, is somebody else's.
# The word `pristine` alone says that the Caddyfile is the package's own, never edited.
file=/etc/caddy/Caddyfile
if [ -e "$file" ] && ! grep -qF 'Written by Ansible (role caddy)' "$file"; then
    packaged=$(dpkg-query -W -f '${Conffiles}\n' caddy 2>/dev/null | awk -v file="$file" '$1 == file { print $2 }')
    if [ "$(md5sum <"$file" | cut -d ' ' -f 1)" = "$packaged" ]; then
        echo pristine
    else
        echo "$file was written by somebody else"
    fi
fi

# A link to /dev/null is what the removed package leaves behind.
unit=/etc/systemd/system/caddy.service
if [ -f "$unit" ] && [ ! -L "$unit" ]; then
    echo "$unit is not the package's unit"
fi
for drop_in in /etc/systemd/system/caddy.service.d/*.conf; do
    if [ "${drop_in##*/}" != talaria.conf ] && grep -qs '^ExecStart=' "$drop_in"; then
        echo "$drop_in starts Caddy in another way"
    fi
done
if systemctl is-active --quiet caddy-api.service || systemctl is-enabled --quiet caddy-api.service 2>/dev/null; then
    echo "caddy-api.service is in use"
fi

for port in "$@"; do
    ss -Hltnp "sport = :$port" | sed -n 's/.*users:((\(.*\)))$/\1/p' | sed 's/),(/\n/g' |
        sed -n 's/^"\([^"]*\)",pid=\([0-9]*\),.*/\1 \2/p' | sort -u | while read -r process pid; do
            holder=$(ps -o unit= -p "$pid" | tr -d ' ')
            [ "$holder" = caddy.service ] || echo "port $port is taken by $process (process $pid, unit $holder)"
        done
done
