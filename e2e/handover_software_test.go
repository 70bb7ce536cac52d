package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
)

// client is a program that has connections while the daemon is upgraded.
type client struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout         *bufio.Reader
	stderr, output bytes.Buffer
	ended          chan error
}

// startClient starts one. It is killed when the test ends.
func startClient(t *testing.T, argv ...string) *client {
	t.Helper()
	c := &client{t: t, cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan error, 1)}
	c.cmd.Env, c.cmd.Stderr = cleanEnv(), &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := c.cmd.StdinPipe()
	out, w, err2 := os.Pipe()
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdout, c.stdin, c.stdout = w, stdin, bufio.NewReader(io.TeeReader(out, &c.output))
	err = c.cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	_ = out.SetReadDeadline(time.Now().Add(4 * patience))
	go func() { c.ended <- c.cmd.Wait() }()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		stdin.Close()
		<-c.ended
		out.Close()
		if t.Failed() {
			out := c.output.Bytes()
			t.Logf("%s\n%s%s", strings.Join(argv, " "), out[max(len(out)-1000, 0):], c.stderr.String())
		}
	})
	return c
}

// line returns the next line that the program prints.
func (c *client) line() string {
	c.t.Helper()
	line, err := c.stdout.ReadString('\n')
	if err != nil {
		c.t.Fatalf("%s prints no further line: %v", c.cmd.Path, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, text); err != nil {
		c.t.Fatal(err)
	}
}

// succeed returns what the program prints until its end, which must be soon and with 0.
func (c *client) succeed() (out string) {
	c.t.Helper()
	c.stdin.Close()
	text, err := io.ReadAll(c.stdout)
	if err != nil {
		c.t.Fatalf("%s does not end: %v", c.cmd.Path, err)
	}
	err = <-c.ended
	c.ended <- err
	if err != nil {
		c.t.Fatalf("%s: %v", c.cmd.Path, err)
	}
	return string(text)
}

// pgbench has its connections moved while transactions run on them.
func TestHandoverOfPostgres(t *testing.T) {
	bin := postgresBin(t)
	const clients = 10
	server := postgres(t)
	pgbench := func(addr string, args ...string) []string {
		host, port, _ := net.SplitHostPort(addr)
		argv := []string{filepath.Join(bin, "pgbench"), "-h", host, "-p", port, "-U", "test"}
		return append(append(argv, args...), "postgres")
	}
	if r := runCommand(t, pgbench(server, "-i", "-q", "-s", "1")...); r.code != 0 {
		t.Fatal(r.stderr)
	}
	m := startMover(t, server)
	c := startClient(t, pgbench(m.addr, "-n", "-c", fmt.Sprint(clients), "-j", "2", "-T", "3600")...)
	m.awaitOpen(clients)
	for range 4 {
		m.move(clients)
		m.awaitBytes()
	}
	if err := c.cmd.Process.Signal(syscall.SIGALRM); err != nil { // as when the time of -T is over
		t.Fatal(err)
	}
	if out := c.succeed(); !strings.Contains(out, "number of failed transactions: 0 ") || c.stderr.Len() > 100 {
		t.Errorf("%s%s", out, c.stderr.String())
	}
	m.endNormal(clients + 1) // one that asks for the tables
}

// sshd starts an OpenSSH server, and returns its address, and arguments for clients that log in as this user.
func sshd(t *testing.T) (addr string, args []string) {
	t.Helper()
	program, keygen := need(t, "sshd", "openssh-server"), need(t, "ssh-keygen", "openssh-client")
	dir := t.TempDir()
	for _, name := range []string{"host", "user"} {
		if r := runCommand(t, keygen, "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)); r.code != 0 {
			t.Fatal(r.stderr)
		}
	}
	if os.Getuid() == 0 { // where the service makes it
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	addr = testenv.Vacant(t)
	config := filepath.Join(dir, "config")
	writeFile(t, config, fmt.Sprintf(`
ListenAddress %s
HostKey %[2]s/host
AuthorizedKeysFile %[2]s/user.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PidFile none
Subsystem sftp internal-sftp
`, addr, dir))
	launch(t, addr, program, "-D", "-e", "-f", config)
	return addr, []string{
		"-F", "none", "-i", filepath.Join(dir, "user"), "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
		"-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
	}
}

// A session of ssh prints without a gap while it moves, and sftp copies a file back and forth at the same time.
func TestHandoverOfSSH(t *testing.T) {
	const size, upgrades = 20 << 20, 3
	ssh, sftp := need(t, "ssh", "openssh-client"), need(t, "sftp", "openssh-client")
	server, args := sshd(t)
	m := startMover(t, server)
	host, port, _ := net.SplitHostPort(m.addr)

	dir := t.TempDir()
	stop, large := filepath.Join(dir, "stop"), filepath.Join(dir, "large")
	want := seeded(t, large, size)
	counts := startClient(t, slices.Concat([]string{ssh}, args, []string{"-p", port, host,
		`i=0; while [ ! -e ` + stop + ` ]; do i=$((i+1)); echo $i; [ $((i%100)) != 0 ] || sleep 0.01; done; echo end`})...)
	numbers := make(chan int, 1)
	go func() { numbers <- lastNumber(counts.stdout) }()
	copies := startClient(t, slices.Concat([]string{sftp}, args, []string{"-q", "-P", port, "-b", "-", host})...)
	copies.send("put " + large + " " + large + ".first\n")
	m.awaitOpen(2)
	last := large + ".first"
	for i := range upgrades {
		eventually(t, "a file is copied", func() bool { info, err := os.Stat(last); return err == nil && info.Size() > 0 })
		m.move(2)
		command := []string{"get", "put"}[i%2]
		next := fmt.Sprint(large, i)
		copies.send(command + " " + last + " " + next + "\n")
		last = next
	}
	copies.succeed()
	if got := sumOf(t, last); got != want {
		t.Errorf("SHA-256 %x, want %x", got, want)
	}
	writeFile(t, stop, "")
	if n := <-numbers; n < 100 {
		t.Errorf("the session has ended at %d", n)
	}
	counts.succeed()
	m.endNormal(2)
}

// lastNumber returns how many numbers from 1 on come before end, or -1 if something else does.
func lastNumber(r *bufio.Reader) int {
	for n := 0; ; n++ {
		switch line, err := r.ReadString('\n'); {
		case err == nil && line == "end\n":
			return n
		case err != nil || line != fmt.Sprintln(n+1):
			return -1
		}
	}
}

// startBroker starts an MQTT broker, and returns its address.
func startBroker(t *testing.T) string {
	t.Helper()
	addr := testenv.Vacant(t)
	host, port, _ := net.SplitHostPort(addr)
	config := filepath.Join(t.TempDir(), "config")
	text := "listener %s %s\nallow_anonymous true\nmax_queued_messages 0\npersistence false\n"
	writeFile(t, config, fmt.Sprintf(text, port, host))
	program := need(t, "mosquitto", "mosquitto")
	if err := os.Chmod(config, 0o644); err != nil { // for the user that it becomes
		t.Fatal(err)
	}
	launch(t, addr, program, "-c", config)
	return addr
}

// A subscriber receives every message of a publisher in order while both connections move.
func TestHandoverOfMQTT(t *testing.T) {
	const upgrades, each = 4, 500
	sub, pub := need(t, "mosquitto_sub", "mosquitto-clients"), need(t, "mosquitto_pub", "mosquitto-clients")
	broker := startBroker(t)
	client := func(addr, program string, args ...string) []string {
		host, port, _ := net.SplitHostPort(addr)
		return append([]string{program, "-h", host, "-p", port, "-t", "topic", "-q", "1"}, args...)
	}
	session := []string{"-i", "subscriber", "-c"} // it exists before a message is sent
	if r := runCommand(t, client(broker, sub, append(session, "-E")...)...); r.code != 0 {
		t.Fatal(r.stderr)
	}
	m := startMover(t, broker)
	subscriber := startClient(t, client(m.addr, sub, append(session, "-C", fmt.Sprint(upgrades*each+1))...)...)
	publisher := startClient(t, client(m.addr, pub, "-i", "publisher", "-l")...)
	m.awaitOpen(2)
	for i := range upgrades {
		sent := make(chan error, 1)
		go func() {
			var err error
			for k := range each {
				if err == nil {
					_, err = fmt.Fprintln(publisher.stdin, i*each+k)
				}
			}
			sent <- err
		}()
		if got, want := subscriber.line(), fmt.Sprint(i*each); got != want {
			t.Fatalf("message %s has come, want %s", got, want)
		}
		m.move(2)
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		for k := range each - 1 {
			if got, want := subscriber.line(), fmt.Sprint(i*each+k+1); got != want {
				t.Fatalf("message %s has come, want %s", got, want)
			}
		}
	}
	publisher.send("end\n")
	publisher.succeed()
	if got := subscriber.succeed(); got != "end\n" {
		t.Errorf("the last message is %q", got)
	}
	m.endNormal(2)
}

// Subscribers of redis receive every message in order, and each command of a pipeline has its answer, while the
// connections move.
func TestHandoverOfRedis(t *testing.T) {
	const upgrades, each = 4, 2000
	cli := need(t, "redis-cli", "redis-tools")
	m := startMover(t, redis(t))
	host, port, _ := net.SplitHostPort(m.addr)
	subscriber := startClient(t, cli, "-h", host, "-p", port, "SUBSCRIBE", "channel")
	for _, want := range []string{"subscribe", "channel", "1"} {
		if got := subscriber.line(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	publisher, counter := dial(t, m.addr), dial(t, m.addr)
	m.awaitOpen(3)
	publishes, counts := bufio.NewReader(publisher), bufio.NewReader(counter)
	expect := func(r *bufio.Reader, want int) {
		t.Helper()
		if got, err := r.ReadString('\n'); err != nil || got != fmt.Sprintf(":%d\r\n", want) {
			t.Fatalf("the answer is %q, %v, want %d", got, err, want)
		}
	}
	for i := range upgrades {
		var publish, incr bytes.Buffer
		for k := range each {
			fmt.Fprintf(&publish, "PUBLISH channel %d\r\n", i*each+k)
			fmt.Fprint(&incr, "INCR counter\r\n")
		}
		publisher.within(4 * patience)
		counter.within(4 * patience)
		sent := make(chan error, 2)
		for c, text := range map[peer][]byte{publisher: publish.Bytes(), counter: incr.Bytes()} {
			go func() {
				_, err := c.Write(text)
				sent <- err
			}()
		}
		m.move(3)
		for k := range each {
			expect(publishes, 1) // so many have received it
			expect(counts, i*each+k+1)
			for _, want := range []string{"message", "channel", fmt.Sprint(i*each + k)} {
				if got := subscriber.line(); got != want {
					t.Fatalf("%q, want %q", got, want)
				}
			}
		}
		if err := errors.Join(<-sent, <-sent); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []peer{publisher, counter} {
		p.finish()
		p.expectEOF()
	}
	if err := subscriber.cmd.Process.Kill(); err != nil { // it has no other end
		t.Fatal(err)
	}
	m.awaitOpen(0)
	m.endNormal(3)
}

// iperf3 sends as fast as it can, in each direction, while its connections move.
func TestHandoverOfIperf(t *testing.T) {
	iperf := need(t, "iperf3", "iperf3")
	server := testenv.Vacant(t)
	host, port, _ := net.SplitHostPort(server)
	launch(t, server, iperf, "-s", "-B", host, "-p", port)
	m := startMover(t, server)
	host, port, _ = net.SplitHostPort(m.addr)
	const connections = 3 // one for control, and two
	for _, direction := range []string{"--get-server-output", "-R"} {
		c := startClient(t, iperf, "-c", host, "-p", port, "-P", "2", "-t", "5", "-J", direction)
		m.awaitOpen(connections)
		m.move(connections)
		m.upgrade() // it may have ended by then
		var got struct {
			Error string
			End   struct {
				Received struct{ Bytes float64 } `json:"sum_received"`
			}
		}
		if err := json.Unmarshal([]byte(c.succeed()), &got); err != nil || got.Error != "" || got.End.Received.Bytes < 1<<20 {
			t.Errorf("%s: %+v, %v", direction, got, err)
		}
		m.awaitOpen(0)
	}
	m.end()
	if all := m.logLines(); len(all) != 2*connections {
		t.Errorf("%d lines of %d connections", len(all), 2*connections)
	}
}
