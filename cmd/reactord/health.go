package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// healthCommand asks a running daemon how it is, where there is no shell and no curl: a container's health check.
type healthCommand struct {
	Address config.Address `short:"a" xor:"where" env:"REACTORD_METRICS" placeholder:"HOST:PORT" help:"Address of the metrics (127.0.0.1:9090). 0.0.0.0 and [::] are this machine."`
	Config  string         `short:"c" xor:"where" placeholder:"FILE" help:"Configuration file that says the address of the metrics."`
	Live    bool           `help:"Ask whether the process answers (/livez), not whether it accepts connections (/readyz)."`
	Timeout time.Duration  `default:"2s" help:"How long the answer may take (${default})."`
}

// defaultMetrics is the address of the metrics in every example.
const defaultMetrics = "127.0.0.1:9090"

// Validate is for the flags.
func (c healthCommand) Validate() error {
	if !c.Address.IsZero() && (c.Address.Network() != "tcp" || c.Address.Port == 0 || c.Address.Last != 0) {
		return fmt.Errorf("--address: %s cannot be asked: write HOST:PORT", c.Address)
	}
	return nil
}

// Run prints the answer in one line, or returns why there is none, or a bad one.
func (c healthCommand) Run() error {
	address, err := c.where()
	if err != nil {
		return err
	}
	path := "/readyz"
	if c.Live {
		path = "/livez"
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	said, err := askHealth(ctx, "http://"+address+path)
	if err != nil {
		return err
	}
	_, err = fmt.Println(said)
	return err
}

// where is the address of the daemon's metrics, as HOST:PORT.
func (c healthCommand) where() (string, error) {
	switch {
	case !c.Address.IsZero():
		return c.Address.HostPort(), nil
	case c.Config == "":
		return defaultMetrics, nil
	}
	cfg, _, err := config.Load(c.Config)
	if err != nil {
		return "", err
	}
	if cfg.Metrics.Address.IsZero() {
		return "", fmt.Errorf("%s: no address to ask: write metrics: %s", c.Config, defaultMetrics)
	}
	return cfg.Metrics.Address.HostPort(), nil
}

// askHealth is the answer of a daemon that is well.
func askHealth(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	t := &http.Transport{DisableKeepAlives: true} // and no proxy: the daemon is near
	response, err := t.RoundTrip(request)
	if err != nil {
		return "", fmt.Errorf("%s: %w", url, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 256))
	if err != nil {
		return "", fmt.Errorf("%s: %w", url, err)
	}
	said, _, _ := strings.Cut(string(text), "\n")
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", url, response.Status, said)
	}
	return said, nil
}
