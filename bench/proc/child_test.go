package proc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"
)

// family starts a shell that has a child, and returns when both run.
func family(ctx context.Context, t *testing.T, script string) (*Child, []int) {
	t.Helper()
	c, err := Start(ctx, []string{"sh", "-c", script}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	if line, err := bufio.NewReader(c.Stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the shell said %q: %v", line, err)
	}
	pids, err := Tree(c.Pid())
	if err != nil {
		t.Fatal(err)
	}
	if len(pids) != 2 || pids[0] != c.Pid() {
		t.Fatalf("the tree of %d is %v, want it and one child", c.Pid(), pids)
	}
	return c, pids
}

// gone fails the test if a process does not end soon.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for begin := time.Now(); alive(pid); time.Sleep(time.Millisecond) {
			if time.Since(begin) > 10*time.Second {
				t.Fatalf("process %d is still there", pid)
			}
		}
	}
}

// alive reports whether pid runs; a zombie that waits for its parent does not.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	rss, err := RSS(pid)
	return err == nil && rss > 0
}

func TestStopEndsTheFamily(t *testing.T) {
	c, pids := family(t.Context(), t, "sleep 60 & echo ready; wait")
	c.Stop()
	gone(t, pids)
	c.Stop() // once more does nothing
}

func TestStopEndsWhoIgnoresSIGTERM(t *testing.T) {
	c, pids := family(t.Context(), t, "trap '' TERM; sleep 60 & echo ready; wait; wait")
	c.Stop()
	gone(t, pids)
}

func TestContextEndsTheFamily(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, pids := family(ctx, t, "sleep 60 & echo ready; wait")
	cancel()
	<-c.Done()
	gone(t, pids)
}

func TestErrSaysWhatTheChildSaid(t *testing.T) {
	c, err := Start(t.Context(), []string{"sh", "-c", "echo it is broken >&2; exit 3"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	<-c.Done()
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "exit status 3") ||
		!strings.Contains(err.Error(), "it is broken") {
		t.Errorf("Err = %v", err)
	}
}

func TestChildHasPipesAndEnvironment(t *testing.T) {
	c, err := Start(t.Context(), []string{"sh", "-c", `read line; echo "$line $WORD"`}, []string{"WORD=world"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if _, err := io.WriteString(c.Stdin, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(c.Stdout); string(said) != "hello world\n" || err != nil {
		t.Errorf("the child said %q, %v", said, err)
	}
}

func TestStartNothing(t *testing.T) {
	if _, err := Start(t.Context(), []string{"/nonexistent/program"}, nil); err == nil {
		t.Error("a program that is not there was started")
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var tl tail
	tl.Write([]byte(strings.Repeat("a", tailSize)))
	tl.Write([]byte("the end"))
	if s := tl.String(); len(s) != tailSize || !strings.HasSuffix(s, "athe end") {
		t.Errorf("the tail is %d bytes and ends in %q", len(s), s[len(s)-8:])
	}
}
