package main

import (
	"context"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

const serving = grpc_health_v1.HealthCheckResponse_SERVING

// dial is a client over package net.
func dial(t *testing.T, p *exampletest.Program) (context.Context, grpc_health_v1.HealthClient) {
	t.Helper()
	c, err := grpc.NewClient(p.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), exampletest.Deadline)
	t.Cleanup(cancel)
	return ctx, grpc_health_v1.NewHealthClient(c)
}

// Calls run concurrently on one connection, and a stream learns that the server stops.
func TestCalls(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring, "-loops", "2")
		ctx, client := dial(t, p)
		watch, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := watch.Recv(); err != nil || resp.GetStatus() != serving {
			t.Errorf("%v, %v", resp, err)
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				for range 20 {
					resp, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
					if err != nil || resp.GetStatus() != serving {
						t.Errorf("%v, %v", resp, err)
						return
					}
				}
			})
		}
		all.Wait()
		p.Terminate()
		resp, err := watch.Recv()
		if err != nil || resp.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
			t.Errorf("when the server stops: %v, %v", resp, err)
		}
		if err := watch.CloseSend(); err != nil {
			t.Error(err)
		}
	})
}

// The client uses a loop, too.
func TestClient(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring)
		if out, err := exampletest.Run(t, "-ring", ring, "-check", p.Addr); err != nil || !strings.Contains(out, "SERVING") {
			t.Errorf("%v, %s", err, out)
		}
		if out, err := exampletest.Run(t, "-ring", ring, "-check", testenv.Vacant(t)); err == nil {
			t.Errorf("without a server: %s", out)
		}
	})
}

// The server survives a shortage of descriptors.
func TestShortage(t *testing.T) {
	exampletest.TestShortage(t, func(t *testing.T, p *exampletest.Program) {
		ctx, client := dial(t, p)
		if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
			t.Error(err)
		}
	})
}
