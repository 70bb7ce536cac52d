package ads

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCases checks that each case of testdata/cases.txt has a test that exists, or a reason.
func TestCases(t *testing.T) {
	text, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{} // by folder: the sources of its tests
	cases := regexp.MustCompile(`(?m)^(\w.*?)  +(\S+)( .*)?$`).FindAllStringSubmatch(string(text), -1)
	if len(cases) < 90 {
		t.Fatalf("%d cases only", len(cases))
	}
	for _, c := range cases {
		name, where := c[1], c[2]
		if where == "-" {
			if len(c[3]) < 10 {
				t.Errorf("%s: without a reason", name)
			}
			continue
		}
		folder, test, beside := strings.Cut(where, ".")
		if !beside {
			folder, test = "ads", where
		}
		if tests[folder] == "" {
			tests[folder] = sources(t, filepath.Join("..", folder, "*_test.go"))
		}
		if !strings.Contains(tests[folder], "\nfunc "+test+"(t *testing.T)") {
			t.Errorf("%s: there is no %s", name, where)
		}
	}
}

// sources returns the text of the files that match.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
