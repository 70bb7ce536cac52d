package simring

import (
	"slices"

	"golang.org/x/sys/unix"
)

// job is what a worker thread of a ring does for an entry. Jobs are done in any order. One that waits in
// the queue can be cancelled; one that was begun cannot: it ends by itself, with EINTR if it was blocked.
type job struct {
	e           *entry
	work        func() int  // the result, or a negative errno; -EAGAIN: nothing was done
	blocks      func() bool // whether it waits, on -EAGAIN; nil: no
	begun       bool
	blocked     bool
	interrupted bool
}

// delegate gives the entry, which is enlisted, to a worker. What may block is blocks, and has a worker of
// its own; there are only a few for the rest.
func (e *entry) delegate(work func() int, blocks func() bool) {
	e.job = &job{e: e, work: work, blocks: blocks}
	if blocks != nil {
		e.job.begin()
		return
	}
	e.ring.jobs = append(e.ring.jobs, e.job)
	e.ring.employ()
}

// employ gives jobs to workers that are free.
func (r *Ring) employ() {
	for k := r.k; len(r.jobs) != 0 && r.working < k.Odds.Workers; r.working++ {
		i := k.rng.IntN(len(r.jobs))
		j := r.jobs[i]
		r.jobs = slices.Delete(r.jobs, i, i+1)
		j.begin()
	}
}

func (j *job) begin() {
	j.begun = true
	j.e.ring.k.soon(j.do)
}

func (j *job) do() {
	r := j.e.ring
	res := -int(unix.EINTR)
	if k := r.k; !k.chance(k.Odds.Interrupted) {
		res = j.work()
	}
	if res == -int(unix.EAGAIN) && j.blocks != nil && j.blocks() {
		if j.blocked = !j.interrupted; j.blocked {
			return
		}
		res = -int(unix.EINTR)
	}
	j.e.finish(res, 0)
	if j.blocks == nil {
		r.working--
		r.employ()
	}
}

// wake lets a worker that is blocked look again.
func (j *job) wake() {
	if j.blocked {
		j.blocked = false
		j.e.ring.k.soon(j.do)
	}
}

// cancel takes the job out of the queue. False: it was begun.
func (j *job) cancel() bool {
	if j.begun {
		j.interrupted = true
		j.wake()
		return false
	}
	r := j.e.ring
	i := slices.Index(r.jobs, j)
	r.jobs = slices.Delete(r.jobs, i, i+1)
	return true
}
