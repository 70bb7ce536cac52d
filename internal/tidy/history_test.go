package tidy

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const (
	subjectLimit = 72 // characters

	// Commits before this moment follow no rules.
	historySince = "2026-11-27T00:00:00Z"
)

// commit is a commit of the history.
type commit struct {
	id, parents, message string
}

// commits returns the commits of HEAD since historySince. It skips the test if the history is incomplete.
func commits(t *testing.T) (all []commit) {
	t.Helper()
	if shallow := git(t, "rev-parse", "--is-shallow-repository"); len(shallow) != 1 || shallow[0] != "false" {
		t.Skip("the clone is shallow: git fetch --unshallow")
	}
	// Fields end with US, commits with RS: neither is in a message.
	args := []string{"-C", root, "-c", "safe.directory=*", "log", "--since=" + historySince, "--format=%h%x1f%P%x1f%B%x1e"}
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		t.Skipf("git log: %v", err)
	}
	for entry := range strings.SplitSeq(string(out), "\x1e") {
		if f := strings.Split(strings.TrimSpace(entry), "\x1f"); len(f) == 3 {
			all = append(all, commit{id: f[0], parents: f[1], message: f[2]})
		}
	}
	return all
}

// A commit has one parent, and a subject that says what changes for whom. Its body is behind an empty line.
func TestHistory(t *testing.T) {
	for _, c := range commits(t) {
		for _, fault := range c.faults() {
			subject, _, _ := strings.Cut(c.message, "\n")
			t.Errorf("commit %s: %s: %s", c.id, fault, subject)
		}
	}
}

func (c commit) faults() (all []string) {
	if strings.Contains(c.parents, " ") {
		all = append(all, "it is a merge: rebase instead")
	}
	subject, body, _ := strings.Cut(c.message, "\n")
	if second, _, _ := strings.Cut(body, "\n"); second != "" {
		all = append(all, "the second line is not empty")
	}
	if fault := faultOfSubject(subject); fault != "" {
		all = append(all, fault)
	}
	return all
}

var (
	scope      = regexp.MustCompile(`^[\w./-]+(?:, [\w./-]+)*: `) // "reactor, sender/task: "
	aboutTools = regexp.MustCompile(`(?i)\b(?:lint(?:er|ers|ing)?|golangci-lint|gofmt|goimports|shorter lines?|` +
		`(?:re)?format(?:ting)? (?:the )?(?:code|files?|source|imports)|reformat)\b`)
)

// faultOfSubject returns what is wrong with a subject, or "".
func faultOfSubject(subject string) string {
	if utf8.RuneCountInString(subject) > subjectLimit {
		return "the subject is longer than 72 characters"
	}
	scope := scope.FindString(subject)
	text := subject[len(scope):]
	verb, _, _ := strings.Cut(text, " ")
	first, _ := utf8.DecodeRuneInString(verb)
	switch {
	case verb == text:
		return "the subject has no object: what changes, and for whom?"
	case strings.EqualFold(verb, "merge") && scope == "":
		return "it is a merge: say what it changes"
	case scope == "" && !unicode.IsUpper(first):
		return `begin the subject with "package: verb" or "Verb"`
	case scope != "" && !unicode.IsLower(first):
		return "begin with a verb in lower case behind the package"
	case !isImperative(verb):
		return "write the verb as an order: add, not adds, added or adding"
	case aboutTools.MatchString(text):
		return "say what changes for a reader or a user, not for a tool"
	}
	return ""
}

// isImperative reports whether a word can be an imperative: words in -s, -ed and -ing are other forms of a verb, with
// few exceptions.
func isImperative(word string) bool {
	word = strings.ToLower(word)
	switch word {
	case "bring", "ring", "string", "need", "feed", "seed", "speed", "embed", "shed", "exceed", "focus", "bias":
		return true
	}
	return !strings.HasSuffix(word, "ed") && !strings.HasSuffix(word, "ing") &&
		(!strings.HasSuffix(word, "s") || strings.HasSuffix(word, "ss"))
}

func TestFaultsOfSubjects(t *testing.T) {
	for subject, good := range map[string]bool{
		"proxy: reset clients that no route takes":         true,
		"reactor, sender/task: pass the line of a task on": true,
		"plan: merge the parts of several control planes":  true,
		"accesslog: address lines by their connection":     true,
		"Write down what an upgrade keeps":                 true,
		"cmd/reactord: embed the schema":                   true,
		"proxy: resets clients that no route takes":        false,
		"proxy: reset":                                       false,
		"proxy: added a test":                                false,
		"proxy: Reset clients":                               false,
		"adding a test":                                      false,
		"reset clients that no route takes":                  false,
		"Merge branch 'main' into proxy":                     false,
		"proxy: make the linter happy":                       false,
		"proxy: run gofmt":                                   false,
		"proxy: write shorter lines":                         false,
		"proxy: reformat the table":                          false,
		"proxy: say all of it" + strings.Repeat(" and", 20):  false,
		"xds: format the names of resources like Envoy does": true,
	} {
		if fault := faultOfSubject(subject); (fault == "") != good {
			t.Errorf("%q: %q", subject, fault)
		}
	}
	bad := commit{id: "1", parents: "2 3", message: "proxy: reset clients\nat the end"}
	if faults := bad.faults(); len(faults) != 2 {
		t.Errorf("a merge without an empty line has the faults %q", faults)
	}
}
