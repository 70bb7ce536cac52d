package tidy

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// prose returns a Markdown file with its blocks of code blanked, so that lines keep their numbers.
func prose(text string) string {
	lines := strings.Split(text, "\n")
	inCode := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || inCode {
			lines[i] = ""
		}
		inCode = inCode != fence
	}
	return strings.Join(lines, "\n")
}

var (
	heading  = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	link     = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]*)\)`)
	codeSpan = regexp.MustCompile("`[^`]*`")
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]+`)
	external = regexp.MustCompile(`^[a-z]+:`)
)

// anchors returns the anchors of the headings of a Markdown file, as GitHub makes them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(prose(text), -1) {
		name := link.ReplaceAllString(m[1], "$1")
		name = strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(name), ""), " ", "-")
		unique := name
		for i := 1; all[unique]; i++ {
			unique = name + "-" + string(rune('0'+i))
		}
		all[unique] = true
	}
	return all
}

// Links between documents lead to files and headings that exist.
func TestLinks(t *testing.T) {
	anchorsOf := map[string]map[string]bool{}
	var documents []string
	for _, file := range files(t) {
		if filepath.Ext(file) == ".md" {
			documents = append(documents, file)
			anchorsOf[file] = anchors(string(read(t, file)))
		}
	}
	for _, document := range documents {
		text := codeSpan.ReplaceAllString(prose(string(read(t, document))), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[2], "#")
			if external.MatchString(target) {
				continue
			}
			file := document
			if target != "" {
				file = path.Join(path.Dir(document), target)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s: [%s](%s) leads to no file", document, m[1], m[2])
			} else if headings, ok := anchorsOf[file]; ok && anchor != "" && !headings[anchor] {
				t.Errorf("%s: [%s](%s) leads to no heading", document, m[1], m[2])
			}
		}
	}
}

func TestAnchors(t *testing.T) {
	got := anchors("# The proxy's `plan`\n## Use\n```\n# no heading\n```\n## Use\n### [io_uring](x.md) & TLS\n")
	for _, want := range []string{"the-proxys-plan", "use", "use-1", "io_uring--tls"} {
		if !got[want] {
			t.Errorf("no anchor %s in %v", want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("anchors %v", got)
	}
}

var namedPath = regexp.MustCompile("`(?:\\./)?([a-z.][a-z0-9_./-]*[a-z0-9_])/?`")

// pathEnds returns the paths of all files and directories, and each of their suffixes, such as internal/plan.
func pathEnds(all []string) map[string]bool {
	ends := map[string]bool{}
	for _, file := range all {
		for ; file != "."; file = path.Dir(file) {
			for end := file; ; {
				ends[end] = true
				_, rest, found := strings.Cut(end, "/")
				if !found {
					break
				}
				end = rest
			}
		}
	}
	return ends
}

// A Go file, or a path of the repository, that a document names exists. CHANGELOG.md tells of the past.
func TestNamedPathsExist(t *testing.T) {
	all := files(t)
	ends := pathEnds(all)
	top := map[string]bool{}
	for _, file := range all {
		if first, _, below := strings.Cut(file, "/"); below {
			top[first] = true
		}
	}
	for _, document := range all {
		if filepath.Ext(document) != ".md" || document == "CHANGELOG.md" {
			continue
		}
		for _, m := range namedPath.FindAllStringSubmatch(prose(string(read(t, document))), -1) {
			first, _, below := strings.Cut(m[1], "/")
			if named := below && top[first] || strings.HasSuffix(m[1], ".go"); named && !ends[m[1]] {
				t.Errorf("%s names %s, which does not exist", document, m[1])
			}
		}
	}
}

// section returns the lines of a Markdown file below a heading, up to the next one.
func section(t *testing.T, text, title string) []string {
	t.Helper()
	_, below, found := strings.Cut(text, "\n## "+title+"\n")
	if !found {
		t.Fatalf("no section %s", title)
	}
	below, _, _ = strings.Cut(below, "\n## ")
	return strings.Split(below, "\n")
}

// cells returns the cells of a row of a table, or nil.
func cells(line string) []string {
	if !strings.HasPrefix(line, "| ") {
		return nil
	}
	all := strings.Split(strings.Trim(line, "| "), " | ")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// The glossary defines a term once, and in alphabetical order.
func TestGlossary(t *testing.T) {
	seen := map[string]bool{}
	last := ""
	for _, line := range section(t, string(read(t, "ARCHITECTURE.md")), "Glossary") {
		row := cells(line)
		if row == nil || !strings.HasPrefix(row[0], "**") {
			continue
		}
		terms := strings.ToLower(strings.Trim(row[0], "*"))
		if terms < last {
			t.Errorf("ARCHITECTURE.md: %q stands below %q", terms, last)
		}
		last = terms
		for term := range strings.SplitSeq(terms, ", ") {
			if seen[term] {
				t.Errorf("ARCHITECTURE.md defines %q twice", term)
			}
			seen[term] = true
		}
	}
	if len(seen) == 0 {
		t.Error("the glossary is empty")
	}
}

var count = regexp.MustCompile(`^~?\d{1,3}(?:[ ,.]?\d{3})+(?: */ *\d[\d ,.]*)?$|^\d[\d.]*k$`)

// ARCHITECTURE.md has no counts of lines, which would soon be wrong.
func TestNoCounts(t *testing.T) {
	for i, line := range strings.Split(string(read(t, "ARCHITECTURE.md")), "\n") {
		for _, cell := range cells(line) {
			if cell == "lines" || count.MatchString(cell) {
				t.Errorf("ARCHITECTURE.md:%d: remove the count %q, which the next commit makes wrong", i+1, cell)
			}
		}
	}
}
