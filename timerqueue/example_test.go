package timerqueue_test

import (
	"fmt"

	"github.com/reactord/reactord/timerqueue"
)

// request is something with a timeout; the timer is a field of it.
type request struct {
	name    string
	timeout timerqueue.Timer
}

// OnTimer makes a request its own timer's handler.
func (r *request) OnTimer(now int64) { fmt.Printf("%s timed out at %d\n", r.name, now) }

func Example() {
	var q timerqueue.Queue
	first, second := &request{name: "first"}, &request{name: "second"}
	for _, r := range []*request{first, second} {
		r.timeout.Init(r)
		q.Push(&r.timeout, 100)
	}
	q.Update(&second.timeout, 250) // it is given more time
	q.Remove(&first.timeout)       // it was answered

	deadline, _ := q.Min()
	fmt.Println("next deadline", deadline)
	for t := q.Pop(300); t != nil; t = q.Pop(300) {
		t.Handler.OnTimer(300)
	}
	// Output:
	// next deadline 250
	// second timed out at 300
}
