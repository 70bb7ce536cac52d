package translate

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// outlierDetection reads when to eject a server. Of what Envoy counts, an L4 proxy only sees failed connects: errors
// of local origin or, if those are not split, 5xx and gateway errors. Success rates are not evaluated: a server whose
// connects fail in a row is ejected anyway.
func outlierDetection(r reading, m *clusterpb.OutlierDetection, e *config.Ejection) {
	e.Failures = 0
	if m == nil {
		return
	}
	count := func(key string, after, enforcing *wrapperspb.UInt32Value, usually uint32) {
		if percent := valueOr(enforcing, usually); percent == 0 {
			return
		} else if percent != 100 {
			r.at("enforcing_%s", key).refuse("%d %%: write 0 or 100", percent)
		}
		if n := int(valueOr(after, 5)); n > 0 && (e.Failures == 0 || n < e.Failures) {
			e.Failures = min(n, 1<<20)
		}
	}
	if m.SplitExternalLocalOriginErrors {
		count("consecutive_local_origin_failure", m.ConsecutiveLocalOriginFailure, m.EnforcingConsecutiveLocalOriginFailure,
			100)
	} else {
		count("consecutive_5xx", m.Consecutive_5Xx, m.EnforcingConsecutive_5Xx, 100)
		count("consecutive_gateway_failure", m.ConsecutiveGatewayFailure, m.EnforcingConsecutiveGatewayFailure, 0)
	}
	e.Time = r.at("base_ejection_time").duration(m.BaseEjectionTime, 30*time.Second)
	if e.Time < time.Millisecond {
		r.at("base_ejection_time").refuse("%v is too short: write at least 1 ms", e.Time)
	}
	e.MaxTime = max(e.Time, r.at("max_ejection_time").duration(m.MaxEjectionTime, 5*time.Minute))
	if e.MaxPercent = int(valueOr(m.MaxEjectionPercent, 10)); e.MaxPercent > 100 {
		r.at("max_ejection_percent").refuse("%d is not a percentage", e.MaxPercent)
	}
}

func valueOr(m *wrapperspb.UInt32Value, otherwise uint32) uint32 {
	if m == nil {
		return otherwise
	}
	return m.Value
}
