package tidy

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	root      = "../.."
	lineLimit = 120 // characters; a tab is one
	fileLimit = 512 << 10
)

// files returns the paths of the repository's files, relative to its root.
func files(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, path := range git(t, "ls-files", "--cached", "--others", "--exclude-standard") {
		if _, err := os.Lstat(filepath.Join(root, path)); err == nil { // or it is removed, and not committed yet
			paths = append(paths, path)
		}
	}
	return paths
}

// git returns the lines that git prints.
func git(t *testing.T, args ...string) []string {
	t.Helper()
	safe := []string{"-C", root, "-c", "safe.directory=*", "-c", "core.quotePath=false"}
	out, err := exec.Command("git", append(safe, args...)...).Output()
	if err != nil {
		t.Skipf("git %s: %v", args[0], err)
	}
	return slices.DeleteFunc(strings.Split(string(out), "\n"), func(line string) bool { return line == "" })
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// list returns the lines of a list of this package, without comments.
func list(t *testing.T, name string) []string {
	t.Helper()
	lines := strings.Split(string(read(t, "internal/tidy/"+name)), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" || strings.HasPrefix(line, "#") })
}

func TestLinesAreShort(t *testing.T) {
	for _, path := range files(t) {
		if filepath.Ext(path) != ".go" {
			continue
		}
		src := read(t, path)
		if generated(src) {
			continue
		}
		raw := rawStrings(t, src)
		for i, line := range bytes.Split(src, []byte("\n")) {
			if n := utf8.RuneCount(line); n > lineLimit && !raw[i+1] {
				t.Errorf("%s:%d: %d characters, want %d at most", path, i+1, n, lineLimit)
			}
		}
	}
}

// generated says that a program wrote this Go code, in its own style.
func generated(src []byte) bool {
	first, _, _ := bytes.Cut(src, []byte("\n"))
	return bytes.HasPrefix(first, []byte("// Code generated ")) && bytes.HasSuffix(first, []byte(" DO NOT EDIT."))
}

// rawStrings returns the numbers of the lines that have a raw string, or a part of one.
func rawStrings(t *testing.T, src []byte) map[int]bool {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Value[0] == '`' {
			for line := files.Position(text.Pos()).Line; line <= files.Position(text.End()).Line; line++ {
				lines[line] = true
			}
		}
		return true
	})
	return lines
}

func TestRawStrings(t *testing.T) {
	got := rawStrings(t, []byte("package p\nvar a = `\nlong\n`\nvar b = \"short\" // `\n"))
	if len(got) != 3 || !got[2] || !got[3] || !got[4] {
		t.Errorf("lines %v, want 2 to 4", got)
	}
}

// pattern returns the regular expression of a pattern of places.txt.
func pattern(glob string) *regexp.Regexp {
	text := regexp.QuoteMeta(glob)
	text = strings.NewReplacer(`\*\*/`, `(?:.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`).Replace(text)
	return regexp.MustCompile("^" + text + "$")
}

func TestFilesHavePlaces(t *testing.T) {
	var patterns []*regexp.Regexp
	for _, glob := range list(t, "places.txt") {
		patterns = append(patterns, pattern(glob))
	}
	for _, path := range files(t) {
		if !slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(path) }) {
			t.Errorf("%s is in no place of places.txt", path)
		}
		if info, err := os.Lstat(filepath.Join(root, path)); err == nil && info.Size() > fileLimit {
			t.Errorf("%s has %d bytes, want %d at most", path, info.Size(), fileLimit)
		}
	}
}

// Every package of several files says what it is in doc.go, in main.go, or in the file named after it.
func TestPackagesAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	count := map[string]int{}
	for _, path := range files(t) {
		dir, name := filepath.Split(path)
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.Contains(path, "/testdata/") {
			continue
		}
		if generated(read(t, path)) {
			continue
		}
		count[dir]++
		if name == "doc.go" || name == "main.go" || name == filepath.Base(dir)+".go" {
			documented[dir] = true
		}
	}
	for dir, n := range count {
		if n > 1 && !documented[dir] {
			t.Errorf("%s has %d files, and no doc.go", dir, n)
		}
	}
}
