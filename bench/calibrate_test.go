package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestWhatOtherGeneratorsPrint(t *testing.T) {
	wrk := "Running 2s test @ http://127.0.0.1:7601/\n  1 threads and 64 connections\n" +
		"  126043 requests in 2.02s, 6.13MB read\nRequests/sec:  62483.86\n"
	if m, err := readWrk(wrk); err != nil || m.messages != 126043 || math.Round(m.rate) != 62398 {
		t.Errorf("wrk: %+v, %v", m, err)
	}
	for _, bad := range []string{"", "unable to connect", wrk + "  Non-2xx or 3xx responses: 1\n",
		wrk + "  Socket errors: connect 0, read 1\n"} {
		if m, err := readWrk(bad); err == nil {
			t.Errorf("wrk: %+v of %q", m, bad)
		}
	}
	redis := "\"test\",\"rps\",\"avg_latency_ms\"\n\"PING_MBULK\",\"50000.00\",\"0.5\"\n"
	if m, err := readRedisBenchmark(redis, 100); err != nil || m.messages != 100 || math.Round(m.rate) != 50000 {
		t.Errorf("redis-benchmark: %+v, %v", m, err)
	}
	for _, bad := range []string{"", "\"test\"\n", "\"PING_MBULK\",\"fast\"\n"} {
		if m, err := readRedisBenchmark(bad, 100); err == nil {
			t.Errorf("redis-benchmark: %+v of %q", m, bad)
		}
	}
}

// For samples with the median 0, the share of intervals that contain 0 is the claimed confidence.
func TestIntervalOfMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{6, 9, 12, 25} {
		const draws = 4000
		hits := 0
		for range draws {
			values := make([]float64, n)
			for i := range values {
				values[i] = r.NormFloat64()
			}
			if low, high := interval(values); low <= 0 && 0 <= high {
				hits++
			}
		}
		if share := float64(hits) / draws; share < 0.94 || share > 0.985 {
			t.Errorf("of %d values each: %.3f of the intervals have the median in them", n, share)
		}
	}
	if low, high := interval([]float64{3, 1, 2}); low != 1 || high != 3 {
		t.Errorf("%v to %v of three values", low, high)
	}
}
