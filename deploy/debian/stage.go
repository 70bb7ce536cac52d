package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// fill makes the files of the package that are built, in a directory.
func fill(dir, arch string, r revision) error {
	program := filepath.Join(dir, "reactord")
	if err := compile(program, arch); err != nil {
		return err
	}
	native := program // prints what is the same on all architectures
	if arch != runtime.GOARCH {
		native = filepath.Join(dir, "native")
		if err := compile(native, runtime.GOARCH); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name string
		args []string
	}{
		{"reactord.1.gz", []string{"man"}},
		{"reactord.yaml.5.gz", []string{"man", "reactord.yaml.5"}},
		{"reactord.bash", []string{"completion", "bash"}},
		{"reactord.zsh", []string{"completion", "zsh"}},
		{"reactord.fish", []string{"completion", "fish"}},
	} {
		text, err := exec.Command(native, f.args...).Output()
		if err != nil {
			return fmt.Errorf("reactord %v: %w", f.args, err)
		}
		if err := write(filepath.Join(dir, f.name), text); err != nil {
			return err
		}
	}
	changes, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "changelog.gz"), changes); err != nil {
		return err
	}
	return write(filepath.Join(dir, "changelog.Debian.gz"), fmt.Appendf(nil,
		"reactord (%s) unstable; urgency=medium\n\n  * See changelog.gz.\n\n"+
			" -- The reactord authors <reactord@users.noreply.github.com>  %s\n", r.version(), r.date.Format(time.RFC1123Z)))
}

// compile builds the daemon: static, and the same for the same commit.
func compile(path, arch string) error {
	c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/reactord")
	c.Dir = "../.."
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("building for %s: %w", arch, err)
	}
	return nil
}

// write writes a file, compressed if its name says so.
func write(path string, text []byte) error {
	if filepath.Ext(path) != ".gz" {
		return os.WriteFile(path, text, 0o644)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
