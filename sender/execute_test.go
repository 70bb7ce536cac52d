package sender_test

import (
	"fmt"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

func TestExecute(t *testing.T) {
	var l sender.RunLoop
	var order []int
	for i := range 3 {
		sender.Execute(&l, func() {
			order = append(order, i)
			if i == 0 {
				sender.Execute(&l, func() { order = append(order, 3) })
			}
		})
	}
	if len(order) != 0 {
		t.Error("called before the loop ran")
	}
	l.Finish()
	l.Run()
	if fmt.Sprint(order) != "[0 1 2 3]" {
		t.Errorf("order %v", order)
	}
	sender.Execute(&l, func() { t.Error("called by a loop that has ended") })
}

func TestExecuteDoesNotSwallowPanics(t *testing.T) {
	defer func() {
		if v := recover(); v != "mine" {
			t.Errorf("recovered %v", v)
		}
	}()
	sender.Execute(immediate{}, func() { panic("mine") })
}

func TestExecuteDoesNotAllocate(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("the race detector drops what is put into a pool")
	}
	n := 0
	f := func() { n++ }
	if allocs := testing.AllocsPerRun(100, func() { sender.Execute(immediate{}, f) }); allocs != 0 || n != 101 {
		t.Errorf("%v allocations, want 0; %d calls", allocs, n)
	}
}

func ExampleExecute() {
	var loop sender.RunLoop
	sender.Execute(&loop, func() { fmt.Println("on the loop") })
	loop.Finish()
	loop.Run()
	// Output: on the loop
}
