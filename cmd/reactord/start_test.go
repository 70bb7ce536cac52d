package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nameServer is a DNS server that answers every query with the result of f, or not at all if that is nil. It notes
// queries in asked.
func nameServer(t *testing.T, f func(query []byte) []byte) (addr string, asked <-chan struct{}) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	queries, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			select {
			case queries <- struct{}{}:
			default:
			}
			if answer := f(buf[:n]); answer != nil {
				_, _ = c.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() {
		c.Close()
		<-ended
	})
	return c.LocalAddr().String(), queries
}

func silent([]byte) []byte { return nil }

// noSuchName answers that the name does not exist.
func noSuchName(query []byte) []byte {
	question := 12 + bytes.IndexByte(query[12:], 0) + 5
	answer := bytes.Clone(query[:question])
	answer[2], answer[3] = 0x81, 0x83          // an answer; NXDOMAIN
	copy(answer[6:], []byte{0, 0, 0, 0, 0, 0}) // of no records
	return answer
}

// inFile is reactord with a configuration file of this text.
func inFile(t *testing.T, verb, dns, text string) *exec.Cmd {
	t.Helper()
	c := command(t, verb, "-c", "f.yaml")
	c.Dir = t.TempDir()
	c.Env = append(c.Env, withDNS+"="+dns)
	if err := os.WriteFile(filepath.Join(c.Dir, "f.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// A signal ends the start within half the time of one lookup, however many names are still being looked up.
func TestSignalEndsTheStart(t *testing.T) {
	addr, asked := nameServer(t, silent)
	text := "listeners: [{name: l, address: '127.0.0.1:0', backend: b}]\nbackends:\n- name: b\n  servers:\n"
	for i := range 200 {
		text += fmt.Sprintf("  - tcp://s%d.test:9000\n", i)
	}
	c := inFile(t, "serve", addr, text)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-asked:
	case <-time.After(20 * time.Second):
		t.Fatal("no name was looked up")
	}
	began := time.Now()
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr.String())
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the process has exited after %v", took)
	}
}

// check refuses what serve refuses, with the same errors.
func TestCheckRefusesWhatServeRefuses(t *testing.T) {
	addr, _ := nameServer(t, noSuchName)
	const backend = "backends:\n- name: b\n  servers:\n  - 192.0.2.1:1\n"
	listener := func(name, at string) string {
		return fmt.Sprintf("- {name: %s, backend: b, address: '%s'}\n", name, at)
	}
	for _, test := range []struct{ name, text, want string }{
		{"names without an address",
			"listeners:\n" + listener("one", "a.test:80") + backend + "  - b.test:1\n  - c.test:1\n",
			`f.yaml:2:36: address "tcp://a.test:80": lookup a.test|f.yaml:7:5: server "tcp://b.test:1": lookup b.test|` +
				`f.yaml:8:5: server "tcp://c.test:1": lookup c.test`},
		{"one address in two notations",
			"listeners:\n" + listener("one", "localhost:80") + listener("two", "127.0.0.1:80") + backend,
			`f.yaml:3:36: address "tcp://127.0.0.1:80" overlaps "tcp://localhost:80": ` +
				"a connection could be for either; see f.yaml:2:36"},
		{"the metrics", "metrics: 0.0.0.0:80\nlisteners:\n" + listener("one", "127.0.0.1:80") + backend,
			`f.yaml:1:10: metrics "tcp://0.0.0.0:80" overlaps "tcp://127.0.0.1:80": ` +
				"a connection could be for either; see f.yaml:3:36"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range []string{"check", "serve"} {
				out, err := inFile(t, name, addr, test.text).CombinedOutput()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != 1 {
					t.Errorf("%s: %v", name, err)
				}
				lines, want := strings.Split(strings.TrimSpace(string(out)), "\n"), strings.Split(test.want, "|")
				if len(lines) != len(want) {
					t.Errorf("%s says:\n%s", name, out)
					continue
				}
				for i := range want {
					if !strings.HasPrefix(lines[i], want[i]) {
						t.Errorf("%s says %q, want %q", name, lines[i], want[i])
					}
				}
			}
		})
	}
}
