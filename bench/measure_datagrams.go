package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/reactord/reactord/bench/proc"
)

// lostAtMost is the largest accepted share of lost datagrams: after a loss a socket waits for a second.
const lostAtMost = 0.001

// measureDatagrams measures datagrams in a closed loop (`udp`), with one outstanding on each socket.
func measureDatagrams(ctx context.Context, w *workshop, c *benchCase, p *peer, d time.Duration) (*sample, error) {
	server, listen, err := startPeer(ctx, w, p, "", awaitEcho)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	args := []string{"udp", "--target", "udp://" + listen, "--connections", strconv.Itoa(c.Conns), "--size",
		strconv.Itoa(c.Size)}
	found, err := compareAndMeasure(ctx, w, server, args, d)
	if err != nil {
		return nil, err
	}
	r, phase := resultOf(found), found.Measured()[0]
	r.LoadWait = phase.Client.Wait
	switch lost := phase.Total().Lost; {
	case float64(lost) > lostAtMost*float64(r.Messages):
		return nil, fmt.Errorf("%d datagrams were lost, %d came back", lost, r.Messages)
	case r.ServerCPU == 0:
		return nil, errors.New("datagrams came back, but the server's processes used no CPU time")
	}
	return &sample{Result: r, Figure: perMessage(r)}, nil
}

// awaitEcho waits until a datagram to address has come back.
func awaitEcho(ctx context.Context, server *proc.Child, address string) error {
	c, err := net.Dial("udp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	return await(ctx, server, address, 5*time.Millisecond, func(string) bool {
		if _, err := c.Write([]byte("is a server there?")); err != nil {
			return false // ECONNREFUSED: there is no server yet
		}
		if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			return false
		}
		n, err := c.Read(make([]byte, 64))
		return err == nil && n > 0
	})
}
