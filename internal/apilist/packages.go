package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// private matches the packages that the promise of compatibility excludes.
var private = regexp.MustCompile(`/(?:internal|cmd|bench|deploy|e2e|examples|testdata)(?:/|$)`)

// A goPackage is a package as go list prints it.
type goPackage struct {
	ImportPath, Export string
	Module             *struct{ Path string }
	DepOnly            bool
}

// list returns the lines of all public packages of the module in the working directory, sorted.
func list() ([]string, error) {
	packages, err := goList("./...")
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	load := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	var lines []string
	for _, p := range packages {
		if p.DepOnly || p.Export == "" || private.MatchString(p.ImportPath) {
			continue
		}
		pkg, err := load.Import(p.ImportPath)
		if err != nil {
			return nil, err
		}
		lines = append(lines, newPrinter(p.Module.Path, pkg).lines()...)
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// goList compiles packages with all that they import.
func goList(patterns ...string) (packages []goPackage, err error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Export,Module,DepOnly"}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}
