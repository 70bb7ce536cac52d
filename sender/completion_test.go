package sender_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

// What is delivered is what the receiver gets, and Get returns it as a Go function does.
func TestCompletionIsDelivered(t *testing.T) {
	for _, test := range []struct {
		c    sender.Completion[int]
		text string
		v    int
		err  error
	}{
		{sender.CompletionValue(7), "value 7", 7, nil},
		{sender.CompletionError[int](errLeaf), "error leaf", 0, errLeaf},
		{sender.CompletionStopped[int](), "stopped", 0, sender.ErrStopped},
	} {
		rec := &sendertest.Recorder[int]{T: t}
		rec.Starting()
		test.c.Deliver(rec)
		if x := rec.Result(); x != test.c || x.String() != test.text {
			t.Errorf("delivered %v as %v, want %s", test.c, x, test.text)
		}
		if v, err := test.c.Get(); v != test.v || !errors.Is(err, test.err) {
			t.Errorf("%v: Get returns %d, %v", test.c, v, err)
		}
	}
}

// The zero Completion is none. To use it as one is an error of the algorithm.
func TestZeroCompletionIsLoud(t *testing.T) {
	var none sender.Completion[int]
	for name, f := range map[string]func(){
		"Deliver": func() { none.Deliver(&sink[int]{}) },
		"Get":     func() { _, _ = none.Get() },
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, name+" of the zero Completion") {
					t.Errorf("%s: panicked with %q", name, text)
				}
			}()
			f()
		}()
	}
	if none.String() != "none" {
		t.Errorf("it is %q", none.String())
	}
}

// An algorithm stores the completion of its child, and delivers it later.
func ExampleCompletion() {
	stored := sender.CompletionValue(42)
	fmt.Println(stored)
	stored.Deliver(printInt{})
	fmt.Println(stored.Get())
	// Output:
	// value 42
	// 42
	// 42 <nil>
}
