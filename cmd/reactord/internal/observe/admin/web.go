package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"go.uber.org/zap"
	"go.yaml.in/yaml/v2"
	"golang.org/x/crypto/bcrypt"
)

// CheckWeb returns what is wrong with a web configuration file, or with a file that it names, as one line without its
// path. open tells whether clients of other machines can reach its address: it must then require TLS, and passwords
// or client certificates.
func CheckWeb(path string, open bool) error {
	c, err := readWeb(path)
	if err == nil {
		err = checkUsers(c)
	}
	if err == nil {
		err = web.Validate(path)
	}
	if err == nil && open {
		err = protects(c)
	}
	if err == nil {
		return nil
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// readWeb reads a file like the toolkit, with the same parser.
func readWeb(path string) (*web.Config, error) {
	text, err := os.ReadFile(path)
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, wrong.Err
	}
	c := &web.Config{}
	return c, yaml.UnmarshalStrict(text, c)
}

// HasTLS reports whether a web configuration file enables TLS.
func HasTLS(path string) (bool, error) {
	c, err := readWeb(path)
	if err != nil {
		return false, fmt.Errorf("web_config_file %q: %w", path, err)
	}
	return c.TLSConfig.IsEnabled(), nil
}

// WebFiles returns the files that a web configuration file names, or none if it cannot be read.
func WebFiles(path string) (files []string) {
	c, err := readWeb(path)
	if err != nil {
		return nil
	}
	c.TLSConfig.SetDirectory(filepath.Dir(path))
	for _, file := range []string{c.TLSConfig.TLSCertPath, c.TLSConfig.TLSKeyPath, c.TLSConfig.ClientCAs} {
		if file != "" {
			files = append(files, file)
		}
	}
	return files
}

func checkUsers(c *web.Config) error {
	for name, hash := range c.Users {
		if _, err := bcrypt.Cost([]byte(hash)); err != nil {
			return fmt.Errorf("the password of user %q is not a bcrypt hash: write the output of htpasswd -nB %s",
				clip(name), clip(name))
		}
	}
	return nil
}

// protects returns what is missing for an address that other machines can reach.
func protects(c *web.Config) error {
	switch {
	case !c.TLSConfig.IsEnabled():
		return errors.New("the address is reachable from other machines without TLS: write tls_server_config, too")
	case len(c.Users) == 0 && c.TLSConfig.ClientAuth != "RequireAndVerifyClientCert":
		return errors.New("the address is reachable from other machines without authentication: write basic_auth_users, or " +
			"client_auth_type: RequireAndVerifyClientCert in tls_server_config")
	}
	return nil
}

// protected answers only while the file protects the address: it may have changed since it was checked.
func protected(path string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := readWeb(path)
		if err == nil {
			err = protects(c)
		}
		if err != nil {
			problem(http.StatusForbidden, "web configuration file: "+err.Error()).write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// complaints logs errors of a web configuration file, the same one at most once a minute, because every client causes
// it. It may be used from any goroutine.
type complaints struct {
	name, file string
	log        *zap.Logger

	mu      sync.Mutex
	text    string    // last error; "" if the file is valid
	said    time.Time // when text was logged
	checked time.Time // when the file was last checked
}

const (
	complaintTime = time.Minute
	checkTime     = time.Second // between two checks
)

// say logs an error.
func (c *complaints) say(what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := what + err.Error()
	if text == c.text && time.Since(c.said) < complaintTime {
		return
	}
	c.text, c.said = text, time.Now()
	c.log.Error(c.name+": "+what, zap.String("file", c.file), zap.Error(err))
}

// check logs what is wrong with the file.
func (c *complaints) check() {
	c.mu.Lock()
	if time.Since(c.checked) < checkTime {
		c.mu.Unlock()
		return
	}
	c.checked = time.Now()
	c.mu.Unlock()
	if err := CheckWeb(c.file, false); err != nil {
		c.say("requests are not answered: invalid web configuration file", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = ""
}

// newServerLog returns a log for the HTTP server's messages about its clients. A failed handshake may be the fault of
// the file, which the toolkit reads each time.
func newServerLog(c *complaints) *log.Logger {
	plain := zap.NewStdLog(c.log)
	if c.file != "" {
		plain.SetOutput(&handshakes{plain.Writer(), c})
	}
	return plain
}

type handshakes struct {
	io.Writer
	complaints *complaints
}

// Write logs a line.
func (h *handshakes) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("TLS handshake error")) {
		h.complaints.check()
	}
	return h.Writer.Write(line)
}

// newSlog returns a logger for the toolkit's errors.
func newSlog(c *complaints) *slog.Logger {
	return slog.New(&slogHandler{complaints: c})
}

// slogHandler writes to a zap.Logger. An error of the file, which the toolkit reads for each request, is a complaint.
type slogHandler struct {
	complaints *complaints
	fields     []zap.Field
}

// Enabled drops what the toolkit logs when it starts: the daemon logs where it listens.
func (h *slogHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle logs a record.
func (h *slogHandler) Handle(_ context.Context, r slog.Record) error {
	fields := slices.Clone(h.fields)
	var failed error
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" { // a text
			failed = errors.New(strings.Join(strings.Fields(a.Value.String()), " "))
		}
		fields = append(fields, zap.Any(a.Key, a.Value.Any()))
		return true
	})
	if failed != nil && h.complaints.file != "" {
		h.complaints.say(r.Message, failed)
		return nil
	}
	h.complaints.log.Error(h.complaints.name+": "+r.Message, fields...)
	return nil
}

// WithAttrs returns h with fields.
func (h *slogHandler) WithAttrs(all []slog.Attr) slog.Handler {
	with := &slogHandler{h.complaints, slices.Clone(h.fields)}
	for _, a := range all {
		with.fields = append(with.fields, zap.Any(a.Key, a.Value.Any()))
	}
	return with
}

// WithGroup returns h: the toolkit uses no groups.
func (h *slogHandler) WithGroup(string) slog.Handler { return h }
