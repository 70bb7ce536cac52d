package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the format
)

func main() {
	arch := flag.String("arch", "amd64", "architecture, as Debian and Go call it: amd64 or arm64")
	out := flag.String("out", ".", "directory of the package")
	flag.Parse()
	path, err := build(*arch, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "debian:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// build builds the package for an architecture, and returns its path.
func build(arch, out string) (path string, err error) {
	r, err := readRevision()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "reactord-deb-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := fill(dir, arch, r); err != nil {
		return "", err
	}
	env := map[string]string{"STAGE": dir, "ARCH": arch, "VERSION": r.version()}
	config, err := nfpm.ParseFileWithEnvMapping("nfpm.yaml", func(name string) string { return env[name] })
	if err != nil {
		return "", err
	}
	info := nfpm.WithDefaults(&config.Info)
	info.MTime = r.date // the same commit gives the same package
	for _, c := range info.Contents {
		c.FileInfo.MTime = r.date
	}
	packager, err := nfpm.Get("deb")
	if err != nil {
		return "", err
	}
	path = filepath.Join(out, packager.ConventionalFileName(info))
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := packager.Package(info, f); err != nil {
		_ = os.Remove(path)
		return "", err
	}
	return path, f.Close()
}
