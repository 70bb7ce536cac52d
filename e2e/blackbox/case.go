package blackbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Case is a script of a client and a server on one connection through a proxy. The language is in the package comment.
type Case struct {
	Name   string
	Client string
	Server string
	On     map[string]func() // called by the party that signals the name, before the other one is told; nil: none
}

// patience bounds every action that has no time of its own.
const patience = 15 * time.Second

// Dial connects a client to the proxy.
type Dial func(ctx context.Context) (net.Conn, error)

// To connects to an address.
func To(addr string) Dial {
	return func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{Timeout: patience}
		return d.DialContext(ctx, "tcp", addr)
	}
}

// Run runs a case: the client connects with dial, and the server accepts from listener, whose next connection must be
// that one. The error names the party, the line of its script and the action that failed.
func (c Case) Run(ctx context.Context, dial Dial, listener *net.TCPListener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	board := &board{on: c.On, news: make(chan struct{}), signals: map[string]bool{}}
	client := &party{name: "client", stream: 1, board: board, dial: dial}
	server := &party{name: "server", stream: 2, board: board, listener: listener}
	client.other, server.other = server, client
	var errs [2]error
	var parties sync.WaitGroup
	for i, p := range []*party{client, server} {
		script, err := parse([]string{c.Client, c.Server}[i])
		if err != nil {
			return fmt.Errorf("%s: %s: %w", c.Name, p.name, err)
		}
		parties.Go(func() {
			if errs[i] = p.run(ctx, script); errs[i] != nil {
				cancel() // the other party would wait for it
			}
		})
	}
	parties.Wait()
	for i := range errs {
		if errors.Is(errs[i], context.Canceled) && errs[1-i] != nil {
			errs[i] = nil // ended because of the other one
		}
	}
	return errors.Join(errs[0], errs[1])
}

// board is what the parties of a case communicate outside of the connection.
type board struct {
	mu      sync.Mutex
	on      map[string]func()
	signals map[string]bool
	news    chan struct{} // closed, and made anew, with every signal
}

func (b *board) signal(name string) {
	if f := b.on[name]; f != nil {
		f()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.signals[name] = true
	close(b.news)
	b.news = make(chan struct{})
}

func (b *board) await(ctx context.Context, name string) error {
	deadline := time.After(patience)
	for {
		b.mu.Lock()
		done, news := b.signals[name], b.news
		b.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return fmt.Errorf("the other party has not signalled within %v", patience)
		}
	}
}
