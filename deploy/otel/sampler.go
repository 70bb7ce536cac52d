package main

import (
	"fmt"

	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// sampler takes a part of the connections, and all that ended in another way than they should.
type sampler struct{ ratio trace.Sampler }

// newSampler takes a part between 0 and 1 of the connections that ended as they should.
func newSampler(ratio float64) trace.Sampler {
	return trace.ParentBased(sampler{trace.TraceIDRatioBased(ratio)})
}

// ShouldSample decides by the attributes that the span begins with.
func (s sampler) ShouldSample(p trace.SamplingParameters) trace.SamplingResult {
	for _, a := range p.Attributes {
		if a.Key == semconv.ErrorTypeKey {
			return trace.AlwaysSample().ShouldSample(p)
		}
	}
	return s.ratio.ShouldSample(p)
}

// Description says what the sampler does.
func (s sampler) Description() string { return fmt.Sprintf("Abnormal{else:%s}", s.ratio.Description()) }
