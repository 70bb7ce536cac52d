package main

import (
	"io"
	"net/http"
	"testing"

	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

func TestProgram(t *testing.T) {
	p := exampletest.Start(t)
	client := &http.Client{Timeout: exampletest.Deadline}
	defer client.CloseIdleConnections()
	for range 2 {
		resp, err := client.Get("http://" + p.Addr)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != "hello\n" {
			t.Errorf("%q, %v", body, err)
		}
	}
}
