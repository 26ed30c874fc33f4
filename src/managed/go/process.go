package main

import (
	"bytes"
	"strconv"
	"syscall"
	"time"
)

var statusBuffer [4096]byte // of thread 0, and of main after it

// A number in kB of /proc/self/status, in bytes.
func status(label string) uint64 {
	file, err := syscall.Open("/proc/self/status", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		fail("/proc/self/status: " + err.Error())
	}
	length, _ := syscall.Read(file, statusBuffer[:])
	syscall.Close(file)
	_, after, _ := bytes.Cut(statusBuffer[:max(length, 0)], []byte(label))
	number, _, _ := bytes.Cut(after, []byte(" kB"))
	kib, _ := strconv.ParseUint(string(bytes.TrimSpace(number)), 10, 64)
	return kib * 1024
}

// Resident memory of no file.
func anonymous() uint64 { return status("RssAnon:") + status("RssShmem:") }

// The highest so far, assuming that as much of files was resident at the peak as is now.
func peakAnonymous() uint64 { return status("VmHWM:") - status("RssFile:") }

type usage struct{ user, system, minorFaults, majorFaults float64 }

func usageNow() usage {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		fail("getrusage: " + err.Error())
	}
	seconds := func(t syscall.Timeval) float64 { return time.Duration(t.Nano()).Seconds() }
	return usage{seconds(used.Utime), seconds(used.Stime), float64(used.Minflt), float64(used.Majflt)}
}
