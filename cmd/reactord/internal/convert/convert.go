package convert

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Kind is the program that a configuration is for.
type Kind string

// The values of [Kind].
const (
	HAProxy Kind = "haproxy"
	Nginx   Kind = "nginx"
)

// Kinds has the values of [Kind].
var Kinds = []string{string(HAProxy), string(Nginx)}

// maxFile limits the size of a file.
const maxFile = 16 << 20

// Source is a file to convert.
type Source struct {
	Name string // of the file, for the report
	Text string
	Kind Kind // "": by the content

	// Files has further files that the text names. nil: none is read.
	Files Files
	// Env returns the variables of the environment. nil: there are none.
	Env func(name string) (value string, found bool)
}

// Files reads the files that a configuration names: lists of patterns, directories of certificates, included files.
type Files interface {
	// ReadFile returns the text of a regular file.
	ReadFile(name string) (string, error)
	// ReadDir returns the names of the files of a directory, sorted.
	ReadDir(name string) ([]string, error)
	// Glob returns the files that match a pattern, sorted.
	Glob(pattern string) ([]string, error)
}

// Result is a configuration and how it was made.
type Result struct {
	Config *config.Config
	Report Report
}

// Convert converts a file. The error says that there is nothing to convert; the Result has a report even then.
func Convert(s *Source) (*Result, error) {
	r := &Result{Config: config.New(), Report: Report{File: s.Name, Kind: s.Kind}}
	if r.Report.Kind == "" {
		r.Report.Kind = Detect(s.Text)
	}
	switch r.Report.Kind {
	case HAProxy:
		convertHAProxy(s, r)
	case Nginx:
		convertNginx(s, r)
	default:
		return r, fmt.Errorf("%s is a configuration of neither HAProxy nor nginx: write --from haproxy or --from nginx "+
			"if it is one", s.Name)
	}
	defer r.Report.finish()
	if len(r.Config.Listeners) == 0 {
		return r, fmt.Errorf("%s has no proxy of TCP or UDP that can be converted", s.Name)
	}
	for _, p := range r.Config.Validate() {
		r.Report.add(place{s.Name, 1}, "", Supply, p.Path, "%s", p.String())
	}
	r.missingFiles(s)
	return r, nil
}

// missingFiles reports the files of TLS that cannot be read here, as reactord check would.
func (r *Result) missingFiles(s *Source) {
	if s.Files == nil {
		return
	}
	need := func(file string) {
		if file == "" || strings.Contains(file, "REPLACE") {
			return // reported already
		}
		if _, err := s.Files.ReadFile(file); err != nil {
			r.Report.add(place{s.Name, 1}, file, Supply, "", "the file of TLS cannot be read here: %s", err)
		}
	}
	for i := range r.Config.Listeners {
		t := &r.Config.Listeners[i].TLS
		for _, c := range t.Certificates {
			need(c.Cert)
			need(c.Key)
		}
		need(t.ClientCA)
		need(t.ClientCRL)
	}
	for i := range r.Config.Backends {
		t := &r.Config.Backends[i].TLS
		need(t.CA)
		need(t.CRL)
		need(t.Cert)
		need(t.Key)
	}
}

// WriteYAML writes the configuration.
func (r *Result) WriteYAML(w io.Writer) error {
	_, err := fmt.Fprintf(w, "# Converted from the %s configuration %s by reactord convert.\n", r.Report.Kind,
		printable(r.Report.File))
	if err == nil {
		err = config.PrintBrief(w, r.Config)
	}
	return err
}

// Detect returns the kind of a configuration by its content, or "".
func Detect(text string) Kind {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		last := words[len(words)-1]
		if strings.HasSuffix(last, ";") || strings.HasSuffix(last, "{") && !strings.HasPrefix(last, "%") {
			return Nginx
		}
		if isSection(words[0]) && len(words) <= 4 {
			return HAProxy
		}
	}
	return ""
}

// System reads files of this machine.
type System struct{}

// ReadFile reads a file, which must be regular and not too large.
func (System) ReadFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("larger than %d bytes", maxFile)}
	}
	return string(data), err
}

// ReadDir lists a directory.
func (System) ReadDir(name string) (files []string, err error) {
	entries, err := os.ReadDir(name)
	for _, e := range entries {
		if !e.IsDir() {
			files = append(files, e.Name())
		}
	}
	return files, err
}

// Glob finds files by a pattern.
func (System) Glob(pattern string) ([]string, error) { return filepath.Glob(pattern) }
