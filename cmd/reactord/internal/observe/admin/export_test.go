package admin

import (
	"net/http"

	"go.uber.org/zap"
)

// Handler is the handler of an API without a listener.
func Handler(d Daemon, level zap.AtomicLevel, log *zap.Logger) http.Handler {
	a := &API{server: server{log: log}, daemon: d, level: level, openAPI: OpenAPI()}
	return a.handler()
}
