package series

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/internal/series/seriestest"
)

var (
	scrapedTable = Table[int]{
		Counter("things_total", "Things.", []string{"b", "d"}, func(n *int) float64 { return float64(*n) }),
		Gauge("size", "Size.", []string{"b", "d"}, func(n *int) float64 { return -float64(*n) }),
	}
	scrapedDesc = NewDesc("words_total", "Words.", "a", "b", "c", "d", "e")
	scrapedFlag = NewDesc("flag", "A flag.")
)

// scraped sends series in each way.
type scraped struct{}

func (scraped) Describe(ch chan<- *prometheus.Desc) {
	scrapedTable.Describe(ch)
	ch <- scrapedDesc
	ch <- scrapedFlag
}

func (scraped) Collect(ch chan<- prometheus.Metric) {
	s, two, three := NewScrape(ch), 2, 3
	scrapedTable.Send(s.Of("d", "x", "b", "y"), &two)
	scrapedTable.Collect(ch, &three, "b", "d")
	of := s.Of("d", "x", "b", "y")
	of.Count(scrapedDesc, 1, "e", "1", "a", "2", "c", "3")
	of.Count(scrapedDesc, 4, "c", "3", "e", "x", "a", "2")
	s.Of().Value(scrapedFlag, 5)
}

// Labels that series have in common are theirs only, and each series has its labels in the order of their names.
func TestScrape(t *testing.T) {
	seriestest.Expect(t, scraped{}, `
reactord_flag 5
reactord_size{b="b",d="d"} -3
reactord_size{b="y",d="x"} -2
reactord_things_total{b="b",d="d"} 3
reactord_things_total{b="y",d="x"} 2
reactord_words_total{a="2",b="y",c="3",d="x",e="1"} 1
reactord_words_total{a="2",b="y",c="3",d="x",e="x"} 4
`)
}

func BenchmarkOwner(b *testing.B) {
	ch := make(chan prometheus.Metric, 1)
	of := NewScrape(ch).Of("d", "x", "b", "y")
	b.ReportAllocs()
	for b.Loop() {
		of.Count(scrapedDesc, 1, "e", "1", "a", "2", "c", "3")
		<-ch
	}
}
