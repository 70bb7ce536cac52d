//go:build linux

package netconn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
)

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	closed := make(chan error, 1)
	err := netconn.Serve(ctx, reactor.Config{Loops: 2}, reactor.ListenConfig{Addr: loopback}, func(ln net.Listener) error {
		client, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			return err
		}
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			_, err := io.Copy(c, c)
			closed <- errors.Join(err, c.Close())
		}()
		t.Cleanup(func() {
			if _, err := client.Read(make([]byte, 1)); err == nil {
				t.Error("the connection was left open")
			}
			client.Close()
		})
		cancel()
		_, err = ln.Accept()
		return err
	})
	if err != nil {
		t.Errorf("Serve returned %v", err)
	}
	<-closed
}

func TestServeFails(t *testing.T) {
	mine := errors.New("mine")
	err := netconn.Serve(t.Context(), reactor.Config{Loops: 1}, reactor.ListenConfig{Addr: loopback},
		func(net.Listener) error { return mine })
	if !errors.Is(err, mine) {
		t.Errorf("the error of serve: %v", err)
	}
	nowhere := reactor.ListenConfig{Addr: netip.MustParseAddrPort("192.0.2.1:1")}
	err = netconn.Serve(t.Context(), reactor.Config{Loops: 1}, nowhere, func(net.Listener) error {
		t.Error("serve was called")
		return nil
	})
	if !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("the error of listening: %v", err)
	}
}
