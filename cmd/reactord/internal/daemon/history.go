package daemon

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/history"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// recording gives the history a reading of the proxy each second, while there is an admin API to ask for it.
type recording struct {
	recorder *history.Recorder
	stop     chan struct{}
}

const (
	recordingInterval = time.Second
	// recordingShare bounds the CPU time of readings: between two of them, it waits for so many times what one took.
	recordingShare = 100
)

// startRecording starts to record in the background.
func (d *daemon) startRecording() {
	if d.endpoints.api == nil && d.endpoints.page == nil {
		return
	}
	d.recording.stop = make(chan struct{})
	d.background.Go(d.keepHistory)
}

// stopRecording ends it, if it has started.
func (d *daemon) stopRecording() {
	if d.recording.stop != nil {
		close(d.recording.stop)
	}
}

func (d *daemon) keepHistory() {
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-d.recording.stop:
			return
		}
		began := time.Now()
		r := d.readForHistory()
		d.recording.recorder.Add(began, &r)
		took := time.Since(began)
		next.Reset(max(recordingInterval-took, recordingShare*took))
	}
}

func (d *daemon) readForHistory() history.Reading {
	r := history.Reading{Proxy: d.proxy.Read(stats.Wanted{Servers: true, Failures: true})}
	for _, l := range d.proxy.Loops() {
		s := l.Stats()
		r.Loops = append(r.Loops, history.LoopTime{Busy: s.Busy, Waiting: s.Waiting})
	}
	return r
}
