package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/reactord/reactord/cmd/reactord/internal/cli/completion"
	"github.com/reactord/reactord/cmd/reactord/internal/cli/manual"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// need returns the path of a program. Without it the test is skipped, and fails in CI.
func need(t *testing.T, program, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("%s is not installed; it is in Debian's package %s", program, pkg)
	default:
		t.Skipf("%s is not installed; it is in Debian's package %s", program, pkg)
	}
	return path
}

// quiet runs a program that has nothing to complain about, and returns its standard output.
func quiet(t *testing.T, program string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), program, args...)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80")
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, stderr.String(), stdout.String())
	}
	return stdout.String()
}

// eachCommand calls f for each command that is not hidden.
func eachCommand(n *kong.Node, f func(*kong.Node)) {
	for _, c := range n.Children {
		if !c.Hidden {
			f(c)
			eachCommand(c, f)
		}
	}
}

// pages writes the manual pages, and returns their paths.
func pages(t *testing.T) (commands, settings string) {
	t.Helper()
	e := manual.Edition{Version: "1.2.3", Date: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	write := func(name string, err error, text *bytes.Buffer) string {
		path := filepath.Join(t.TempDir(), name)
		if err == nil {
			err = os.WriteFile(path, text.Bytes(), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	var a, b bytes.Buffer
	return write("reactord.1", manual.Commands(&a, newParser().Model, e), &a),
		write("reactord.yaml.5", manual.Settings(&b, e), &b)
}

func TestManualIsComplete(t *testing.T) {
	commands, settings := pages(t)
	plain := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer(`\-`, "-", `\fB`, "", `\fI`, "", `\fR`, "").Replace(string(text))
	}
	page := plain(commands)
	eachCommand(newParser().Model.Node, func(c *kong.Node) {
		heading := ".SS \"" + c.FullPath() + "\"\n"
		_, text, found := strings.Cut(page, heading)
		if !found {
			if c.Leaf() {
				t.Errorf("no %s", heading)
			}
			return
		}
		text, _, _ = strings.Cut(text, "\n.S")
		for _, f := range c.Flags {
			if !strings.Contains(text, "--"+f.Name) {
				t.Errorf("%s: no --%s", c.FullPath(), f.Name)
			}
		}
		for _, a := range c.Positional {
			if !strings.Contains(text, ".TP\n"+a.Name+"\n") {
				t.Errorf("%s: no %s", c.FullPath(), a.Name)
			}
		}
	})
	page = plain(settings)
	for _, s := range config.Reference() {
		for _, f := range s.Settings {
			if !strings.Contains(page, ".TP\n"+f.Key+"\n") {
				t.Errorf("%s: no %s", s.Key, f.Key)
			}
		}
	}
}

// The pages are without fault for both programs that show them.
func TestManualIsValid(t *testing.T) {
	commands, settings := pages(t)
	for _, page := range []string{commands, settings} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			quiet(t, need(t, "mandoc", "mandoc"), "-T", "lint", "-W", "warning", page)
			if out := quiet(t, need(t, "groff", "groff-base"), "-man", "-ww", "-z", "-T", "utf8", page); out != "" {
				t.Error(out)
			}
		})
	}
}

// script writes the completion for a shell, and returns its path.
func script(t *testing.T, shell string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "_reactord."+shell)
	c := command(t, "completion", shell)
	c.Stderr = os.Stderr
	text, err := c.Output()
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// completed is how the last word of a command line is completed.
var completed = []struct {
	words []string
	want  []string
}{
	{[]string{"d"}, []string{"demo", "doctor"}},
	{[]string{"ctl", "serve"}, []string{"server", "servers"}},
	{[]string{"ctl", "server", ""}, []string{"add", "remove", "reset", "set"}},
	{[]string{"ctl", "--address", "status", "se"}, []string{"server", "servers", "set"}},
	{[]string{"ctl", "server", "set", "--s"}, []string{"--state"}},
	{[]string{"ctl", "server", "set", "app", "app1", "--state", ""}, []string{"drain", "maintenance", "up"}},
	{[]string{"ctl", "log-level", ""}, []string{"debug", "error", "info", "warn"}},
	{[]string{"ctl", "log-level", "info", "x"}, nil},
	{[]string{"proxy", "--log-level", "w"}, []string{"warn"}},
	{[]string{"proxy", "--pin", "--ri"}, []string{"--ring"}},
	{[]string{"completion", ""}, []string{"bash", "fish", "zsh"}},
	{[]string{"check", "-c", "ctl_tab"}, []string{"ctl_table.go"}},
}

