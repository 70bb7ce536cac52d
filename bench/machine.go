package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine is what a table must say about where it comes from.
type machine struct {
	Date       string `json:"date"`
	Kernel     string `json:"kernel"`
	CPU        string `json:"cpu"`
	CPUs       int    `json:"cpus"`
	Go         string `json:"go"`
	Revision   string `json:"revision"`
	Congestion string `json:"congestion_control"`
	ServerCPU  int    `json:"server_cpu"`
	LoadCPU    int    `json:"load_cpu"`
}

func (m machine) String() string {
	return fmt.Sprintf("%s, Linux %s, %s, %d CPUs, %s, revision %s, TCP congestion control %s.",
		m.Date, m.Kernel, m.CPU, m.CPUs, m.Go, m.Revision, m.Congestion)
}

func thisMachine(ctx context.Context, w *workshop) machine {
	return machine{
		Date:       time.Now().UTC().Format(time.DateOnly),
		Kernel:     kernelRelease(),
		CPU:        cpuModel(),
		CPUs:       runtime.NumCPU(),
		Go:         goRuntime(),
		Revision:   gitRevision(ctx),
		Congestion: congestionControl(),
		ServerCPU:  w.serverCPU,
		LoadCPU:    w.loadCPU,
	}
}

const unknown = "unknown"

func goRuntime() string { return runtime.Version() }

func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return unknown
	}
	return unix.ByteSliceToString(u.Release[:])
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return unknown
	}
	return parseCPUModel(text)
}

func parseCPUModel(cpuinfo []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(cpuinfo))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}

func congestionControl() string {
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		return unknown
	}
	return firstLine(text)
}

// gitRevision is the commit of the working directory, marked if there are changes on top.
func gitRevision(ctx context.Context) string {
	text, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return unknown
	}
	return firstLine(text)
}
