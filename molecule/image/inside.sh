#!/bin/sh
# Runs once inside the new system, before it is packed: makes a fresh Debian bootable in a container.
set -eu
update-ca-certificates >/dev/null

# Units that only make sense on real hardware, and apt's own jobs, which would hold its lock during a test.
for unit in systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udev-trigger.service \
    systemd-remount-fs.service systemd-modules-load.service getty.target console-getty.service \
    apt-daily.timer apt-daily-upgrade.timer; do
    ln -sf /dev/null "/etc/systemd/system/$unit"
done

# As on a hosted machine: a login that is not root, with sudo. Its key is brought in when a host starts.
useradd --create-home --shell /bin/bash admin
echo 'admin ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/admin
chmod 0440 /etc/sudoers.d/admin

# Every host makes its own keys at its first boot: two that share them could not be told apart.
rm -f /etc/ssh/ssh_host_*
mkdir -p /etc/systemd/system/ssh.service.d
cat >/etc/systemd/system/ssh.service.d/host-keys.conf <<'UNIT'
[Service]
ExecStartPre=
ExecStartPre=/usr/bin/ssh-keygen -A
ExecStartPre=/usr/sbin/sshd -t
UNIT

# Shared mounts, as on a machine of its own: without them LoadCredential= yields an empty directory.
cat >/sbin/boot <<'BOOT'
#!/bin/sh
mount --make-rshared /
exec /lib/systemd/systemd "$@"
BOOT
chmod 0755 /sbin/boot

echo 'Acquire::Languages "none";' >/etc/apt/apt.conf.d/99small
echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/99fast
printf 'path-exclude=/usr/share/%s/*\n' doc man locale >/etc/dpkg/dpkg.cfg.d/99small
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debootstrap /usr/share/doc/* /usr/share/man/* /usr/share/locale/*
# Emptied just now, the lists would count as fresh and Ansible's cache_valid_time would not fetch them.
touch -d @0 /var/lib/apt/lists
rm -f /var/lib/apt/periodic/*
: >/etc/machine-id
rm -f /etc/hostname /etc/resolv.conf /var/lib/dbus/machine-id
