package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// handoverSources is where the description of connections is.
const handoverSources = "../cmd/reactord/internal/proxy/handover"

// buildLater builds the program as one of a later version would be: frames have a version that is higher by ahead, and
// records have a field that this one does not know.
func buildLater(t *testing.T, ahead int) (program string) {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for file, change := range map[string]func(string) string{
		"frame.go": func(text string) string {
			return regexp.MustCompile(`(?m)^const Version = \d+$`).ReplaceAllStringFunc(text, func(line string) string {
				n, _ := strconv.Atoi(strings.TrimPrefix(line, "const Version = "))
				return fmt.Sprint("const Version = ", n+ahead)
			})
		},
		"record.go": func(text string) string {
			const begin = "type Record struct {\n"
			return strings.Replace(text, begin, begin+"Later struct{ Numbers [3]int } `json:\"later\"`\n", 1)
		},
	} {
		path, err := filepath.Abs(filepath.Join(handoverSources, file))
		if err != nil {
			t.Fatal(err)
		}
		text := readFile(t, path)
		changed := change(text)
		if changed == text {
			t.Fatalf("%s has not what is to be changed", path)
		}
		replace[path] = filepath.Join(dir, file)
		writeFile(t, replace[path], changed)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "overlay"), string(overlay))
	program = filepath.Join(dir, "reactord")
	buildIn(t, "..", "-overlay", filepath.Join(dir, "overlay"), "-o", program)
	return program
}

// buildIn builds the daemon of a copy of this module.
func buildIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build"}, args...), "./cmd/reactord")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

// buildRelease builds the last version that has a tag, or skips the test if there is none.
func buildRelease(t *testing.T) (program string) {
	t.Helper()
	git := need(t, "git", "git")
	tag, err := exec.Command(git, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*").Output()
	if err != nil {
		t.Skip("no version has a tag")
	}
	root, err := exec.Command(git, "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	archive := exec.Command("sh", "-c", `git archive "$0" | tar -x -C "$1"`, strings.TrimSpace(string(tag)), dir)
	archive.Dir = strings.TrimSpace(string(root))
	if out, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("git archive: %v\n%s", err, out)
	}
	program = filepath.Join(t.TempDir(), "reactord")
	buildIn(t, dir, "-o", program)
	return program
}

// Connections move to the next version and back, and between the last release and this version.
func TestHandoverBetweenVersions(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(*testing.T) string{
		"next":    func(t *testing.T) string { return buildLater(t, 1) },
		"release": buildRelease,
	} {
		t.Run(name, func(t *testing.T) {
			const n = 24
			other := build(t)
			streams := newStreams(t, n)
			m := startMover(t, streams.server)
			streams.start(m.addr)
			m.awaitOpen(n)
			for _, program := range []string{other, reactord, other, other, reactord} {
				copyFile(t, program, m.program)
				m.move(n)
			}
			streams.end()
			m.endNormal(n)
		})
	}
}

// A version that is further ahead does not know how connections are described, and neither does this one know how it
// describes them: they stay in either process, which says why, until they end.
func TestHandoverToUnknownVersion(t *testing.T) {
	t.Parallel()
	const n = 24
	streams := newStreams(t, n)
	m := startMover(t, streams.server)
	streams.start(m.addr)
	m.awaitOpen(n)
	first := m.pid
	copyFile(t, buildLater(t, 2), m.program)
	stays := func(ring int) {
		t.Helper()
		lines, old := len(m.logged(anything)), m.pid
		writeFile(t, m.config, m.text(ring))
		m.generations.upgrade()
		l := m.awaitSince(lines, "the new process takes no more connections")
		if why := l.str("error"); !strings.Contains(why, "in a version that this process does not know") {
			t.Errorf("process %d: %s", old, l.raw)
		}
	}
	stays(1)
	second := m.pid
	kept := dial(t, m.addr)
	kept.send([]byte("x"))
	kept.expect([]byte("x"))
	copyFile(t, reactord, m.program)
	stays(2)
	eventually(t, "the connections of the first process reach the third one", func() bool {
		all := m.predecessors()
		return len(all) == 1 && all[0].PID == second && all[0].Connections == 1
	})
	m.awaitGone(first)
	if taken := m.taken(); taken != n {
		t.Errorf("%d connections have moved, want %d", taken, n)
	}
	kept.send([]byte("y"))
	kept.expect([]byte("y"))
	kept.finish()
	kept.expectEOF()
	m.awaitGone(second)
	streams.end()
	m.endNormal(n + 1)
}
