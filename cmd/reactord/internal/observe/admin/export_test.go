package admin

import (
	"net/http"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"go.uber.org/zap"
)

// Handler is the handler of an API without a listener.
func Handler(d Daemon, level zap.AtomicLevel, log *zap.Logger) http.Handler {
	a := &API{server: server{log: log}, daemon: d, level: level, openAPI: OpenAPI()}
	a.access.DefaultRole = config.AdminRole
	return &testHandler{a.handler(), a}
}

type testHandler struct {
	http.Handler
	api *API
}

// ForgetSnapshot has a handler make the next snapshot anew.
func ForgetSnapshot(h http.Handler) { h.(*testHandler).api.snapshots = shared[sharedSnapshot]{} }

// Shared is shared.
type Shared[T any] struct{ shared[T] }

// Get is get.
func (s *Shared[T]) Get(age time.Duration, render func() (T, error)) (T, error) {
	return s.get(age, render)
}
