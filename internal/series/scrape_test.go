package series

import (
	"testing"

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
var scraped = NewCollector(func(s *Scrape) {
	two, three := 2, 3
	scrapedTable.Send(s.Of("d", "x", "b", "y"), &two)
	scrapedTable.Send(s.Of("b", "b", "d", "d"), &three)
	of := s.Of("d", "x", "b", "y")
	of.Count(scrapedDesc, 1, "e", "1", "a", "2", "c", "3")
	of.Count(scrapedDesc, 4, "c", "3", "e", "x", "a", "2")
	s.Of().Value(scrapedFlag, 5)
}, scrapedTable, scrapedDesc, scrapedFlag)

// Labels that series have in common are theirs only, and each series has its labels in the order of their names.
func TestScrape(t *testing.T) {
	seriestest.Expect(t, scraped, `
reactord_flag 5
reactord_size{b="b",d="d"} -3
reactord_size{b="y",d="x"} -2
reactord_things_total{b="b",d="d"} 3
reactord_things_total{b="y",d="x"} 2
reactord_words_total{a="2",b="y",c="3",d="x",e="1"} 1
reactord_words_total{a="2",b="y",c="3",d="x",e="x"} 4
`)
}
