package daemon

import (
	"os"
	"os/signal"
	"syscall"
)

// signals delivers the signals of the process.
type signals struct {
	end     chan os.Signal // SIGTERM, SIGINT
	reload  chan os.Signal // SIGHUP; several that wait are one
	reopen  chan os.Signal // SIGUSR1; likewise
	upgrade chan os.Signal // SIGUSR2; likewise
}

// listenForSignals subscribes to the signals. SIGHUP requests a reload if there is a file to read. Otherwise it ends
// the process, as when the terminal of `reactord demo` is closed.
func listenForSignals(file bool) *signals {
	s := &signals{
		end: make(chan os.Signal, 2), reload: make(chan os.Signal, 1), reopen: make(chan os.Signal, 1),
		upgrade: make(chan os.Signal, 1),
	}
	signal.Notify(s.reopen, syscall.SIGUSR1)
	signal.Notify(s.end, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(s.upgrade, syscall.SIGUSR2)
	if file {
		signal.Notify(s.reload, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE) // the daemon continues when the reader of its log has exited
	return s
}

func (s *signals) stop() {
	signal.Stop(s.end)
	signal.Stop(s.reload)
	signal.Stop(s.reopen)
	signal.Stop(s.upgrade)
}
