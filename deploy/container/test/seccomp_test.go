package container

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

var update = flag.Bool("update", false, "write seccomp.json anew")

const profileFile = "../seccomp.json"

// rings are the calls that the runtimes deny by default.
var rings = specs.LinuxSyscall{
	Names:  []string{"io_uring_enter", "io_uring_register", "io_uring_setup"},
	Action: specs.ActAllow,
}

// platforms are those of the image.
var platforms = []string{"amd64", "arm64"}

// profile is Docker's default for a container without capabilities, plus [rings]. It has no conditions: they are
// Docker's, and containerd would ignore them. Without architectures, only calls of the machine's own are allowed.
func profile() *specs.LinuxSeccomp {
	standard := seccomp.DefaultProfile()
	p := &specs.LinuxSeccomp{DefaultAction: standard.DefaultAction, DefaultErrnoRet: standard.DefaultErrnoRet}
	for _, s := range standard.Syscalls {
		if in := s.Includes; in != nil && (len(in.Caps) > 0 || len(in.Arches) > 0 && !either(in.Arches)) {
			continue
		}
		if out := s.Excludes; out != nil && either(out.Arches) {
			continue
		}
		p.Syscalls = append(p.Syscalls, s.LinuxSyscall)
	}
	p.Syscalls = append(p.Syscalls, rings)
	return p
}

// either reports whether one of the platforms is among arches.
func either(arches []string) bool {
	return slices.ContainsFunc(platforms, func(p string) bool { return slices.Contains(arches, p) })
}

// TestProfile compares the file with what it is made of.
func TestProfile(t *testing.T) {
	want, err := json.MarshalIndent(profile(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(profileFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(profileFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not the default and io_uring: go test -run TestProfile -update\n%s", profileFile,
			cmp.Diff(string(want), string(got)))
	}
}

// TestProfileIsOneForAll reads the file as Docker and Podman do, and as containerd and CRI-O do.
func TestProfileIsOneForAll(t *testing.T) {
	text, err := os.ReadFile(profileFile)
	if err != nil {
		t.Fatal(err)
	}
	docker, err := seccomp.LoadProfile(string(text), withoutCapabilities())
	if err != nil {
		t.Fatal(err)
	}
	containerd := &specs.LinuxSeccomp{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(containerd); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(docker, containerd); diff != "" {
		t.Errorf("-docker +containerd\n%s", diff)
	}
}

// TestProfileAddsOnlyRings compares the file with what Docker would make on this machine.
func TestProfileAddsOnlyRings(t *testing.T) {
	standard, err := seccomp.GetDefaultProfile(withoutCapabilities())
	if err != nil {
		t.Fatal(err)
	}
	extra := allowed(profile().Syscalls)
	for name := range allowed(standard.Syscalls) {
		if !extra[name] {
			t.Errorf("%s is allowed by the default, and not here", name)
		}
		delete(extra, name)
	}
	// What only the other platform has does no harm.
	for name := range extra {
		if !slices.Contains(rings.Names, name) && !slices.Contains(elsewhere, name) {
			t.Errorf("%s is allowed here, and not by the default", name)
		}
	}
	for _, name := range rings.Names {
		if !extra[name] {
			t.Errorf("%s is allowed by the default: the profile is needed no more", name)
		}
	}
}

// elsewhere are calls that one of the platforms has, and the other has not.
var elsewhere = []string{
	"arch_prctl", "modify_ldt",
	"arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush", "set_tls", "sync_file_range2",
}

func allowed(rules []specs.LinuxSyscall) map[string]bool {
	names := map[string]bool{}
	for _, r := range rules {
		for _, name := range r.Names {
			if r.Action == specs.ActAllow {
				names[name] = true
			}
		}
	}
	return names
}

func withoutCapabilities() *specs.Spec {
	return &specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}}
}
