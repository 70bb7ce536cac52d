package main

import (
	"fmt"

	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// sampler samples a part of the connections, and all that ended abnormally.
type sampler struct{ ratio trace.Sampler }

// newSampler returns a sampler that takes a part between 0 and 1 of the connections that ended normally.
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

// Description returns a description of the sampler.
func (s sampler) Description() string { return fmt.Sprintf("Abnormal{else:%s}", s.ratio.Description()) }
