//go:build ignore

// The Gateway API conformance suite, with the profiles that a proxy of layer 4 has. It is built in a module of its own:
// see lab.
package fleet

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

func TestConformance(t *testing.T) {
	o := conformance.DefaultOptions(t)
	o.ConformanceProfiles = append(o.ConformanceProfiles, suite.GatewayTCPConformanceProfileName,
		suite.GatewayTLSConformanceProfileName, suite.GatewayUDPConformanceProfileName)
	conformance.RunConformanceWithOptions(t, o)
}
