package load

import (
	"fmt"
	"time"
)

// MaxSize is the largest message in bytes.
const MaxSize = 64 << 10

// setupLimit bounds the time to connect all clients and to verify their first messages.
const setupLimit = 15 * time.Second

// holdLimit bounds the time that connections are held idle.
const holdLimit = 60 * time.Second

// A Plan is one run of the load. Its JSON form is what `bench drive` reads.
type Plan struct {
	Target string        // the server's address, IPv4 and port
	Conns  int           // connections
	Size   int           // bytes a message
	Verify int           // messages a connection whose content is compared first
	Warmup time.Duration // load that is not counted
	Time   time.Duration // load that is
	Pids   []int         // the server's processes
	Hold   bool          // after verifying, stay idle instead of measuring
}

func (p *Plan) validate() error {
	switch {
	case p.Conns < 1:
		return fmt.Errorf("%d connections", p.Conns)
	case p.Size < 1 || p.Size > MaxSize:
		return fmt.Errorf("messages of %d bytes: 1 to %d are possible", p.Size, MaxSize)
	case p.Verify < 0 || p.Warmup < 0 || p.Time < 0:
		return fmt.Errorf("a negative count or time")
	case p.Hold && p.Verify == 0:
		return fmt.Errorf("idle connections must have carried a message: Verify is 0")
	}
	return nil
}

// A Result is what was measured. All of it is of the measuring phase, but for Verified.
type Result struct {
	Verified  int64         // messages whose content was compared
	Messages  int64         // messages that came back whole
	Elapsed   time.Duration // wall clock
	ServerCPU time.Duration // CPU time of Plan.Pids
	LoadCPU   time.Duration // CPU time of this process

	// The time that threads of either side were ready to run, but something else had their CPU.
	ServerWait, LoadWait time.Duration
}
