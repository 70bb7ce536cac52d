package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// rsyslog is a configuration that receives by a unix socket, UDP, and TCP with TLS, and writes what it has understood.
// It needs the directory, the authority, the certificate, its key, the ports, and the directory again.
const rsyslog = `
global(workDirectory="%[1]s" DefaultNetstreamDriver="gtls" DefaultNetstreamDriverCAFile="%[2]s"
	DefaultNetstreamDriverCertFile="%[3]s" DefaultNetstreamDriverKeyFile="%[4]s")
module(load="imuxsock" SysSock.Use="off")
module(load="imudp")
module(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="anon")
input(type="imuxsock" Socket="%[1]s/log")
input(type="imudp" address="127.0.0.1" port="%[5]s")
input(type="imtcp" address="127.0.0.1" port="%[6]s")
template(name="parsed" type="string"
	string="%%syslogfacility-text%%.%%syslogseverity-text%% %%programname%%[%%procid%%] %%msg:::drop-last-lf%%\n")
action(type="omfile" file="%[1]s/received" template="parsed" flushOnTXEnd="on" fileCreateMode="0600")
`

// rsyslogd receives the access log by each protocol, and understands it; also after it was restarted.
func TestSyslog(t *testing.T) {
	t.Parallel()
	program := need(t, "rsyslogd", "rsyslog")
	if _, err := os.Stat("/usr/lib/x86_64-linux-gnu/rsyslog/lmnsd_gtls.so"); err != nil {
		missing(t, "rsyslog cannot speak TLS; that is in Debian's package rsyslog-gnutls")
	}
	authority := newAuthority(t)
	authority.issue("logs", "logs.example.org")
	for target, settings := range map[string]string{
		"unix":    "address: 'unix://%[1]s/log', syslog: rfc3164",
		"udp":     "address: 'udp://127.0.0.1:%[2]s', syslog: rfc3164",
		"udp5424": "address: 'udp://127.0.0.1:%[2]s', syslog: rfc5424",
		"tls": "address: 'tcp://127.0.0.1:%[3]s', syslog: rfc5424, " +
			"tls: {enabled: true, ca: '%[4]s', server_name: logs.example.org}",
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, udp, _ := net.SplitHostPort(testenv.Vacant(t))
			_, tcp, _ := net.SplitHostPort(testenv.Vacant(t))
			file := filepath.Join(dir, "rsyslog.conf")
			write(t, file, fmt.Sprintf(rsyslog, dir, authority.path("ca.pem"), authority.path("logs.crt"),
				authority.path("logs.key"), udp, tcp))
			receive := func() *exec.Cmd {
				c := exec.CommandContext(t.Context(), program, "-n", "-f", file, "-i", filepath.Join(dir, "pid"))
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				return c
			}
			receiver := receive()
			defer func() {
				_ = receiver.Process.Kill()
				_ = receiver.Wait()
			}()
			ready := func() bool {
				c, err := net.Dial("tcp", "127.0.0.1:"+tcp)
				if err == nil {
					c.Close()
				}
				_, missing := os.Stat(filepath.Join(dir, "log"))
				return err == nil && missing == nil
			}
			eventually(t, "rsyslogd listens", ready)
			log := fmt.Sprintf("access_log: {"+settings+", facility: local3, tag: edge, format: tcplog}", dir, udp, tcp,
				authority.path("ca.pem"))
			d := startFile(t, writeConfig(t, reloadConfig("auto", log, []string{"web=127.0.0.1:0"}, serve(t, echo))))
			defer d.stop()
			use := func(times int) {
				for range times {
					p := dial(t, d.addr)
					p.send([]byte("hello"))
					p.expect([]byte("hello"))
					p.finish()
					p.expectEOF()
				}
			}
			received := filepath.Join(dir, "received")
			use(20)
			eventually(t, "the lines of 20 connections", func() bool { return len(linesOf(t, received)) == 20 })

			// A reload of other settings ends the writer, and its connection, while rsyslogd is away.
			if err := receiver.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = receiver.Wait()
			receiver = receive()
			eventually(t, "rsyslogd listens again", ready)
			use(20)
			eventually(t, "the lines of 40 connections", func() bool { return len(linesOf(t, received)) == 40 })

			want := regexp.MustCompile(fmt.Sprintf(`^local3\.info edge\[%d\] (.*)$`, d.pid()))
			for _, line := range linesOf(t, received) {
				m := want.FindStringSubmatch(line)
				if m == nil || !tcplog.MatchString(strings.TrimSpace(m[1])) {
					t.Errorf("got %q", line)
				}
			}
		})
	}
}
