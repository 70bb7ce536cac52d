package cli

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
)

// healthCommand asks a running daemon whether it is ready. It serves as health check of containers without a shell.
type healthCommand struct {
	Address string `short:"a" xor:"where" env:"REACTORD_METRICS" placeholder:"ADDRESS" help:"Address of the metrics, HOST:PORT or https://HOST:PORT (127.0.0.1:9090). 0.0.0.0 and [::] are this machine."`
	Config  string `short:"c" xor:"where" placeholder:"FILE" help:"Configuration file that says the address of the metrics, and whether they have TLS. The daemon is on this machine: its certificate at a loopback address, 0.0.0.0 or [::] is not verified without --cacert."`
	Credentials
	Live    bool          `help:"Ask whether the process answers (/livez), not whether it accepts connections (/readyz)."`
	Timeout time.Duration `default:"2s" help:"How long the answer may take (${default})."`
}

// defaultMetrics is the address of the metrics in all examples.
const defaultMetrics = "127.0.0.1:9090"

// Validate checks --address.
func (c healthCommand) Validate() error {
	if c.Address == "" || strings.HasPrefix(c.Address, "https://") {
		return nil
	}
	a, err := config.ParseAddress(c.Address)
	switch {
	case err != nil:
		return fmt.Errorf("--address: %w", err)
	case a.Network() != config.TCPNetwork || a.Port == 0 || a.Last != 0:
		return fmt.Errorf("--address: %s cannot be asked: write HOST:PORT", a)
	}
	return nil
}

// Run prints the answer as one line, or returns an error if it is missing or negative.
func (c healthCommand) Run() error {
	access, err := c.where()
	if err != nil {
		return err
	}
	client, err := admin.NewClient(access)
	if err != nil {
		return err
	}
	defer client.Close()
	path := "/readyz"
	if c.Live {
		path = "/livez"
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	said, err := client.Health(ctx, path)
	if err != nil {
		return err
	}
	_, err = fmt.Println(said)
	return err
}

// where returns the address of the daemon's metrics, with credentials. A password is sent to another machine only over
// TLS.
func (c healthCommand) where() (admin.Access, error) {
	if c.Config != "" {
		return c.configured()
	}
	address := c.Address
	if address == "" {
		address = defaultMetrics
	}
	if !strings.HasPrefix(address, "https://") {
		a, err := config.ParseAddress(address)
		if err != nil {
			return admin.Access{}, err
		}
		address = "http://" + a.HostPort()
	}
	access, err := c.access(address)
	access.Open = c.User == ""
	return access, err
}

// configured returns the address of the metrics in the configuration file, with credentials.
func (c healthCommand) configured() (admin.Access, error) {
	cfg, _, err := config.Load(c.Config)
	if err != nil {
		return admin.Access{}, err
	}
	m := cfg.Metrics
	if m.Address.IsZero() {
		return admin.Access{}, fmt.Errorf("%s: no address to ask: write metrics: %s", c.Config, defaultMetrics)
	}
	scheme := "http://"
	if m.WebConfigFile != "" {
		secure, err := admin.HasTLS(m.WebConfigFile)
		if err != nil {
			return admin.Access{}, err
		}
		if secure {
			scheme = "https://"
		}
	}
	access, err := c.access(scheme + m.Address.HostPort())
	access.Open, access.Own = true, isLocalHost(m.Address.Host)
	return access, err
}

// isLocalHost reports whether only this machine can answer at host.
func isLocalHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}
