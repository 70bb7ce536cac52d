package translate

import (
	"encoding/hex"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// healthChecks reads the health check of a cluster. Jitter settings have no effect, because checks always have a
// jitter of 10 %, and neither does traffic: checks continue without it.
func healthChecks(r reading, all []*corepb.HealthCheck, c *config.Check) {
	if len(all) > 1 {
		r.refuse("only one check is supported, not %d", len(all))
	}
	if len(all) > 0 {
		healthCheck(r.indexed(0), all[0], c)
	}
}

func healthCheck(r reading, m *corepb.HealthCheck, c *config.Check) {
	needed := func(key string, d *durationpb.Duration) time.Duration {
		out := r.at("%s", key).duration(d, 0)
		r.at("%s", key).only(out >= time.Millisecond, "required: write at least 1 ms")
		return out
	}
	c.Interval, c.Timeout = needed("interval", m.Interval), needed("timeout", m.Timeout)
	c.DownInterval = r.at("unhealthy_interval").duration(m.UnhealthyInterval, 0)
	c.FastInterval = edge(r, m, c.Interval)
	c.Rise = r.at("healthy_threshold").threshold(m.HealthyThreshold.GetValue())
	c.Fall = r.at("unhealthy_threshold").threshold(m.UnhealthyThreshold.GetValue())
	if c.Port = int(m.AltPort.GetValue()); c.Port > maxPort {
		r.at("alt_port").refuse("%d is not a port", c.Port)
	}
	switch h := m.HealthChecker.(type) {
	case *corepb.HealthCheck_TcpHealthCheck_:
		tcpCheck(r.at("tcp_health_check"), h.TcpHealthCheck, c)
	case nil:
		r.refuse("unknown kind of check: write tcp_health_check")
	default:
		r.refuse("only TCP checks are supported: write tcp_health_check")
	}
}

// threshold reads a number of checks.
func (r reading) threshold(n uint32) int {
	if n < 1 || n > 1000 {
		r.refuse("%d is out of range: write 1 to 1000", n)
	}
	return int(n)
}

// edge reads the interval while a state changes. It is the same in both directions.
func edge(r reading, m *corepb.HealthCheck, interval time.Duration) time.Duration {
	falling := r.at("unhealthy_edge_interval").duration(m.UnhealthyEdgeInterval, 0)
	rising := r.at("healthy_edge_interval").duration(m.HealthyEdgeInterval, 0)
	if falling > 0 && rising > 0 && falling != rising {
		r.at("healthy_edge_interval").refuse("%v differs from unhealthy_edge_interval, %v: only one value is "+
			"supported", rising,
			falling)
	}
	if d := max(falling, rising); d > 0 {
		return d
	}
	return interval
}

// tcpCheck reads what to send and what to expect.
func tcpCheck(r reading, m *corepb.HealthCheck_TcpHealthCheck, c *config.Check) {
	c.SendHex = payload(r.at("send"), m.Send)
	if len(m.Receive) > 1 {
		r.at("receive").refuse("only one text to receive is supported, not %d", len(m.Receive))
	}
	if len(m.Receive) > 0 {
		c.ExpectHex = payload(r.at("receive[0]"), m.Receive[0])
	}
}

// payload reads bytes as hexadecimal digits.
func payload(r reading, m *corepb.HealthCheck_Payload) string {
	var b []byte
	switch p := m.GetPayload().(type) {
	case *corepb.HealthCheck_Payload_Text:
		var err error
		if b, err = hex.DecodeString(p.Text); err != nil {
			r.at("text").refuse("not hexadecimal")
		}
	case *corepb.HealthCheck_Payload_Binary:
		b = p.Binary
	}
	const most = 1024
	if len(b) > most {
		r.refuse("%d bytes: write at most %d", len(b), most)
	}
	return hex.EncodeToString(b)
}
