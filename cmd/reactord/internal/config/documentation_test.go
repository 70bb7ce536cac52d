package config

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write comments.json and the generated part of docs/configuration.md")

// generated is the line of docs/configuration.md after which everything is generated.
const generated = "<!-- Generated: go test ./cmd/reactord/internal/config -run TestDocumentation -update -->\n"

// The documentation has every setting, with the comment of its field.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile(documentationFile)
	if err != nil {
		t.Fatal(err)
	}
	texts := commentsOf(t, "config.go", "listener.go", "backend.go", "servercheck.go", "discovery.go",
		"tls.go", "accesslog.go", "sets.go", "xds.go", "defaults.go")
	if *update {
		writeComments(t, texts)
	} else if diff := cmp.Diff(texts, docs()); diff != "" {
		t.Errorf("comments.json is stale: run this test with -update\n%s", diff)
	}
	written, was, found := strings.Cut(string(data), generated)
	if !found {
		t.Fatalf("%s has no line %q", documentationFile, generated)
	}
	want := reference()
	if *update {
		if err := os.WriteFile(documentationFile, []byte(written+generated+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, was); diff != "" {
		t.Errorf("%s is stale: run this test with -update\n%s", documentationFile, diff)
	}
}

// writeComments writes the comments into their file, and uses them.
func writeComments(t *testing.T, texts map[string]string) {
	t.Helper()
	out, err := json.MarshalIndent(texts, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("comments.json", append(out, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	docs = func() map[string]string { return texts }
}

// commentsOf reads the comments of types and fields from source files.
func commentsOf(t *testing.T, files ...string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		addComments(texts, file)
	}
	return texts
}

func addComments(texts map[string]string, file *ast.File) {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		spec := g.Specs[0].(*ast.TypeSpec)
		s, ok := spec.Type.(*ast.StructType)
		if !ok || !spec.Name.IsExported() {
			continue
		}
		texts[spec.Name.Name] = g.Doc.Text()
		text := ""
		for _, f := range s.Fields.List {
			if len(f.Names) == 0 {
				continue // its type has the comments
			}
			if f.Doc != nil {
				text = f.Doc.Text()
			}
			texts[spec.Name.Name+"."+f.Names[0].Name] = text
		}
	}
}

// reference is the tables of all settings.
func reference() string {
	all := Reference()
	keys := map[string]string{}
	for _, s := range all {
		keys[s.Anchor] = s.Key
	}
	var b strings.Builder
	for _, s := range all {
		if s.Key == "" {
			b.WriteString("\n## The file\n\n")
		} else {
			fmt.Fprintf(&b, "\n## %s\n\n", s.Key)
			if len(s.In) > 0 {
				as := ""
				if len(s.As) > 1 {
					as = ": `" + strings.Join(s.As, "`, `") + "`"
				}
				fmt.Fprintf(&b, "In `%s`%s. ", strings.Join(s.In, "` and `"), as)
			}
			b.WriteString(s.Text + "\n")
			if len(s.Settings) > 0 {
				b.WriteString("\n")
			}
		}
		if len(s.Settings) == 0 {
			continue
		}
		b.WriteString("| Setting | Value | Default | Description |\n|---|---|---|---|\n")
		for _, f := range s.Settings {
			row := []string{"`" + f.Key + "`", valueCell(f, keys[f.Section]), defaultCell(f), f.Text}
			for i := range row {
				row[i] = strings.ReplaceAll(row[i], "|", `\|`)
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	return b.String()
}

func valueCell(f Setting, key string) string {
	if f.Section == "" {
		return f.Values
	}
	link := fmt.Sprintf("[%s](#%s)", key, f.Section)
	if f.List {
		return "a list of " + link
	}
	return link
}

func defaultCell(f Setting) string {
	switch {
	case f.Required:
		return "required"
	case f.List, f.Default == "":
		return "empty"
	case f.Default == nil:
		return ""
	}
	return fmt.Sprintf("`%v`", f.Default)
}
