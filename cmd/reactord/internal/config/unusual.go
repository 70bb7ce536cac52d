package config

import "fmt"

// Unusual returns warnings about valid settings that are probably not meant. Each begins with the path of a setting.
func (c *Config) Unusual() (all []string) {
	warn := func(path, format string, args ...any) { all = append(all, path+": "+fmt.Sprintf(format, args...)) }
	used := map[string]bool{}
	for i := range c.Listeners {
		l := &c.Listeners[i]
		used[l.Backend] = true
		for j := range l.Routes {
			for _, to := range l.Routes[j].Targets() {
				used[to.Backend] = true
			}
		}
	}
	defaults := NewBackend()
	for i := range c.Backends {
		b, at := &c.Backends[i], fmt.Sprintf("backends[%d]", i)
		if !used[b.Name] && !c.XDS.Enabled() {
			warn(at, "unused: no listener or route has backend: %s", b.Name)
		}
		if t := b.TotalConnectTimeout; t != 0 && t < b.ConnectTimeout {
			warn(at+".total_connect_timeout", "%s is less than connect_timeout, %s: the first attempt may use all of it, "+
				"and no "+
				"other server is tried", formatDuration(t), formatDuration(b.ConnectTimeout))
		}
		if s := &b.Check; s.Interval != 0 && s.Timeout > s.Interval && s.Timeout != defaults.Check.Timeout {
			warn(at+".check.timeout", "%s is longer than the interval, %s: a check that hangs delays the next one",
				formatDuration(s.Timeout), formatDuration(s.Interval))
		}
		if q := &b.Queue; q.Size == 0 && q.Timeout != defaults.Queue.Timeout {
			warn(at+".queue.timeout", "no effect with size 0: no connection waits")
		}
	}
	return all
}
