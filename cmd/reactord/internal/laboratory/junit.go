package laboratory

import (
	"encoding/xml"
	"io"
	"strings"
	"time"
)

// WriteJUnit writes results as JUnit's XML, which CI systems read. err is why there are none, or nil.
func WriteJUnit(w io.Writer, suite string, all []Result, err error) error {
	out := junitSuite{Name: suite, Tests: len(all)}
	total := time.Duration(0)
	for _, r := range all {
		c := junitCase{
			Name: r.Case.Name, Class: suite, File: r.Case.File, Line: r.Case.At.Line, Seconds: r.Took.Seconds(),
		}
		if len(r.Differences) > 0 {
			out.Failures++
			c.Failure = &junitFault{
				Message: strings.Join(r.Differences, "; "),
				Text:    r.Case.Place() + "\n" + strings.Join(append(r.Differences, r.Rules()...), "\n"),
			}
		}
		total += r.Took
		out.Cases = append(out.Cases, c)
	}
	if err != nil {
		out.Tests, out.Errors = 1, 1
		out.Cases = []junitCase{{Name: "configuration", Class: suite, File: suite, Error: &junitFault{err.Error(), ""}}}
	}
	out.Seconds = total.Seconds()
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Seconds  float64     `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string      `xml:"name,attr"`
	Class   string      `xml:"classname,attr"`
	File    string      `xml:"file,attr"`
	Line    int         `xml:"line,attr,omitempty"`
	Seconds float64     `xml:"time,attr"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Rules returns the rules that were looked at, for people; none if there is no explanation.
func (r *Result) Rules() (all []string) {
	if r.Explanation == nil {
		return nil
	}
	add := func(text, origin string) {
		if origin != "" {
			text += " (" + origin + ")"
		}
		all = append(all, text)
	}
	for _, s := range r.Explanation.Steps {
		add(s.Setting+": "+s.Text, s.Origin)
	}
	for _, s := range r.Explanation.Routes {
		why := "matches"
		if s.Unmet != "" {
			why = s.Unmet + ": " + s.Text
		}
		add("route "+s.Name+": "+why, s.Origin)
	}
	return all
}
