package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/exporter-toolkit/web"
	"go.uber.org/zap"
	"go.yaml.in/yaml/v2"
	"golang.org/x/crypto/bcrypt"
)

// CheckWeb says what is wrong with a web configuration file, or with a file that it names: in one line, without its
// path. open is whether clients of other machines reach its address: then it must have TLS, and ask for passwords or
// for client certificates.
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

// readWeb reads a file as the toolkit does, with the same parser.
func readWeb(path string) (*web.Config, error) {
	text, err := os.ReadFile(path)
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, wrong.Err
	}
	c := &web.Config{}
	return c, yaml.UnmarshalStrict(text, c)
}

// HasTLS reports whether a web configuration file has TLS.
func HasTLS(path string) (bool, error) {
	c, err := readWeb(path)
	if err != nil {
		return false, fmt.Errorf("web_config_file %q: %w", path, err)
	}
	return c.TLSConfig.IsEnabled(), nil
}

func checkUsers(c *web.Config) error {
	for name, hash := range c.Users {
		if _, err := bcrypt.Cost([]byte(hash)); err != nil {
			return fmt.Errorf("the password of user %q is not a hash of bcrypt: write what htpasswd -nB %s prints",
				clip(name), clip(name))
		}
	}
	return nil
}

// protects says what is missing for an address that other machines reach.
func protects(c *web.Config) error {
	switch {
	case !c.TLSConfig.IsEnabled():
		return errors.New("there is no TLS, and other machines reach the address: write tls_server_config, too")
	case len(c.Users) == 0 && c.TLSConfig.ClientAuth != "RequireAndVerifyClientCert":
		return errors.New("every client is let in, and other machines reach the address: write basic_auth_users, or " +
			"client_auth_type: RequireAndVerifyClientCert in tls_server_config")
	}
	return nil
}

// protected answers only while the file protects the address: it may have been changed since it was checked.
func protected(path string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := readWeb(path)
		if err == nil {
			err = protects(c)
		}
		if err != nil {
			problem(http.StatusForbidden, "the web configuration file: "+err.Error()).write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// newSlog is a logger for the toolkit, of what is wrong.
func newSlog(name string, log *zap.Logger) *slog.Logger {
	return slog.New(&slogHandler{name: name, log: log})
}

// slogHandler writes to a zap.Logger.
type slogHandler struct {
	name   string
	log    *zap.Logger
	fields []zap.Field
}

// Enabled leaves out what the toolkit says when it starts: the daemon says where it listens.
func (h *slogHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle writes a line.
func (h *slogHandler) Handle(_ context.Context, r slog.Record) error {
	fields := slices.Clone(h.fields)
	r.Attrs(func(a slog.Attr) bool {
		fields = append(fields, zap.Any(a.Key, a.Value.Any()))
		return true
	})
	h.log.Error(h.name+": "+r.Message, fields...)
	return nil
}

// WithAttrs is h with fields.
func (h *slogHandler) WithAttrs(all []slog.Attr) slog.Handler {
	with := &slogHandler{h.name, h.log, slices.Clone(h.fields)}
	for _, a := range all {
		with.fields = append(with.fields, zap.Any(a.Key, a.Value.Any()))
	}
	return with
}

// WithGroup is h: the toolkit has no groups.
func (h *slogHandler) WithGroup(string) slog.Handler { return h }
