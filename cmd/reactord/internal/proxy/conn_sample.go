package proxy

import (
	"math"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// inSample reports whether the association is in a sample of one in so many. That depends on the id only, so that it is
// in the same samples in each process that it moves through; and it is in every larger sample, too.
func (a *association) inSample(oneIn int) bool { return mix(a.id) <= math.MaxUint64/uint64(oneIn) }

// logs reports whether the access log has a line of the association, by its settings for those that are normal: see
// [config.AccessLog.SkipNormal].
func (a *association) logs(s *config.AccessLog, normal bool) bool {
	return !normal || !s.SkipNormal && (s.Sample <= 1 || a.inSample(s.Sample))
}

// mix spreads ids, which count, over all numbers. It is the finalizer of MurmurHash3 without its last step.
func mix(id uint64) uint64 {
	id = (id ^ id>>33) * 0xff51afd7ed558ccd
	return (id ^ id>>33) * 0xc4ceb9fe1a85ec53
}
