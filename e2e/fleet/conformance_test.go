//go:build ignore

// The Gateway API conformance suite. It is built in a module of its own: see lab.
package fleet

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

func TestConformance(t *testing.T) {
	conformance.RunConformanceWithOptions(t, conformance.DefaultOptions(t))
}
