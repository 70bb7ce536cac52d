package config

// hold finds settings that contradict the hold of a backend.
func (v *validator) hold(at *step, b *Backend) {
	if b.Hold == 0 {
		return
	}
	hold, defaults := at.of("hold"), NewBackend()
	if b.Queue.Size == 0 {
		v.add(hold, "hold has no effect with queue.size 0: no connection waits: write a size, or remove hold").Other =
			at.of("queue").of("size").String()
	}
	if b.Queue.Timeout != defaults.Queue.Timeout {
		v.add(at.of("queue").of("timeout"), "timeout has no effect with hold, which limits the wait instead: remove one "+
			"of them").Other = hold.String()
	}
	if total := b.TotalConnectTimeout; total != 0 && total < b.Hold {
		v.value(hold, "%s is longer than total_connect_timeout, %s, which ends the wait: write at most that",
			formatDuration(b.Hold), formatDuration(total)).Other = at.of("total_connect_timeout").String()
	}
	if b.RetryDelay == 0 {
		v.add(at.of("retry_delay"), "hold requires a retry_delay, after which a server is tried again: write one, such "+
			"as 1s").Other = hold.String()
	}
}
