package e2e

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// speaker is a running command that passes lines on: from its input to its peer, and from there to its output.
type speaker struct {
	t     *testing.T
	in    io.Writer
	lines <-chan string // of its output, and of its errors
}

// converse starts a command. It is killed when the test ends.
func converse(t *testing.T, cmd *exec.Cmd) *speaker {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- strings.TrimSpace(s.Text())
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &speaker{t, in, lines}
}

// say gives the command a line, and waits until it arrives at another one.
func (s *speaker) say(line string, at *speaker) {
	s.t.Helper()
	s.order(line)
	at.await(line)
}

// order gives the command a line.
func (s *speaker) order(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// await waits for a line. What else the command says does not matter.
func (s *speaker) await(line string) {
	s.t.Helper()
	var said []string
	for timeout := time.After(patience); ; {
		select {
		case got := <-s.lines:
			if got == line {
				return
			}
			said = append(said, got)
		case <-timeout:
			s.t.Fatalf("%q does not come, but %q", line, said)
		}
	}
}
