package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// host is of loopback, with all ports for itself.
const host = "127.83.79.66"

// The listeners of the daemon.
const (
	plainAddress   = host + ":7001"
	tlsAddress     = host + ":7002"
	udpAddress     = host + ":7003"
	limitedAddress = host + ":7004"
	comingAddress  = host + ":7005" // comes and goes
	metricsAddress = host + ":7006"
)

// daemon is the process that is watched.
type daemon struct {
	dir     string
	cmd     *exec.Cmd
	log     *os.File
	servers *servers
	ended   chan error
	reloads int
}

func startDaemon(ctx context.Context, dir, binary, ring string, s *servers) (*daemon, error) {
	if binary == "" {
		binary = filepath.Join(dir, "reactord")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/reactord").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	d := &daemon{dir: dir, servers: s, ended: make(chan error, 1)}
	if err := d.writeCertificate(); err != nil {
		return nil, err
	}
	if err := d.configure(); err != nil {
		return nil, err
	}
	var err error
	if d.log, err = os.Create(filepath.Join(dir, "daemon.log")); err != nil {
		return nil, err
	}
	d.cmd = exec.Command(binary, "serve", "--config", d.file("reactord.yaml"))
	d.cmd.Env = append(os.Environ(), "REACTORD_RING="+ring)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { d.ended <- d.cmd.Wait() }()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if reply, err := http.Get("http://" + metricsAddress + "/readyz"); err == nil {
			reply.Body.Close()
			if reply.StatusCode == http.StatusOK {
				return d, nil
			}
		}
		if time.Now().After(deadline) {
			d.kill()
			return nil, fmt.Errorf("the daemon is not ready; see %s", d.log.Name())
		}
	}
}

func (d *daemon) file(name string) string { return filepath.Join(d.dir, name) }

// configure writes a configuration, another one each time.
func (d *daemon) configure() error {
	d.reloads++
	n := d.reloads
	var b strings.Builder
	fmt.Fprintf(&b, `metrics: %s
log: {level: warn, format: json}
access_log: {path: %s}
drain: {timeout: 5s}
listeners:
  - {name: plain, address: "tcp://%s", backend: app, max_connections: %d}
  - {name: limited, address: "tcp://%s", backend: app, bandwidth: {connection: {from_server: %dKiB}, source: {from_client: 100MiB}}}
  - {name: secure, address: "tcp://%s", backend: app, tls: {certificates: [{cert: %s, key: %s}]}}
  - {name: datagrams, address: "udp://%s", backend: udp, udp: {idle_timeout: 5s}}
`, metricsAddress, d.file("access.log"), plainAddress, 5000+n%2, limitedAddress, 900+n%3*100, tlsAddress,
		d.file("cert.pem"), d.file("key.pem"), udpAddress)
	if n%3 == 0 {
		fmt.Fprintf(&b, "  - {name: coming, address: \"tcp://%s\", backend: app}\n", comingAddress)
	}
	fmt.Fprintf(&b, `backends:
  - name: app
    connect_timeout: 1s
    half_close_timeout: 5s
    idle_timeout: 1m
    check: {interval: 1s}
    ejection: {time: 1s, max_time: 2s}
    balance: {policy: %s}
    servers:
`, []string{"p2c", "round_robin", "least_connections"}[n%3])
	for i, address := range d.servers.addresses() {
		fmt.Fprintf(&b, "      - {address: \"tcp://%s\", weight: %d}\n", address, 1+(n+i)%3)
	}
	fmt.Fprintf(&b, "  - {name: udp, idle_timeout: 5s, servers: [\"udp://%s\"]}\n", d.servers.udp.LocalAddr())
	next := d.file("reactord.yaml.next")
	if err := os.WriteFile(next, []byte(b.String()), 0o644); err != nil {
		return err
	}
	return os.Rename(next, d.file("reactord.yaml"))
}

// reloadOften reloads the daemon with another configuration every few seconds, with another certificate at times, and
// rotates the access log each minute.
func (d *daemon) reloadOften(ctx context.Context) {
	tick := time.NewTicker(4 * time.Second)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n%5 == 0 {
			_ = d.writeCertificate()
		}
		if err := d.configure(); err == nil {
			_ = d.cmd.Process.Signal(syscall.SIGHUP)
		}
		if n%15 == 0 {
			_ = os.Rename(d.file("access.log"), d.file("access.log.old"))
			_ = d.cmd.Process.Signal(syscall.SIGUSR1)
		}
	}
}

// writeCertificate writes a new certificate and its key.
func (d *daemon) writeCertificate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "soak"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IPAddresses: []net.IP{net.ParseIP(host)}, DNSNames: []string{"soak.test"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(d.file(name), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// stop drains the daemon, and returns what was wrong with its end and in its log.
func (d *daemon) stop() (problems []string) {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-d.ended:
		if err != nil {
			problems = append(problems, fmt.Sprintf("the daemon ended with %v", err))
		}
	case <-time.After(20 * time.Second):
		problems = append(problems, "the daemon did not end within 20 s")
		d.kill()
	}
	text, err := os.ReadFile(d.log.Name())
	if err != nil {
		return append(problems, err.Error())
	}
	counts := map[string]int{}
	for line := range bytes.Lines(text) {
		switch s := string(line); {
		case strings.Contains(s, `"level":"error"`), strings.Contains(s, "panic"), strings.Contains(s, "fatal error"):
			if counts["error"]++; counts["error"] == 1 {
				problems = append(problems, "the daemon logged: "+strings.TrimSpace(s))
			}
		}
	}
	return problems
}

func (d *daemon) kill() { _ = d.cmd.Process.Kill() }
