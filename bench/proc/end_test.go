package proc

import (
	"testing"
	"time"
)

// The end of a process is noticed, whether or not it was waited for.
func TestEnded(t *testing.T) {
	c, err := Start(t.Context(), []string{"cat"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	ended, err := Ended(c.Pid())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
		t.Fatal("it has ended before its input has")
	default:
	}
	before := time.Now()
	c.Stdin.Close()
	if at := <-ended; at.Before(before) {
		t.Errorf("it ended %v before its input", before.Sub(at))
	}
	c.Stop()
	if _, err := Ended(c.Pid()); err == nil {
		t.Error("a process that is gone has no error")
	}
}
