package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxHealth limits an answer about health that is read, in bytes.
const maxHealth = 256

// Health requests path, "/readyz" or "/livez", at the address of the metrics. It returns the first line of the answer
// of a healthy daemon.
func (c *Client) Health(ctx context.Context, path string) (string, error) {
	where := c.access.Address + path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := c.do(r)
	if err != nil {
		return "", fmt.Errorf("%s: %w", where, c.explainTLS(err))
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxHealth))
	if err != nil {
		return "", fmt.Errorf("%s: %w", where, err)
	}
	if err := c.stranger(answer.StatusCode, string(text)); err != nil {
		return "", err
	}
	said, _, _ := strings.Cut(string(text), "\n")
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", where, answer.Status, said)
	}
	return said, nil
}
