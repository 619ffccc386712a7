#!/bin/sh
# whose_prometheus.sh PORT…: one sentence a line on what shows that the Prometheus of this host, or a port, is somebody
# else's. The word `pristine` alone says that the configuration is the package's own, never edited.
packaged() {
    dpkg-query -W -f '${Conffiles}\n' prometheus 2>/dev/null | awk -v file="$1" '$1 == file { print $2 }'
}

config=/etc/prometheus/prometheus.yml
if [ -e "$config" ] && ! grep -qF 'Written by Ansible (role prometheus)' "$config"; then
    if [ "$(md5sum <"$config" | cut -d ' ' -f 1)" = "$(packaged "$config")" ]; then
        echo pristine
    else
        echo "$config was written by somebody else"
    fi
fi

arguments=/etc/default/prometheus
if [ -e "$arguments" ] && [ "$(md5sum <"$arguments" | cut -d ' ' -f 1)" != "$(packaged "$arguments")" ]; then
    echo "$arguments was edited by somebody else"
fi

unit=/etc/systemd/system/prometheus.service
if [ -f "$unit" ] && [ ! -L "$unit" ]; then
    echo "$unit is not the package's unit"
fi
for drop_in in /etc/systemd/system/prometheus.service.d/*.conf; do
    if [ "${drop_in##*/}" != talaria.conf ] && grep -qs '^ExecStart=' "$drop_in"; then
        echo "$drop_in starts Prometheus in another way"
    fi
done

for port in "$@"; do
    ss -Hltnp "sport = :$port" | sed -n 's/.*users:((\(.*\)))$/\1/p' | sed 's/),(/\n/g' |
        sed -n 's/^"\([^"]*\)",pid=\([0-9]*\),.*/\1 \2/p' | sort -u | while read -r process pid; do
            holder=$(ps -o unit= -p "$pid" | tr -d ' ')
            [ "$holder" = prometheus.service ] || echo "port $port is taken by $process (process $pid, unit $holder)"
        done
done
