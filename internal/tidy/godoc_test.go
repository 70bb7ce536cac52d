package tidy

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sources returns the parsed Go files that are not generated.
func sources(t *testing.T) (set *token.FileSet, parsed map[string]*ast.File) {
	t.Helper()
	set, parsed = token.NewFileSet(), map[string]*ast.File{}
	for _, name := range files(t) {
		if filepath.Ext(name) != ".go" || strings.Contains(name, "/testdata/") {
			continue
		}
		src := read(t, name)
		if generated(src) {
			continue
		}
		file, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed[name] = file
	}
	return set, parsed
}

// docs calls f with each doc comment of a file.
func docs(file *ast.File, f func(*ast.CommentGroup)) {
	ast.Inspect(file, func(n ast.Node) bool {
		var doc *ast.CommentGroup
		switch n := n.(type) {
		case *ast.File:
			doc = n.Doc
		case *ast.GenDecl:
			doc = n.Doc
		case *ast.FuncDecl:
			doc = n.Doc
		case *ast.TypeSpec:
			doc = n.Doc
		case *ast.ValueSpec:
			doc = n.Doc
		case *ast.Field:
			doc = n.Doc
		}
		if doc != nil {
			f(doc)
		}
		return true
	})
}

// swallowed returns the first heading of a doc comment that go doc prints as text of a paragraph, or "".
func swallowed(text string) string {
	seen := map[string]bool{}
	for _, block := range new(comment.Parser).Parse(text).Content {
		if h, ok := block.(*comment.Heading); ok && len(h.Text) == 1 {
			if plain, ok := h.Text[0].(comment.Plain); ok {
				seen[string(plain)] = true
			}
		}
	}
	for line := range strings.Lines(text) {
		if title, is := strings.CutPrefix(strings.TrimSpace(line), "# "); is && line[0] == '#' && !seen[title] {
			return title
		}
	}
	return ""
}

// A heading in a doc comment stands between empty lines: otherwise go doc prints it within a paragraph.
func TestHeadingsAreHeadings(t *testing.T) {
	set, parsed := sources(t)
	for _, file := range parsed {
		docs(file, func(doc *ast.CommentGroup) {
			if title := swallowed(doc.Text()); title != "" {
				t.Errorf("%v: %q is no heading: it needs an empty line before and after", set.Position(doc.Pos()), title)
			}
		})
	}
}

func TestSwallowed(t *testing.T) {
	for text, want := range map[string]string{
		"Package a.\n\n# Use\n\nText.\n": "",
		"Package a.\n# Use\n\nText.\n":   "Use",
		"Package a.\n\n# Use\nText.\n":   "Use",
		"Package a:\n\n\t# a shell\n":    "",
	} {
		if got := swallowed(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

var (
	fileName   = regexp.MustCompile(`[a-z][\w*]*\.(?:go|txt|css|html|js|json)\b`)
	filePrefix = regexp.MustCompile(`(?m)^\t(\w+)\s{2,}`)
)

// entry is a name in an index of files, as patterns of which at least one must match a file.
type entry []string

func (e entry) has(file string) bool {
	return slices.ContainsFunc(e, func(pattern string) bool {
		ok, err := path.Match(pattern, file)
		return ok && err == nil
	})
}

// fileIndex returns the entries of the section "Files" of a package comment.
func fileIndex(text string) (all []entry) {
	_, text, found := strings.Cut(text, "# Files\n")
	if !found {
		return nil
	}
	text, _, _ = strings.Cut(text, "\n# ")
	for _, name := range fileName.FindAllString(text, -1) {
		all = append(all, entry{name})
	}
	if strings.Contains(text, "share a prefix") {
		for _, m := range filePrefix.FindAllStringSubmatch(text, -1) {
			all = append(all, entry{m[1] + ".go", m[1] + "_*.go"})
		}
	}
	return all
}

// The index of files in a package comment names all files of the package, and no others.
func TestIndexesOfFiles(t *testing.T) {
	_, parsed := sources(t)
	inDir := map[string][]string{}
	for _, name := range files(t) {
		inDir[path.Dir(name)] = append(inDir[path.Dir(name)], path.Base(name))
	}
	for name, file := range parsed {
		entries := fileIndex(file.Doc.Text())
		if path.Base(name) != "doc.go" || len(entries) == 0 {
			continue
		}
		dir := path.Dir(name)
		for _, e := range entries {
			if !slices.ContainsFunc(inDir[dir], e.has) {
				t.Errorf("%s: the index names %s, which does not exist", name, e[0])
			}
		}
		for _, base := range inDir[dir] {
			if parsed[dir+"/"+base] == nil || base == "doc.go" || strings.HasSuffix(base, "_test.go") {
				continue
			}
			if !slices.ContainsFunc(entries, func(e entry) bool { return e.has(base) }) {
				t.Errorf("%s: the index does not name %s", name, base)
			}
		}
	}
}

func TestFileIndex(t *testing.T) {
	got := fileIndex("Package a.\n\n# Use\n\nb.go\n\n# Files\n\n\tc.go, d_*.go  they\n\n# More\n\ne.go\n")
	if len(got) != 2 || got[0][0] != "c.go" || !got[1].has("d_x.go") || got[1].has("d.go") {
		t.Errorf("index %v", got)
	}
	got = fileIndex("# Files\n\nFiles share a prefix:\n\n\tconn   a connection\n\nIt is worker.go.\n")
	if len(got) != 2 || got[0][0] != "worker.go" || !got[1].has("conn.go") || !got[1].has("conn_end.go") {
		t.Errorf("index with prefixes %v", got)
	}
}
