// Sbom writes what a program of Go is made of, as a bill of materials of CycloneDX 1.5.
//
//	go run ./internal/sbom -output FILE PROGRAM
//
// It reads what the linker has written into the program, as go version -m does: the modules that are in there, at the
// versions that are in there, and no others. So it needs no network and no source, and the same program gives the same
// file.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path"
	"runtime/debug"
	"strings"
)

// document is a bill of materials: https://cyclonedx.org/docs/1.5/json/
type document struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	URL        string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

func main() {
	output := flag.String("output", "/dev/stdout", "file to write")
	flag.Parse()
	if err := write(*output, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(output, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(describe(info), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(output, append(text, '\n'), 0o644) //nolint:gosec // it is public
}

// describe is the bill of a program.
func describe(info *debug.BuildInfo) document {
	program := module("application", &info.Main)
	for _, s := range info.Settings {
		program.Properties = append(program.Properties, property{"reactord:go:build:" + s.Key, s.Value})
	}
	d := document{
		Schema: "http://cyclonedx.org/schema/bom-1.5.schema.json", Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Metadata: metadata{program},
	}
	version := strings.Fields(info.GoVersion)[0] // what follows is experiments
	std := &debug.Module{Path: "std", Version: strings.TrimPrefix(version, "go")}
	for _, m := range append([]*debug.Module{std}, info.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		d.Components = append(d.Components, module("library", m))
	}
	all := dependency{Ref: program.Ref, DependsOn: []string{}}
	for _, c := range d.Components {
		all.DependsOn = append(all.DependsOn, c.Ref)
	}
	d.Dependencies = []dependency{all}
	return d
}

// module describes a module. See the type golang of https://github.com/package-url/purl-spec.
func module(kind string, m *debug.Module) component {
	c := component{Type: kind, Name: m.Path, Version: m.Version, URL: "pkg:golang/" + path.Clean(m.Path)}
	if m.Version != "" {
		c.URL += "@" + strings.ReplaceAll(url.PathEscape(m.Version), "+", "%2B")
	}
	c.Ref = c.URL
	if m.Sum != "" {
		c.Properties = []property{{"reactord:go:sum", m.Sum}}
	}
	return c
}
