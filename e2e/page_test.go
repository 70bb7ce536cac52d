package e2e

import (
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// A page is a parsed metrics page.
type page struct {
	t        *testing.T
	families map[string]*dto.MetricFamily
}

// scrape fetches and parses the metrics page, as Prometheus would.
func (d *daemon) scrape() page {
	d.t.Helper()
	status, body := d.get("/metrics")
	if status != http.StatusOK {
		d.t.Fatalf("/metrics: status %d", status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		d.t.Fatalf("/metrics does not parse: %v", err)
	}
	return page{d.t, families}
}

// connections is how many connections are open, according to the metrics page.
func (d *daemon) connections() float64 { return d.scrape().sum("reactord_listener_connections") }

// series returns the series of a family that have all the labels, each given as "name=value".
func (p page) series(family string, labels ...string) []*dto.Metric {
	p.t.Helper()
	f, ok := p.families[family]
	if !ok {
		p.t.Fatalf("/metrics has no %s", family)
	}
	var found []*dto.Metric
	for _, m := range f.GetMetric() {
		if carries(m, labels) {
			found = append(found, m)
		}
	}
	return found
}

func carries(m *dto.Metric, labels []string) bool {
	has := make(map[string]bool)
	for _, l := range m.GetLabel() {
		has[l.GetName()+"="+l.GetValue()] = true
	}
	for _, l := range labels {
		if !has[l] {
			return false
		}
	}
	return true
}

// sum adds up the counters and gauges of a family that have all the labels.
func (p page) sum(family string, labels ...string) float64 {
	p.t.Helper()
	var sum float64
	for _, m := range p.series(family, labels...) {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
	}
	return sum
}

// label returns the value of a label of a series.
func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
