package tidy

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)(?:/[a-z_]+)?`")
	testFunc  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)\(`)
)

// A test that a document names exists: promises of SECURITY.md are kept by the tests beside them.
func TestNamedTestsExist(t *testing.T) {
	exists := map[string]bool{}
	for _, path := range files(t) {
		if strings.HasSuffix(path, "_test.go") {
			for _, f := range testFunc.FindAllSubmatch(read(t, path), -1) {
				exists[string(f[1])] = true
			}
		}
	}
	for _, path := range files(t) {
		if filepath.Ext(path) != ".md" {
			continue
		}
		for _, name := range namedTest.FindAllSubmatch(read(t, path), -1) {
			if !exists[string(name[1])] {
				t.Errorf("%s names %s, which is no test", path, name[1])
			}
		}
	}
}
