package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// lookedAt are honoured fields that no code names: a table or a loop reads them, or strangers are refused within.
var lookedAt = map[string]string{
	"envoy.config.core.v3.ConfigSource.self":                "it is as ads",
	"envoy.config.listener.v3.Listener.udp_listener_config": "what it has is refused or ignored",
}

// What is honoured is looked at: by its name, somewhere in the code of the daemon. Otherwise it would be ignored, and
// the list would not say so.
func TestHonouredFieldsAreLookedAt(t *testing.T) {
	words := identifiers(t)
	names := goNames(t)
	text := generated(t, repository)[filepath.Join(directory, "fields.txt")]
	message, count := "", 0
	for line := range strings.Lines(text) {
		parts := strings.Fields(line)
		switch {
		case line[0] == '#':
		case line[0] != ' ':
			message = parts[0]
		case parts[2] == "h":
			name := names[parts[1]]
			full := message + "." + parts[1]
			count++
			if name == "" {
				t.Errorf("%s has no Go field", full)
			}
			used := words[name] || words["Get"+name] || lookedAt[full] != ""
			if !used {
				t.Errorf("%s is honoured, and no code looks at it (%s)", full, name)
			}
		}
	}
	if count < 300 {
		t.Errorf("%d honoured fields: too few", count)
	}
}

// goNames returns the Go names of the fields in the generated code, by their names in messages.
func goNames(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	for name, code := range generated(t, repository) {
		if filepath.Ext(name) != ".go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, code, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil || len(field.Names) == 0 {
				return true
			}
			tag, _ := strconv.Unquote(field.Tag.Value) // the compiler has accepted it
			for part := range strings.SplitSeq(reflect.StructTag(tag).Get("protobuf"), ",") {
				if of, ok := strings.CutPrefix(part, "name="); ok {
					names[of] = field.Names[0].Name
				}
			}
			return true
		})
	}
	return names
}

// identifiers returns those of the daemon's own code.
func identifiers(t *testing.T) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	root := filepath.Join(repository, "cmd/reactord")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == filepath.Base(directory):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				words[name.Name] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return words
}
