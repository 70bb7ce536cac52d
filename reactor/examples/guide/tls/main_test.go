package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
	"github.com/reactord/reactord/reactor/examples/internal/selfsigned"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

func TestProgram(t *testing.T) {
	pair, err := selfsigned.New("localhost")
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	write(t, cert, &pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	write(t, key, &pem.Block{Type: "PRIVATE KEY", Bytes: private})
	p := exampletest.Start(t, "-cert", cert, "-key", key)

	c, err := tls.Dial("tcp", p.Addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(exampletest.Deadline))
	in := bufio.NewReader(c)
	fmt.Fprint(c, "hello\nwait\nhost\n")
	for _, want := range []string{"you said hello\n", "waited\n", ""} {
		if line, err := in.ReadString('\n'); err != nil || want != "" && line != want {
			t.Fatalf("%q, %v; want %q", line, err, want)
		}
	}
	long, err := tls.Dial("tcp", p.Addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	_ = long.SetDeadline(time.Now().Add(exampletest.Deadline))
	if n, err := io.Copy(long, io.LimitReader(endless{}, 64<<20)); err == nil {
		t.Errorf("a line of %d bytes was read", n)
	}
	p.Terminate()
	if rest, err := io.ReadAll(in); err != nil || string(rest) != "the server stops\n" {
		t.Errorf("at the end: %q, %v", rest, err)
	}
}

// endless is a line that does not end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return copy(b, bytes.Repeat([]byte("a"), len(b))), nil }

func write(t *testing.T, name string, block *pem.Block) {
	t.Helper()
	if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
}
