package main

import (
	"net"
	"strings"
	"testing"
	"time"
)

// A header without an end is not read without end.
func TestHeaderIsBounded(t *testing.T) {
	client, c := net.Pipe()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	sent := make(chan int, 1)
	go func() {
		n, field := 0, []byte("X: "+strings.Repeat("a", 1000)+"\r\n")
		_, err := client.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n"))
		for ; err == nil && n < 100*maxHeader; n += len(field) {
			_, err = client.Write(field)
		}
		sent <- n
	}()
	if err := (site{}).serve(nil, c); err == nil {
		t.Error("there is no error")
	}
	_ = c.Close()
	if n := <-sent; n > 2*maxHeader {
		t.Errorf("%d bytes were read", n)
	}
	_ = client.Close()
}