// Bash completes what there is: words of examples, and each command and flag.
func TestCompletionOfBash(t *testing.T) {
	bash, path := need(t, "bash", "bash"), script(t, "bash")
	// The first line loads the script; each other one is the words of a command line, and has its answers in a line.
	const driver = `source "$1"
while IFS='|' read -ra COMP_WORDS; do
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	[[ ${COMP_WORDS[COMP_CWORD]} != EMPTY ]] || COMP_WORDS[COMP_CWORD]=
	_reactord
	echo "${COMPREPLY[*]}"
done`
	var lines []string
	var want [][]string
	ask := func(words, answer []string) {
		words = append([]string{"reactord"}, words...)
		if words[len(words)-1] == "" {
			words[len(words)-1] = "EMPTY"
		}
		lines = append(lines, strings.Join(words, "|"))
		want = append(want, slices.Sorted(slices.Values(answer)))
	}
	for _, c := range completed {
		ask(c.words, c.want)
	}
	ask([]string{"proxy", "--ring", "="}, config.Rings)
	ask([]string{"proxy", "--ring", "=", "io"}, []string{"io_uring"})
	eachCommand(newParser().Model.Node, func(c *kong.Node) {
		words := strings.Fields(c.Path())
		var same []string
		for _, other := range c.Parent.Children {
			if strings.HasPrefix(other.Name, c.Name) {
				same = append(same, other.Name)
			}
		}
		ask(words, same)
		var flags []string
		for _, group := range c.AllFlags(true) {
			for _, f := range group {
				flags = append(flags, "--"+f.Name)
			}
		}
		ask(append(words, "--"), flags)
	})
	run := exec.CommandContext(t.Context(), bash, "--norc", "-c", driver, "bash", path)
	run.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	for i, line := range lines {
		got := slices.Sorted(slices.Values(strings.Fields(answers[i])))
		if !slices.Equal(got, want[i]) {
			t.Errorf("%s: completed by %q, not by %q", line, got, want[i])
		}
	}
}

// Fish completes the same words.
func TestCompletionOfFish(t *testing.T) {
	fish, path := need(t, "fish", "fish"), script(t, "fish")
	t.Setenv("HOME", t.TempDir())
	quiet(t, fish, "--no-config", "--no-execute", path)
	args := []string{"--no-config", "-c", `source $argv[1]; for line in $argv[2..]; complete -C $line; echo END; end`, path}
	for _, c := range completed {
		args = append(args, "reactord "+strings.Join(c.words, " "))
	}
	answers := strings.Split(quiet(t, fish, args...), "END\n")
	for i, c := range completed {
		var got []string
		for line := range strings.Lines(answers[i]) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, word)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: completed by %q, not by %q", strings.Join(c.words, " "), got, c.want)
		}
	}
}

// Zsh reads its script, and finds the function of each command.
func TestCompletionOfZsh(t *testing.T) {
	zsh, path := need(t, "zsh", "zsh"), script(t, "zsh")
	quiet(t, zsh, "--no-rcs", "-n", path)
	defined := strings.Fields(quiet(t, zsh, "--no-rcs", "-c", `compdef() { :; }; source $1; print -l ${(k)functions}`, "zsh", path))
	eachCommand(newParser().Model.Node, func(c *kong.Node) {
		if f := "_" + strings.NewReplacer(" ", "_", "-", "_").Replace(c.FullPath()); !slices.Contains(defined, f) {
			t.Errorf("no function %s", f)
		}
	})
}

func TestCompletionOfOtherShell(t *testing.T) {
	err := completion.Write(&bytes.Buffer{}, "csh", newParser().Model, nil)
	if err == nil || !strings.Contains(err.Error(), "write one of bash, zsh, fish") {
		t.Error(err)
	}
}
