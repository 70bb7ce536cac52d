//go:build linux

package epoll

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Enter submits what is queued and waits for a completion, a [Ring.Wake], or the timeout; 0 does not wait, a negative
// timeout has no limit. It may return early.
func (r *Ring) Enter(timeout time.Duration) error {
	// The epoll set is first asked without telling the Go scheduler, and waited for only if it has nothing. There are
	// two exceptions. If the last wait was for a single event, the set most likely has nothing, and Enter waits
	// immediately. If submitting alone has made completions, the set is not asked at all, so that the answers to one
	// batch of receives are dealt with before the next batch, and a few cheap entries do not pay for a system call;
	// but only for as long as these entries have cost less than haste allows, and hasteTime has not passed.
	r.check()
	r.submit()
	if !r.cq.empty() && r.sinceTurn < haste && r.inHaste() {
		r.sinceTurn += turnCost * r.cq.len()
		return nil
	}
	r.sinceTurn, r.hasteEnds = 0, time.Time{}
	if timeout == 0 || !r.sparse || r.woken || r.files.anyReady() || !r.cq.empty() || r.minWait != 0 {
		woken, err := r.turn(0)
		if err != nil || woken || timeout == 0 || !r.cq.empty() {
			return err
		}
	}
	if r.minWait != 0 && !r.files.anyReady() {
		var err error
		if timeout, err = r.sleepMinWait(timeout); err != nil || timeout == 0 || !r.cq.empty() {
			return err
		}
	}
	err := r.wait(timeout)
	r.sparse = r.found <= 1
	return err
}

// haste bounds what is done without asking the epoll set, in the units of a batch: bytes that were sent, and turnCost
// for each completion.
const haste = 16 * turnCost

// hasteTime bounds how long the epoll set is not asked. What runs between two calls of Enter may take far longer than
// their entries, and whoever's events are in the set waits for all of it.
const hasteTime = 100 * time.Microsecond

// inHaste reports whether there is still time to do without the epoll set. The time begins with the first such Enter.
func (r *Ring) inHaste() bool {
	now := time.Now()
	if r.hasteEnds.IsZero() {
		r.hasteEnds = now.Add(r.hasteTime)
	}
	return now.Before(r.hasteEnds)
}

// SetMinWait makes an [Ring.Enter] that waits take at least this long, unless its timeout is shorter: it sleeps, and
// only then waits for events. See [uring.Ring.SetMinWait].
func (r *Ring) SetMinWait(least time.Duration) { r.minWait = least }

// sleepMinWait sleeps for the minimum wait, and takes a turn. It returns what is left of the timeout, which is 0 if the
// caller should not wait.
func (r *Ring) sleepMinWait(timeout time.Duration) (time.Duration, error) {
	d := r.minWait
	if timeout > 0 {
		d = min(d, timeout)
		timeout -= d
	}
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // an interruption makes it shorter
	woken, err := r.turn(0)
	if woken {
		timeout = 0
	}
	return timeout, err
}

// wait takes turns until there is a reason to return.
func (r *Ring) wait(timeout time.Duration) error {
	var start time.Time
	for limit := timeout; ; {
		if r.files.anyReady() {
			limit = 0
		} else if timeout > 0 {
			if start.IsZero() {
				start = time.Now()
			} else if limit = timeout - time.Since(start); limit <= 0 {
				return nil
			}
		}
		if r.retries.pending() && (limit < 0 || limit > retryAfter) {
			limit = retryAfter
		}
		woken, err := r.turn(limit)
		if err != nil || woken || !r.cq.empty() {
			return err
		}
		limit = timeout
	}
}

// turn takes events, for which it waits up to the limit, and then works on what is ready.
func (r *Ring) turn(limit time.Duration) (woken bool, err error) {
	n := r.collect(limit)
	if n < 0 && n != interrupted {
		return false, os.NewSyscallError("epoll_wait", unix.Errno(-n))
	}
	if r.pool.ready.Load() {
		r.reap()
	}
	if r.woken && r.direct.inFlight != 0 {
		r.reapDirect()
	}
	if r.retries.pending() {
		r.retryConnects()
	}
	r.work()
	woken, r.woken = r.woken, false
	return woken, nil
}

// collect takes events and records what they say. It returns their number, or a negated errno.
func (r *Ring) collect(limit time.Duration) int {
	n := r.poller.wait(limit)
	r.found = max(n, 0)
	for i := range r.poller.events[:r.found] {
		if ev := &r.poller.events[i]; ev.Fd == wakeFd {
			r.woken = true
		} else {
			r.signal(ev.Fd, uint32(ev.Pad), ev.Events)
		}
	}
	return n
}

// signal records an event, shows it to the watching entries while what they watch for is still there, and readies what
// waited for it. An event of another generation is of an earlier use of the number.
func (r *Ring) signal(fd int32, generation, events uint32) {
	f := r.files.at(fd)
	if f.generation != generation {
		r.duplicates = true // of a file that was closed
		return
	}
	f.signal(events)
	if f.watch.head != 0 {
		r.showEvent(f, events)
	}
	r.files.enqueue(fd)
}
