#!/bin/busybox sh
# The guest's first process, from memory: puts the files of the machine below a file system in memory, and goes there.
B=/bin/busybox
fail() {
    echo "The guest cannot start: $1"
    $B poweroff -f
}
$B mount -t proc proc /proc
$B mount -t sysfs sysfs /sys
$B mount -t devtmpfs devtmpfs /dev
for module in /modules/*; do
    $B insmod "$module" || fail "$module"
done
$B mount -t virtiofs root /machine || fail "no files of the machine"
$B mount -t tmpfs -o mode=755 tmpfs /changes
$B mkdir /changes/upper /changes/work
$B mount -t overlay -o lowerdir=/machine,upperdir=/changes/upper,workdir=/changes/work overlay /new || fail "no overlay"
$B mount -t cgroup2 cgroup2 /sys/fs/cgroup || fail "no cgroup v2"
for folder in proc sys dev; do
    $B mount --move "/$folder" "/new/$folder"
done
$B mount -t tmpfs -o mode=755 tmpfs /new/run
$B mkdir -p /new/run/guest /new/run/lock /new/usr/lib/modules /new/dev/pts /new/dev/shm
$B mount -t devpts devpts /new/dev/pts
$B mount -t tmpfs tmpfs /new/dev/shm
# Labs of the guest are its own. containerd's overlays need a file system below them that is no overlay itself.
$B mkdir -p /new/var/lib/antrea-lab
$B mount -t tmpfs -o size=75% tmpfs /new/var/lib/antrea-lab
# What is written here is written on the machine: the output and the exit code.
$B mount --bind "/machine$($B cat /folder)" /new/run/guest || fail "no folder to write to"
$B mount --bind "/machine$($B cat /kernel)/lib/modules" /new/usr/lib/modules || fail "no modules"
$B ip link set lo up
$B hostname guest
exec $B switch_root /new /bin/sh /run/guest/start
