package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// Commands are answered in order, also when they come in pieces, together, or are longer than a buffer.
func TestRedis(t *testing.T) {
	address := start(t, "gnet", "redis", 2)
	long := strings.Repeat("0123456789", 50_000)
	sent := "PING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000\r\n" + long + "\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n*x\r\n"
	want := "+PONG\r\n+OK\r\n$500000\r\n" + long + "\r\n+PONG\r\n-ERR Protocol error\r\n"
	for _, size := range []int{3, 1000, len(sent)} {
		c, err := net.DialTimeout("tcp", address, limit)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(limit))
		go func() {
			_, _ = io.WriteString(c, sent[:size])
			time.Sleep(time.Millisecond) // the pieces may still come together
			_, _ = io.WriteString(c, sent[size:])
		}()
		if got, err := io.ReadAll(c); string(got) != want || err != nil {
			t.Errorf("%d bytes came instead of %d, %v", len(got), len(want), err)
		}
	}
}
