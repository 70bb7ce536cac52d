package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/units"
)

// curveRows is the largest number of rows of a soak's samples.
const curveRows = 20

// soak prints the samples of the target over time, and the trends of the second half.
func soak(out io.Writer, w *tabwriter.Writer, r *record.Result) {
	if len(r.Samples) == 0 {
		return
	}
	var heap, goroutines bool
	for _, s := range r.Samples {
		heap, goroutines = heap || s.LiveHeap != 0, goroutines || s.Goroutines != 0
	}
	fmt.Fprint(w, "time\tconnections\tmemory\tlive heap\tdescriptors\tthreads\tgoroutines\t\n")
	known := func(known bool, text string) string {
		if !known {
			return "–"
		}
		return text
	}
	last := len(r.Samples) - 1
	for row := range min(curveRows, len(r.Samples)) {
		s := r.Samples[row*last/max(min(curveRows, len(r.Samples))-1, 1)]
		fmt.Fprintf(w, "%.0f s\t%s\t%s\t%s\t%d\t%d\t%s\t\n", s.Seconds, units.Count(float64(s.Connections)),
			units.Bytes(float64(s.Memory)),
			known(heap, units.Bytes(float64(s.LiveHeap))), s.Descriptors, s.Threads, known(goroutines, fmt.Sprint(s.Goroutines)))
	}
	_ = w.Flush() // the caller sees errors of out
	fmt.Fprintln(out)
	if len(r.Trends) == 0 {
		return
	}
	fmt.Fprint(w, "second half\tmedian\ta second\tallowed\tafter the load\t\t\n")
	for _, t := range r.Trends {
		format, verdict := units.Count, "steady"
		if t.Unit == "B" {
			format = units.Bytes
		}
		if t.Grows {
			verdict = "GROWS"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t\n", t.Figure, format(t.Median), format(t.Slope), format(t.Allowed),
			format(t.After), verdict)
	}
	_ = w.Flush()
	fmt.Fprintln(out)
}
