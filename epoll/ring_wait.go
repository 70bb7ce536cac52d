package epoll

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Enter submits what is queued and waits for a completion, a Wake, or the timeout (0: only look;
// negative: no limit). It may return early.
//
// It looks at the epoll set without telling the scheduler first, and waits only when that has found
// nothing. But if the last wait was for a single event, there is little to do, and the look would most likely find
// nothing: then it waits at once. When submitting alone has made completions it does not look at all, so that the answers to
// one batch of receives are dealt with before the next batch, and a look is not paid for by a few cheap
// entries; but it does so only for as long as these have cost less than haste allows.
func (r *Ring) Enter(timeout time.Duration) error {
	r.check()
	r.submit()
	if !r.cq.empty() && r.unseen < haste {
		r.unseen += turnCost * r.cq.len()
		return nil
	}
	r.unseen = 0
	if timeout == 0 || !r.sparse || r.woken || r.readyHead != 0 || !r.cq.empty() || r.minWait != 0 {
		woken, err := r.look(0)
		if err != nil || woken || timeout == 0 || !r.cq.empty() {
			return err
		}
	}
	if r.minWait != 0 && r.readyHead == 0 {
		var err error
		if timeout, err = r.doze(timeout); err != nil || timeout == 0 || !r.cq.empty() {
			return err
		}
	}
	err := r.wait(timeout)
	r.sparse = r.found <= 1
	return err
}

// SetMinWait has Enter, when it waits, go on until least has passed since it began to, unless the timeout ends it
// before: it sleeps, and only then waits for events. See uring.Ring.SetMinWait.
func (r *Ring) SetMinWait(least time.Duration) { r.minWait = least }

// doze sleeps for the minimum wait, and looks. It returns what is left of the timeout, 0 if that is not to be waited for.
func (r *Ring) doze(timeout time.Duration) (time.Duration, error) {
	d := r.minWait
	if timeout > 0 {
		d = min(d, timeout)
		timeout -= d
	}
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // an interruption makes it shorter
	woken, err := r.look(0)
	if woken {
		timeout = 0
	}
	return timeout, err
}

// haste bounds what is done without a look at the epoll set, in the units of a batch: bytes that were sent, and
// turnCost for each completion.
const haste = 16 * turnCost

// wait looks until there is a reason to return.
func (r *Ring) wait(timeout time.Duration) error {
	var start time.Time
	for limit := timeout; ; {
		if r.readyHead != 0 {
			limit = 0
		} else if timeout > 0 {
			if start.IsZero() {
				start = time.Now()
			} else if limit = timeout - time.Since(start); limit <= 0 {
				return nil
			}
		}
		if len(r.crowded) != 0 && (limit < 0 || limit > retryAfter) {
			limit = retryAfter
		}
		woken, err := r.look(limit)
		if err != nil || woken || !r.cq.empty() {
			return err
		}
		limit = timeout
	}
}

// look takes events, waiting for them up to the limit, and then works on what is ready.
func (r *Ring) look(limit time.Duration) (woken bool, err error) {
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
	if len(r.crowded) != 0 {
		r.retryConnects()
	}
	r.work()
	woken, r.woken = r.woken, false
	return woken, nil
}

// collect takes events and notes what they say. It returns their number, or a negated errno.
func (r *Ring) collect(limit time.Duration) int {
	n := r.epollWait(limit)
	r.found = max(n, 0)
	for i := range r.seen[:max(n, 0)] {
		ev := &r.seen[i]
		if ev.Fd == wakeFd {
			r.woken = true
		} else {
			r.signal(ev.Fd, uint32(ev.Pad), ev.Events)
		}
	}
	return n
}

// epollWait fills r.seen.
func (r *Ring) epollWait(limit time.Duration) int {
	epfd, seen := uintptr(r.epfd), uintptr(unsafe.Pointer(&r.seen))
	if limit == 0 {
		return raw(unix.SYS_EPOLL_PWAIT, epfd, seen, eventBatch, 0, 0, 0)
	}
	if !r.coarse {
		var ts uintptr
		if limit > 0 {
			r.tmp.limit = [2]int64{int64(limit / time.Second), int64(limit % time.Second)}
			ts = uintptr(unsafe.Pointer(&r.tmp.limit))
		}
		n := blocking(unix.SYS_EPOLL_PWAIT2, epfd, seen, eventBatch, ts, 0, 0)
		if n != -int(unix.ENOSYS) && n != -int(unix.EPERM) {
			return n
		}
		r.coarse = true // an old kernel, or a filter that does not know the call
	}
	return blocking(unix.SYS_EPOLL_PWAIT, epfd, seen, eventBatch, uintptr(milliseconds(limit)), 0, 0)
}

// milliseconds rounds up, so that no deadline is met too early and waited for again in a spin.
func milliseconds(limit time.Duration) int {
	if limit < 0 {
		return -1
	}
	return int(min((limit+time.Millisecond-1)/time.Millisecond, 1<<30))
}
