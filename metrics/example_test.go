package metrics_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/reactord/reactord/metrics"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
	"github.com/reactord/reactord/sender/task"
)

// The loops that a program makes itself are registered with its other collectors.
func ExampleNewLoops() {
	r, err := reactor.New(reactor.Config{Loops: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry() // or prometheus.MustRegister, for the default one
	registry.MustRegister(metrics.NewLoops(r.Loops()))

	err = r.Run(func(l *reactor.Loop) error { l.Stop(); return nil })
	fmt.Println(err)
	for line := range strings.Lines(scrape(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))) {
		if strings.HasPrefix(line, "reactord_reactor_leaked_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// <nil>
	// reactord_reactor_leaked_total{reactor="0"} 0
	// reactord_reactor_leaked_total{reactor="1"} 0
}

// The loops that reactor.Run makes are given to OnLoops.
func ExampleNewLoops_run() {
	var handler http.Handler
	cfg := reactor.Config{Loops: 1, OnLoops: func(loops []*reactor.Loop) {
		handler = metrics.Handler(metrics.NewLoops(loops))
	}}
	err := reactor.Run(context.Background(), cfg, func(l *reactor.Loop) error { l.Stop(); return nil })
	fmt.Println(err)
	fmt.Println(strings.Contains(scrape(handler), `reactord_reactor_stale_total{reactor="0"} 0`))
	// Output:
	// <nil>
	// true
}

// So are those that server.Serve makes.
func ExampleNewLoops_serve() {
	cfg := server.Config{Addr: netip.MustParseAddrPort("127.0.0.1:7000")}
	cfg.Reactor.OnLoops = func(loops []*reactor.Loop) { prometheus.MustRegister(metrics.NewLoops(loops)) }
	http.Handle("GET /metrics", promhttp.Handler())
	_ = server.ServeTask(context.Background(), cfg, func(_ *task.T, c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	})
}

// scrape returns the page of a scrape.
func scrape(h http.Handler) string {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return answer.Body.String()
}
